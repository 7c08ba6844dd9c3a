"""What the model sees: how full the context is, and how it was compacted, restored or pinned."""

from co_tui.events.facts.base import NOTHING, Announced, Json, Logged, Occurrence, Ref


def share_of(tokens: int, limit_tokens: int) -> float:
    """The filled share of a limit; 0 if the limit is unknown."""
    return tokens / limit_tokens if limit_tokens > 0 else 0.0


class UsageInfo(Logged):
    """How full the context is: the only source for every gauge."""

    TYPE = "session.usage_info"
    token_limit: int
    current_tokens: int
    messages_count: int
    system_tokens: int
    conversation_tokens: int
    tool_definition_tokens: int
    is_initial: bool = False
    limit_known: bool = False
    measured: str = "estimate"
    model: str = ""
    input_tokens: int | None = None
    """Reported by the provider for the last request; None before its reply."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    """Price of that request in US dollars, if the model's prices are known."""
    cache_saved: float | None = None
    """How much the provider's prompt cache saved; negative if filling the cache cost more."""
    learnt: Json = NOTHING
    """The meter's calibration after this reply, from which the next process continues."""
    agent: str = ""

    @property
    def fixed_tokens(self) -> int:
        """Instructions and tools, which compaction cannot reduce."""
        return self.system_tokens + self.tool_definition_tokens

    @property
    def share(self) -> float:
        """The filled share of the window."""
        return share_of(self.current_tokens, self.token_limit)


class Truncation(Logged):
    """Messages were left out of one request; the history is unchanged."""

    TYPE = "session.truncation"
    pre_tokens: int
    post_tokens: int
    pre_messages: int
    post_messages: int
    tokens_removed: int
    messages_removed: int
    performed_by: str
    left_out: tuple[Ref, ...] = ()
    """The messages newly left out; they stay out until the history is rewritten."""
    clipped_chars: int = 0
    """Tool results of messages up to `clipped_upto` were clipped to this length; 0 if none was."""
    clipped_upto: tuple[Ref, ...] = ()
    agent: str = ""


class Recollection(Logged):
    """Lines that had left the context were added to a message again because they are relevant to the newest step.

    They are part of every request until the history is rewritten; the history itself is unchanged.
    Without a note it records a search that found nothing, so that it is not repeated.
    """

    TYPE = "session.recollection"
    messages: tuple[Ref, ...]
    """The message they were added to."""
    note: str
    """As sent to the model; empty if nothing was found."""
    lines: int = 0
    tokens: int = 0
    sources: tuple[Ref, ...] = ()
    """The messages the lines come from."""
    agent: str = ""


class ArtifactStored(Occurrence):
    TYPE = "artifact.stored"
    agent: str = ""


class MemoryWritten(Occurrence):
    TYPE = "memory.written"


class CompactionStart(Logged):
    TYPE = "session.compaction_start"
    trigger: str
    focus: str = ""
    system_tokens: int = 0
    conversation_tokens: int = 0
    tool_definition_tokens: int = 0
    messages: int = 0
    """How many are being summarised."""
    blocks: bool = True
    """Whether a request waits for it; otherwise it runs in the background."""
    agent: str = ""


class MemoryReleased(Announced):
    """RAM is low: subscribers drop cached messages that are no longer in the history."""

    TYPE = "session.memory_released"


class CompactionWait(Announced):
    """A request waits for a compaction that started in the background."""

    TYPE = "compaction.wait"
    share: float = 0.0
    """How full the context is."""
    over: bool = False
    """The wait has ended, whatever the outcome."""


class CompactionComplete(Logged):
    """The end of a compaction. On success `replacement` takes the position of the first of `replaced`."""

    TYPE = "session.compaction_complete"
    success: bool
    cancelled: bool = False
    error: str = ""
    """Why it failed; empty on success."""
    note: str = ""
    """Remarks on a success, for instance why the model's summary was not used."""
    trigger: str = ""
    pre_tokens: int = 0
    post_tokens: int = 0
    pre_messages: int = 0
    post_messages: int = 0
    tokens_removed: int = 0
    messages_removed: int = 0
    replaced: tuple[Ref, ...] = ()
    replacement: tuple[Json, ...] = ()
    summary: str = ""
    summarised_by: str = ""
    checkpoint_number: int | None = None
    checkpoint_path: str = ""
    model: str = ""
    request_id: str = ""
    usage: Json = NOTHING
    cost: float | None = None
    duration_ms: int = 0
    waited_ms: int = 0
    """How much of that a request waited."""
    mark_tokens: int = 0
    """The compaction threshold in tokens; 0 if the policy does not use tokens."""
    cache_lost_tokens: int = 0
    """Tokens of the last request that were cached and will not be for the next one."""
    saved_cost: float | None = None
    """How much less each further request costs, in US dollars, if the model's prices are known."""
    edited: bool = False
    """The user edited the summary."""
    agent: str = ""


class CompactionUndone(Logged):
    """A rewrite of the history was undone: a compaction, a clearing or a rewind. Later messages stay."""

    TYPE = "session.compaction_undone"
    compaction_seq: int
    history: tuple[Ref, ...]
    what: str = "compaction"
    """Or `clearing`, or `rewind`."""


class Pin(Logged):
    """Messages were pinned or unpinned; `history` is set if one of them returned to it."""

    TYPE = "session.pin"
    messages: tuple[Ref, ...]
    pinned: bool = True
    history: tuple[Ref, ...] = ()


class Clear(Logged):
    """The history was cleared down to these messages."""

    TYPE = "session.clear"
    history: tuple[Ref, ...] = ()
    messages_removed: int = 0
    carried: tuple[Json, ...] = ()
    """Messages built from what was removed, such as standing rules."""
    carried_at: int = 0
    """They follow this many messages of `history`."""


class Rewind(Logged):
    TYPE = "session.rewind"
    to_seq: int
    history: tuple[Ref, ...]
