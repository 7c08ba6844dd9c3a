"""The settings that control how the context is managed."""

from typing import Annotated, Final

from co_tui.record import Record
from co_tui.settings.by_window import ByWindow
from co_tui.settings.rules import TOOLS, About, number, number_by_window, one_of, some_of, text, whole_number

MOST_TOKENS: Final = 1_000_000_000
MOST_CHARS: Final = 1_000_000_000
MOST_MESSAGES: Final = 1_000_000


class ContextSettings(Record):
    """Settings a project's file may change without trust: none of them can run anything, choose who gets the
    conversation, or block the app."""

    policy: Annotated[str, text("the name of a policy"), About("context", "Which policy governs the context.")] = (
        "balanced"
    )
    context_window: Annotated[
        int,
        whole_number(0, MOST_TOKENS, "asks the model"),
        About("context", "The model's window in tokens, when its provider is wrong about it."),
    ] = 0
    max_prompt_tokens: Annotated[
        int,
        whole_number(0, MOST_TOKENS, "leaves it to the window"),
        About("context", "The longest request that is sent, when the model takes less than its window as a prompt."),
    ] = 0
    tool_output_trim_chars: Annotated[
        int,
        whole_number(0, MOST_CHARS, "switches trimming off"),
        About("context", "Tool results longer than this are clipped once they are no longer recent."),
    ] = 2000
    max_history_messages: Annotated[
        int,
        whole_number(0, MOST_MESSAGES, "switches the window off"),
        About("context", "More messages than this, and the middle is summarised."),
    ] = 0
    background_compaction_threshold: Annotated[
        float | ByWindow,
        number_by_window(0, 1),
        About(
            "context",
            "Share of the window at which compaction starts in the background. Given by window, it is a share of what "
            "instructions and tools leave.",
        ),
    ] = 0.8
    buffer_exhaustion_threshold: Annotated[
        float | ByWindow,
        number_by_window(0, 1),
        About(
            "context",
            "Share of the window at which a request waits for compaction. Given by window, it is a share of what "
            "instructions and tools leave.",
        ),
    ] = 0.95
    min_compaction_messages: Annotated[
        int, whole_number(2, MOST_MESSAGES), About("context", "Fewer messages than this are not compacted.")
    ] = 4
    agent_max_context_tokens: Annotated[
        int,
        whole_number(0, MOST_TOKENS, "leaves it to the window"),
        About("context", "A budget for the context below the model's window."),
    ] = 0
    agent_max_context_turns: Annotated[
        int,
        whole_number(0, MOST_MESSAGES, "switches turn trimming off"),
        About("context", "More turns than this, and the oldest half is summarised."),
    ] = 0
    compaction: Annotated[
        str,
        one_of("none", "window", "compress", "turns", "background"),
        About("context", "Which rule decides when and what is summarised."),
    ] = "background"
    summary_form: Annotated[
        str,
        one_of("marker", "pair", "prompt", "full"),
        About("context", "What stands where the summarised messages stood."),
    ] = "full"
    on_demand_form: Annotated[
        str,
        one_of("as set", "marker", "pair", "prompt", "full"),
        About("context", "The same after a compaction that was asked for; `as set` follows `summary_form`."),
    ] = "as set"
    summary_fallback: Annotated[
        str,
        one_of("offline", "marker", "limits"),
        About(
            "context",
            "What serves when no model can summarise: the offline summariser, a marker alone, or fixed limits.",
        ),
    ] = "offline"
    considered_messages: Annotated[
        int,
        whole_number(0, MOST_MESSAGES, "considers all of them"),
        About("context", "The newest so many messages are read for a summary."),
    ] = 0
    summary_share: Annotated[
        float | ByWindow, number_by_window(0.01, 0.5), About("context", "How much of the window a summary may take.")
    ] = 0.1
    merged_share: Annotated[
        float | ByWindow,
        number_by_window(0, 0.9),
        About(
            "context",
            "Summaries stay as they are until they take this share of the window together; then they become one.",
        ),
    ] = 0.0
    compacted_share: Annotated[
        float | ByWindow,
        number_by_window(0, 0.9),
        About(
            "context",
            "How full the window may be after a compaction: original lines take the room beside the summary.",
        ),
    ] = 0.0
    keep_recent_share: Annotated[
        float | ByWindow,
        number_by_window(0, 0.9),
        About("context", "How much of the window the newest messages keep, word for word, through a compaction."),
    ] = 0.25
    recollection_share: Annotated[
        float | ByWindow,
        number_by_window(0, 0.3),
        About(
            "context",
            "How much of the window lines may take that come back when the context is rewritten; 0: nothing.",
        ),
    ] = 0.0
    head_tail_chars: Annotated[
        int,
        whole_number(0, MOST_CHARS, "switches it off"),
        About("context", "Results of earlier turns longer than this keep their beginning and end."),
    ] = 0
    archive_over_chars: Annotated[
        int,
        whole_number(0, MOST_CHARS, "switches it off"),
        About("context", "Results of earlier turns longer than this are stored whole and stand as a reference."),
    ] = 0
    compression_threshold: Annotated[
        float,
        number(0, 1),
        About("context", "Share of the window at which the conversation is compressed, under `compress`."),
    ] = 0.5
    run_compression_low: Annotated[
        float,
        number(0, 1),
        About(
            "context",
            "Share of a small window at which the results of the running turn are compressed, under `compress`.",
        ),
    ] = 0.75
    run_compression_high: Annotated[
        float, number(0, 1), About("context", "The same for the largest windows; in between it grows with the window.")
    ] = 0.91
    fallback_messages: Annotated[
        int,
        whole_number(1, MOST_MESSAGES),
        About("context", "Messages kept when nothing can summarise, under the fallback `limits`."),
    ] = 50
    fallback_tokens: Annotated[int, whole_number(1, MOST_TOKENS), About("context", "Tokens of them kept.")] = 8000
    few_turns: Annotated[
        int,
        whole_number(1, MOST_MESSAGES),
        About(
            "context", "With fewer turns than this, a token budget keeps texts instead of summarising, under `turns`."
        ),
    ] = 5
    compaction_asks: Annotated[
        str, one_of("on", "off"), About("context", "Whether automatic compaction asks first.")
    ] = "off"
    compaction_waits: Annotated[
        str,
        one_of("no", "turn"),
        About(
            "context", "Whether automatic compaction waits for the end of the turn, as long as the request still fits."
        ),
    ] = "no"
    compaction_review: Annotated[
        str, one_of("on", "off"), About("context", "Whether a summary can be read and edited before it is applied.")
    ] = "off"
    restored: Annotated[
        str,
        one_of("exact", "texts"),
        About(
            "context",
            "What a resumed session begins with: its history, or texts of the last sixth of `agent_max_context_turns`.",
        ),
    ] = "exact"
    truncation: Annotated[
        str, one_of("on", "off"), About("context", "Whether the last guard leaves out what does not fit.")
    ] = "on"
    truncation_headroom: Annotated[float, number(0, 0.5), About("context", "How far below the limit it aims.")] = 0.05
    tools: Annotated[
        tuple[str, ...],
        some_of(*TOOLS),
        About(
            "tools", "What the model may work with in the folder. A project's file can leave out some, and add none."
        ),
    ] = TOOLS
