"""The settings that control how the context is managed."""

from typing import TYPE_CHECKING, Annotated, Final

from co_tui.record import Record
from co_tui.settings.rules import (
    DELEGATE_CONTEXTS,
    FRESH,
    TOOLS,
    About,
    ByWindow,
    number,
    number_by_window,
    one_of,
    some_of,
    text,
    whole_number,
)

if TYPE_CHECKING:
    from co_tui.settings.policies.policy_code import PolicyCode

MOST_TOKENS: Final = 1_000_000_000
MOST_CHARS: Final = 1_000_000_000
MOST_MESSAGES: Final = 1_000_000
NOT_SET: Final = ("policy_code",)
"""Fields that no layer sets: they follow from the policy."""


class ContextSettings(Record):
    """Settings a project's file may change without trust: none of them can run anything, choose who gets the
    conversation, or block the app."""

    policy: Annotated[str, text("the name of a policy"), About("context", "Context policy", "The context policy.")] = (
        "balanced"
    )
    policy_code: "PolicyCode | None" = None
    """The policy's source, if it is written in Python."""
    context_window: Annotated[
        int,
        whole_number(0, MOST_TOKENS, "as the model reports"),
        About(
            "context",
            "Context window (tokens)",
            "The model's context window in tokens, if the provider reports it wrong.",
        ),
    ] = 0
    max_prompt_tokens: Annotated[
        int,
        whole_number(0, MOST_TOKENS, "the whole window"),
        About(
            "context", "Request limit (tokens)", "Longest request in tokens, if the model takes less than its window."
        ),
    ] = 0
    tool_output_trim_chars: Annotated[
        int,
        whole_number(0, MOST_CHARS, "off"),
        About("context", "Trim tool results (chars)", "Trim older tool results longer than this many characters."),
    ] = 2000
    max_history_messages: Annotated[
        int,
        whole_number(0, MOST_MESSAGES, "off"),
        About("context", "Message limit", "Above this many messages, summarise the middle."),
    ] = 0
    background_compaction_threshold: Annotated[
        float | ByWindow,
        number_by_window(0, 1),
        About(
            "context",
            "Compaction starts at",
            "Share of the window at which background compaction starts.",
        ),
    ] = 0.8
    buffer_exhaustion_threshold: Annotated[
        float | ByWindow,
        number_by_window(0, 1),
        About(
            "context",
            "Requests wait at",
            "Share of the window at which a request waits for compaction.",
        ),
    ] = 0.95
    min_compaction_messages: Annotated[
        int,
        whole_number(2, MOST_MESSAGES),
        About("context", "Fewest messages to compact", "Fewest messages worth compacting."),
    ] = 4
    agent_max_context_tokens: Annotated[
        int,
        whole_number(0, MOST_TOKENS, "the whole window"),
        About("context", "Context limit (tokens)", "Token budget for the context, below the model's window."),
    ] = 0
    agent_max_context_turns: Annotated[
        int,
        whole_number(0, MOST_MESSAGES, "off"),
        About("context", "Turn limit", "Above this many turns, summarise the oldest half."),
    ] = 0
    compaction: Annotated[
        str,
        one_of("none", "window", "compress", "turns", "background", "python"),
        About(
            "context",
            "Compaction rule",
            "The rule that decides when and what to summarise; `python` is the policy's own.",
        ),
    ] = "background"
    summary_form: Annotated[
        str,
        one_of("marker", "pair", "prompt", "full", "note"),
        About(
            "context",
            "Summary form",
            "What replaces the summarised messages; `note`: the session's model writes it.",
        ),
    ] = "full"
    on_demand_form: Annotated[
        str,
        one_of("as set", "marker", "pair", "prompt", "full"),
        About("context", "Summary form for /compact", "The same for /compact; `as set` follows `summary_form`."),
    ] = "as set"
    summary_fallback: Annotated[
        str,
        one_of("offline", "marker", "limits", "fail"),
        About(
            "context",
            "Summary fallback",
            "If no model can summarise: offline summary, a marker only, fixed limits, or fail.",
        ),
    ] = "offline"
    summary_by: Annotated[
        str,
        one_of("model", "code"),
        About(
            "context",
            "Summaries by",
            "Who writes what replaces earlier messages: the session's model, or code.",
        ),
    ] = "model"
    note_threshold: Annotated[
        float | ByWindow,
        number_by_window(0, 1),
        About("context", "Note is asked for at", "Share of the window at which the session's model writes its note."),
    ] = 0.8
    note_words: Annotated[
        float | ByWindow,
        number_by_window(50, 5_000),
        About("context", "Length of a note (words)", "How long the model's note may be, in words."),
    ] = 600.0
    longer_summaries: Annotated[
        str,
        one_of("refused", "used"),
        About(
            "context",
            "Longer summaries",
            "What becomes of a summary that is no shorter than what it replaces.",
        ),
    ] = "refused"
    considered_messages: Annotated[
        int,
        whole_number(0, MOST_MESSAGES, "all"),
        About("context", "Messages to summarise", "Summarise at most this many of the newest messages."),
    ] = 0
    summary_share: Annotated[
        float | ByWindow,
        number_by_window(0.01, 0.5),
        About("context", "Summary size", "Share of the window that a summary may take."),
    ] = 0.1
    compacted_share: Annotated[
        float | ByWindow,
        number_by_window(0, 0.9),
        About(
            "context",
            "Fill after compaction",
            "How full the window may be after a compaction; 0 for plain summaries without a journal.",
        ),
    ] = 0.0
    keep_recent_share: Annotated[
        float | ByWindow,
        number_by_window(0, 0.9),
        About("context", "Recent messages kept", "Share of the window kept verbatim for the newest messages."),
    ] = 0.25
    keep_recent_tokens: Annotated[
        int,
        whole_number(0, MOST_TOKENS, "no limit"),
        About(
            "context",
            "Recent messages (tokens)",
            "Most tokens kept verbatim for the newest messages, in large windows.",
        ),
    ] = 0
    recollection_share: Annotated[
        float | ByWindow,
        number_by_window(0, 0.3),
        About(
            "context",
            "Earlier lines brought back",
            "Share of the window for earlier lines that return when relevant.",
        ),
    ] = 0.0
    delegation_context: Annotated[
        str,
        one_of(*DELEGATE_CONTEXTS),
        About(
            "context",
            "What delegates see",
            "What a delegated agent sees by default: its task and files, or the conversation too.",
        ),
    ] = FRESH
    delegation_results: Annotated[
        str,
        one_of("on", "off"),
        About("context", "Delegates' tool results", "Whether a delegated agent's tool results come with its report."),
    ] = "off"
    head_tail_chars: Annotated[
        int,
        whole_number(0, MOST_CHARS, "off"),
        About(
            "context",
            "Cut tool results (chars)",
            "Older tool results longer than this keep only their beginning and end.",
        ),
    ] = 0
    archive_over_chars: Annotated[
        int,
        whole_number(0, MOST_CHARS, "off"),
        About(
            "context",
            "Archive tool results (chars)",
            "Archive older tool results longer than this; the model sees a reference.",
        ),
    ] = 0
    clear_results_tokens: Annotated[
        int,
        whole_number(0, MOST_TOKENS, "off"),
        About(
            "context",
            "Clear tool results (tokens)",
            "Keep this many tokens of the newest tool results; clear older ones.",
        ),
    ] = 0
    clear_results_step_tokens: Annotated[
        int,
        whole_number(1, MOST_TOKENS),
        About(
            "context",
            "Cleared at once (tokens)",
            "Clear at least this many tokens at once, so that the prompt cache is rarely rewritten.",
        ),
    ] = 20000
    cleared_result_chars: Annotated[
        int,
        whole_number(0, MOST_CHARS, "nothing"),
        About("context", "Left of cleared (chars)", "Characters of a cleared tool result that stay, from both ends."),
    ] = 0
    compression_threshold: Annotated[
        float,
        number(0, 1),
        About(
            "context",
            "Compression starts at",
            "Under `compress`: share of the window at which the conversation is compressed.",
        ),
    ] = 0.5
    run_compression_low: Annotated[
        float,
        number(0, 1),
        About(
            "context",
            "Compression, small windows",
            "Under `compress`: share of a small window at which a running turn is compressed.",
        ),
    ] = 0.75
    run_compression_high: Annotated[
        float,
        number(0, 1),
        About("context", "Compression, large windows", "Under `compress`: the same share for the largest windows."),
    ] = 0.91
    fallback_messages: Annotated[
        int,
        whole_number(1, MOST_MESSAGES),
        About("context", "Fallback messages", "Under fallback `limits`: messages kept."),
    ] = 50
    fallback_tokens: Annotated[
        int, whole_number(1, MOST_TOKENS), About("context", "Fallback tokens", "Under fallback `limits`: tokens kept.")
    ] = 8000
    few_turns: Annotated[
        int,
        whole_number(1, MOST_MESSAGES),
        About("context", "Few turns", "Under `turns`: below this many turns, shorten texts instead of summarising."),
    ] = 5
    compaction_asks: Annotated[
        str, one_of("on", "off"), About("context", "Ask before compaction", "Ask before automatic compaction.")
    ] = "off"
    compaction_waits: Annotated[
        str,
        one_of("no", "turn"),
        About("context", "Compact after the turn", "Compact only after the turn, as long as requests fit."),
    ] = "no"
    compaction_review: Annotated[
        str,
        one_of("on", "off"),
        About("context", "Review summaries", "Review and edit a summary before it is applied."),
    ] = "off"
    restored: Annotated[
        str,
        one_of("exact", "texts"),
        About(
            "context",
            "Resumed history",
            "What a resumed session starts with: its full history, or recent texts only.",
        ),
    ] = "exact"
    starts_with: Annotated[
        str,
        one_of("new", "latest"),
        About(
            "context",
            "Start with",
            "What the app starts with: a new session, or this folder's latest one.",
        ),
    ] = "new"
    truncation: Annotated[
        str,
        one_of("on", "counted", "off"),
        About(
            "context",
            "Truncation",
            "As a last resort, leave out messages that may not fit, or are `counted` over.",
        ),
    ] = "on"
    history_turns: Annotated[
        str,
        one_of("prompts", "requests"),
        About(
            "context",
            "Turns in /history",
            "What /history counts: all prompts ever sent, or the requests in the context.",
        ),
    ] = "prompts"
    truncation_headroom: Annotated[
        float, number(0, 0.5), About("context", "Truncation headroom", "How far below the limit truncation aims.")
    ] = 0.05
    truncator: Annotated[
        str,
        text("a name"),
        About("context", "Truncator's name", "The name under which the log has truncations (`performed_by`)."),
    ] = "truncator"
    tools: Annotated[
        tuple[str, ...],
        some_of(*TOOLS),
        About("tools", "Tool groups", "Tool groups the model may use. A project's file can only remove some."),
    ] = TOOLS
