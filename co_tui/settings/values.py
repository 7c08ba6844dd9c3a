"""Every setting: its default, what it accepts and what it is for."""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Final

from co_tui.inert import one_line
from co_tui.record import Record
from co_tui.settings.by_window import ByWindow
from co_tui.settings.key_choices import key_table
from co_tui.settings.mcp_servers import NO_SERVERS, McpServer, mcp_server_table
from co_tui.settings.rules import (
    SANDBOX_OFF,
    SANDBOXES,
    THEMES,
    TOOLS,
    PartRefused,
    Rule,
    address,
    hook_table,
    model_string,
    nothing_or,
    number,
    number_by_window,
    one_of,
    shown,
    some_of,
    text,
    whole_number,
)

NO_KEYS: Final[Mapping[str, str]] = {}
NO_HOOKS: Final[Mapping[str, tuple[str, ...]]] = {}
MOST_TOKENS: Final = 1_000_000_000
MOST_CHARS: Final = 1_000_000_000
MOST_MESSAGES: Final = 1_000_000


class SettingsError(Exception):
    """A setting that cannot be used; the text names the key, the value and what is allowed."""


class Governing(Record):
    """How the context is governed. A project's file may choose these; none of them can run anything, choose who
    gets the conversation, or hold the app up."""

    policy: Annotated[str, text("the name of a policy")] = "balanced"
    """Which policy governs the context."""
    context_window: Annotated[int, whole_number(0, MOST_TOKENS, "asks the model")] = 0
    """The model's window in tokens, when its provider is wrong about it."""
    max_prompt_tokens: Annotated[int, whole_number(0, MOST_TOKENS, "leaves it to the window")] = 0
    """The longest request that is sent, when the model takes less than its window as a prompt."""
    tool_output_trim_chars: Annotated[int, whole_number(0, MOST_CHARS, "switches trimming off")] = 2000
    """Tool results longer than this are clipped once they are no longer recent."""
    max_history_messages: Annotated[int, whole_number(0, MOST_MESSAGES, "switches the window off")] = 0
    """More messages than this, and the middle is summarised."""
    background_compaction_threshold: Annotated[float | ByWindow, number_by_window(0, 1)] = 0.8
    """Share of the window at which compaction starts beside the turn."""
    buffer_exhaustion_threshold: Annotated[float | ByWindow, number_by_window(0, 1)] = 0.95
    """Share of the window at which a request waits for compaction."""
    min_compaction_messages: Annotated[int, whole_number(2, MOST_MESSAGES)] = 4
    """Fewer messages than this are not compacted."""
    agent_max_context_tokens: Annotated[int, whole_number(0, MOST_TOKENS, "leaves it to the window")] = 0
    """A budget for the context below the model's window."""
    agent_max_context_turns: Annotated[int, whole_number(0, MOST_MESSAGES, "switches turn trimming off")] = 0
    """More turns than this, and the oldest half is summarised."""
    compaction: Annotated[str, one_of("none", "window", "compress", "turns", "background")] = "background"
    """Which rule decides when and what is summarised."""
    summary_form: Annotated[str, one_of("marker", "pair", "prompt", "full")] = "full"
    """What stands where the summarised messages stood."""
    on_demand_form: Annotated[str, one_of("as set", "marker", "pair", "prompt", "full")] = "as set"
    """The same after a compaction that was asked for; `as set` follows `summary_form`."""
    summary_fallback: Annotated[str, one_of("offline", "marker", "limits")] = "offline"
    """What serves when no model can summarise: the offline summariser, a marker alone, or fixed limits."""
    considered_messages: Annotated[int, whole_number(0, MOST_MESSAGES, "considers all of them")] = 0
    """The newest so many messages are read for a summary."""
    summary_share: Annotated[float | ByWindow, number_by_window(0.01, 0.5)] = 0.1
    """How much of the window a summary may take."""
    merged_share: Annotated[float | ByWindow, number_by_window(0, 0.9)] = 0.0
    """Summaries stay as they are until they take this share of the window together; then they become one."""
    compacted_share: Annotated[float | ByWindow, number_by_window(0, 0.9)] = 0.0
    """How full the window may be after a compaction: original lines beside the summary take the room up to there."""
    keep_recent_share: Annotated[float | ByWindow, number_by_window(0, 0.9)] = 0.25
    """How much of the window the newest messages keep, word for word, through a compaction."""
    recollection_share: Annotated[float | ByWindow, number_by_window(0, 0.3)] = 0.0
    """How much of the window lines may take that come back when the context is rewritten; 0 brings nothing back."""
    head_tail_chars: Annotated[int, whole_number(0, MOST_CHARS, "switches it off")] = 0
    """Results of earlier turns longer than this keep their beginning and end."""
    archive_over_chars: Annotated[int, whole_number(0, MOST_CHARS, "switches it off")] = 0
    """Results of earlier turns longer than this are stored whole and stand as a reference."""
    compression_threshold: Annotated[float, number(0, 1)] = 0.5
    """Share of the window at which the conversation is compressed, under `compress`."""
    run_compression_low: Annotated[float, number(0, 1)] = 0.75
    """Share of a small window at which the results of the running turn are compressed, under `compress`."""
    run_compression_high: Annotated[float, number(0, 1)] = 0.91
    """The same for the largest windows; in between it grows with the window."""
    fallback_messages: Annotated[int, whole_number(1, MOST_MESSAGES)] = 50
    """Messages kept when nothing can summarise, under the fallback `limits`."""
    fallback_tokens: Annotated[int, whole_number(1, MOST_TOKENS)] = 8000
    """Tokens of them kept."""
    few_turns: Annotated[int, whole_number(1, MOST_MESSAGES)] = 5
    """With fewer turns than this, a token budget keeps texts instead of summarising, under `turns`."""
    compaction_asks: Annotated[str, one_of("on", "off")] = "off"
    """Whether automatic compaction asks first."""
    compaction_waits: Annotated[str, one_of("no", "turn")] = "no"
    """`turn` holds automatic compaction to the end of the turn, as long as the request still fits."""
    compaction_review: Annotated[str, one_of("on", "off")] = "off"
    """Whether a summary can be read and edited before it is applied."""
    restored: Annotated[str, one_of("exact", "texts")] = "exact"
    """What a resumed session begins with: its history, or the texts of the last sixth of `agent_max_context_turns`."""
    truncation: Annotated[str, one_of("on", "off")] = "on"
    """Whether the last guard leaves out what does not fit."""
    truncation_headroom: Annotated[float, number(0, 0.5)] = 0.05
    """How far below the limit it aims."""
    tools: Annotated[tuple[str, ...], some_of(*TOOLS)] = TOOLS
    """What the model may work with in the folder. A project's file can leave out some, and add none."""


class Settings(Governing):
    """The values in force. What is declared here and not above counts in a project's file only once its folder is
    trusted: who answers, where data goes, what runs and for how long."""

    model: Annotated[str, model_string("the first provider with a key, else the embedded model")] = ""
    """Who answers; empty means the first provider with a key, else the embedded model."""
    base_url: Annotated[str, address("", "an OpenAI-compatible server")] = ""
    """Where `openai-chat:` models are served; empty means OPENAI_BASE_URL, else OpenAI."""
    reasoning_effort: Annotated[str, nothing_or("what the model does by itself", "low", "medium", "high")] = ""
    """How much a model that can thinks before it answers."""
    theme: Annotated[str, one_of(*THEMES)] = "auto"
    """Colours of the app; auto follows the terminal."""
    reduced_motion: Annotated[str, one_of("on", "off")] = "off"
    """Whether spinners, moving marks and cursors stand still."""
    keys: Annotated[Mapping[str, str], key_table()] = NO_KEYS
    """Other keys for actions, by the names that help gives them; `none` takes a key away."""
    summarization_model: Annotated[str, model_string("the model that answers")] = ""
    """Who writes the summaries of automatic compaction."""
    compaction_timeout_s: Annotated[float, number(1, 86_400)] = 120.0
    """How long one summary may take before the offline summariser steps in."""
    memory_limit_mb: Annotated[int, whole_number(0, 1_000_000_000, "switches it off")] = 2048
    """Above so much memory of this process, garbage is collected and then the conversation compacted."""
    agent_max_steps: Annotated[int, whole_number(1, 10_000)] = 200
    """Model decisions in one turn before it stops with a notice."""
    command_timeout_s: Annotated[float, number(1, 86_400)] = 120.0
    """How long a command that the model runs may take before it is stopped."""
    command_sandbox: Annotated[str, one_of(*SANDBOXES)] = SANDBOX_OFF
    """Where such commands run: as the user, or in bubblewrap, writing only in the folder. A project's file can make it
    stricter, never freer."""
    retention_days: Annotated[int, whole_number(0, 36_500, "keeps sessions for ever")] = 0
    """Sessions older than this move to the trash."""
    daily_memory: Annotated[str, one_of("off", "trimming", "compactions")] = "trimming"
    """Which summaries go into the day's memory file: of turns that are trimmed and of emergencies, or of every
    compaction."""
    memory_search: Annotated[str, one_of("on", "off")] = "on"
    """Whether the model has a tool to search that memory."""
    board_tokens: Annotated[int, whole_number(0, 100_000, "begins without the board")] = 1_000
    """How much of the context board of its repository and branch a new session begins with, in tokens."""
    board_updates: Annotated[str, one_of("on", "off")] = "off"
    """Whether a session that is left brings that board up to date, beside whatever comes next."""
    request_timeout_s: Annotated[float, number(1, 86_400)] = 300.0
    """How long a provider may stay silent."""
    max_retries: Annotated[int, whole_number(0, 20, "gives up at once")] = 4
    """How often a request that failed for a passing reason is sent again."""
    hooks: Annotated[Mapping[str, tuple[str, ...]], hook_table()] = NO_HOOKS
    """Commands that run at certain moments; `preCompact` may veto a compaction or add to its focus."""
    hook_timeout_s: Annotated[float, number(0.1, 600)] = 10.0
    """How long a hook may take."""
    mcp_servers: Annotated[Mapping[str, McpServer], mcp_server_table()] = NO_SERVERS
    """Servers whose tools the model gets, by name: a `command` that is started, or a `url`."""
    telemetry: Annotated[str, address("off", "an OpenTelemetry collector")] = "off"
    """Where compactions are reported to as OpenTelemetry spans."""


@cache
def rules() -> Mapping[str, Rule]:
    """The rule of every setting, those first that people look for first."""
    hints = Settings.FIELDS
    order = (*(name for name in hints if needs_trust(name)), *Governing.FIELDS)
    return {name: hints[name].__metadata__[0] for name in order}


def needs_trust(key: str) -> bool:
    """Whether a folder's own file may set this only after its user trusted the folder."""
    return key in Settings.FIELDS and key not in Governing.FIELDS


def check(key: str, value: object, *, named: str = "", source: str = "") -> object:
    """The value as the setting keeps it. Raises `SettingsError` when it is not allowed; `named` is what it is called
    where it stands."""
    rule = rules().get(key)
    if rule is None:
        raise SettingsError(unknown_key(key))
    try:
        return rule.read(value)
    except PartRefused as part:
        path = ".".join(filter(None, (named or key, part.path)))
        raise SettingsError(_refused(path, part.told, part.allowed, source)) from None
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise SettingsError(_refused(named or key, shown(value), rule.allowed, source)) from None


def _refused(key: str, told: str, allowed: str, source: str) -> str:
    """The sentence about a bad value: where it stands, and what is allowed."""
    where = f" ({source})" if source else ""
    return f"{key} = {told}{where} is not allowed: it must be {allowed}."


def unknown_key(key: str) -> str:
    close = get_close_matches(key, rules(), n=1)
    hint = f"; did you mean {close[0]}?" if close else ". `co-tui config` lists them."
    return f"There is no setting {one_line(repr(key), 80)}{hint}"
