"""What the model sees: how much it is, and how it was made smaller, taken back or kept."""

from co_tui.events.facts.base import NOTHING, Announced, Json, Logged, Occurrence, Ref


def share_of(tokens: int, limit_tokens: int) -> float:
    """How much of a limit is filled; nothing of one that nobody knows."""
    return tokens / limit_tokens if limit_tokens > 0 else 0.0


class UsageInfo(Logged):
    """How full the context is: the one source of every gauge."""

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
    """What the provider reported for the request just answered; None before its reply."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    """Price of that one request in US dollars, when the model's prices are known."""
    cache_saved: float | None = None
    """How much less it cost than without the provider's cache of prompts; less than 0 when filling that cost more."""
    learnt: Json = NOTHING
    """What its reports taught about the model's tokens: the next process goes on from here."""
    agent: str = ""

    @property
    def fixed_tokens(self) -> int:
        """Instructions and tools: no compaction makes these smaller."""
        return self.system_tokens + self.tool_definition_tokens

    @property
    def share(self) -> float:
        """How much of the window is filled."""
        return share_of(self.current_tokens, self.token_limit)


class Truncation(Logged):
    """An observation about one request; the history is what it was."""

    TYPE = "session.truncation"
    pre_tokens: int
    post_tokens: int
    pre_messages: int
    post_messages: int
    tokens_removed: int
    messages_removed: int
    performed_by: str
    left_out: tuple[Ref, ...] = ()
    """The messages that were not left out of the request before: they stay out until the history is rewritten."""
    clipped_chars: int = 0
    """Results of messages up to `clipped_upto` were clipped to this; 0 when none was."""
    clipped_upto: tuple[Ref, ...] = ()
    agent: str = ""


class Recollection(Logged):
    """Lines that left the context and came back beside a message, because they bear on the newest step.

    They stand in every request from here on, until the history is rewritten; the history is what it was.
    Without a note it only says that a search found nothing, so that it is not repeated.
    """

    TYPE = "session.recollection"
    messages: tuple[Ref, ...]
    """Beside which one they stand."""
    note: str
    """As the model gets it; empty when nothing was found."""
    lines: int = 0
    tokens: int = 0
    sources: tuple[Ref, ...] = ()
    """The messages they were said in."""
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
    """Whether anybody waits for it; otherwise it runs beside the conversation."""
    agent: str = ""


class MemoryReleased(Announced):
    """Memory is short: whoever keeps the state lets go of what is no longer in the history."""

    TYPE = "session.memory_released"


class CompactionWait(Announced):
    """A request waits for a compaction that began beside the conversation."""

    TYPE = "compaction.wait"
    share: float = 0.0
    """How full the context is."""
    over: bool = False
    """The wait has ended, one way or the other."""


class CompactionComplete(Logged):
    """The end of a compaction. On success `replacement` stands where the first of `replaced` stood."""

    TYPE = "session.compaction_complete"
    success: bool
    cancelled: bool = False
    error: str = ""
    """Why it failed; empty on success."""
    note: str = ""
    """What else there is to say of a success: why the model's summary was not used, say."""
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
    """How much of that somebody waited for."""
    mark_tokens: int = 0
    """Where the policy starts a compaction, in tokens; 0 when it does not go by tokens."""
    cache_lost_tokens: int = 0
    """What the provider read from its cache for the last request and cannot read for the next one."""
    saved_cost: float | None = None
    """What each request costs less from now on, in US dollars, when the model's prices are known."""
    edited: bool = False
    """The summary is as the user wants it, not as it was written."""
    agent: str = ""


class CompactionUndone(Logged):
    """A rewrite of the history taken back: a compaction, a clearing or a rewind. What was said since then stays."""

    TYPE = "session.compaction_undone"
    compaction_seq: int
    history: tuple[Ref, ...]
    what: str = "compaction"
    """Or `clearing`, or `rewind`."""


class Pin(Logged):
    """Messages that every stage keeps from now on, or no longer; `history` when one came back into it."""

    TYPE = "session.pin"
    messages: tuple[Ref, ...]
    pinned: bool = True
    history: tuple[Ref, ...] = ()


class Clear(Logged):
    """The history became these messages: none, or what must stay."""

    TYPE = "session.clear"
    history: tuple[Ref, ...] = ()
    messages_removed: int = 0
    carried: tuple[Json, ...] = ()
    """Messages made from what was removed, such as standing rules."""
    carried_at: int = 0
    """They follow this many messages of `history`."""


class Rewind(Logged):
    TYPE = "session.rewind"
    to_seq: int
    history: tuple[Ref, ...]
