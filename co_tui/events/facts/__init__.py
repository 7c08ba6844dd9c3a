"""Every fact a session can record or announce, one frozen record each.

A field whose name would be a Python keyword ends in an underscore; the JSON key does not.
Adding a field with a default is compatible and keeps `VERSION`. A change of meaning raises `VERSION`
and adds an upgrade in `event.UPGRADES`, so that older logs still replay.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias, assert_never

from co_tui.record import Record

Json: TypeAlias = Mapping[str, Any]
NOTHING: Final[Json] = {}

Ref: TypeAlias = tuple[int, int]
"""A message's identity: the seq of the event that brought it, and its index among that event's messages."""

MeasuredBy: TypeAlias = Literal["provider", "estimate"]


class Place(Record):
    """Where and with what a session runs; part of every event of a session's life."""

    VERSION: ClassVar[int] = 1
    model: str = ""
    policy: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""


class SessionStart(Place):
    TYPE: ClassVar[str] = "session.start"


class SessionResume(Place):
    TYPE: ClassVar[str] = "session.resume"


class SessionFork(Place):
    TYPE: ClassVar[str] = "session.fork"
    source_session_id: str
    source_seq: int


class SessionRename(Place):
    TYPE: ClassVar[str] = "session.rename"
    title: str


class SessionEnd(Place):
    TYPE: ClassVar[str] = "session.end"
    reason: str = ""


class Message(Record):
    """One whole pydantic-ai message, as its type adapter writes it."""

    TYPE: ClassVar[str] = "message"
    VERSION: ClassVar[int] = 1
    turn: int
    message: Json
    interrupted: bool = False
    """The reply was cut short by the user, a crash or a failure; this is as far as it came."""


def share_of(tokens: int, limit_tokens: int) -> float:
    """How much of a limit is filled; nothing of one that nobody knows."""
    return tokens / limit_tokens if limit_tokens > 0 else 0.0


class UsageInfo(Record):
    """How full the context is: the one source of every gauge."""

    TYPE: ClassVar[str] = "session.usage_info"
    VERSION: ClassVar[int] = 1
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
    learnt: Json = NOTHING
    """What its reports taught about the model's tokens: the next process goes on from here."""

    @property
    def share(self) -> float:
        """How much of the window is filled."""
        return share_of(self.current_tokens, self.token_limit)


class Truncation(Record):
    """An observation about one request; the history is what it was."""

    TYPE: ClassVar[str] = "session.truncation"
    VERSION: ClassVar[int] = 1
    pre_tokens: int
    post_tokens: int
    pre_messages: int
    post_messages: int
    tokens_removed: int
    messages_removed: int
    performed_by: str


class CompactionStart(Record):
    TYPE: ClassVar[str] = "session.compaction_start"
    VERSION: ClassVar[int] = 1
    trigger: str
    focus: str = ""
    system_tokens: int = 0
    conversation_tokens: int = 0
    tool_definition_tokens: int = 0
    messages: int = 0
    """How many are being summarised."""
    blocks: bool = True
    """Whether anybody waits for it; otherwise it runs beside the conversation."""


class CompactionComplete(Record):
    """The end of a compaction. On success `replacement` stands where the first of `replaced` stood."""

    TYPE: ClassVar[str] = "session.compaction_complete"
    VERSION: ClassVar[int] = 1
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
    cache_lost_tokens: int = 0
    """What the provider had cached of the prompt that no longer begins the same."""
    saved_cost: float | None = None
    """What each request costs less from now on, in US dollars, when the model's prices are known."""
    edited: bool = False
    """The summary is as the user wants it, not as it was written."""


class CompactionUndone(Record):
    """A rewrite of the history taken back: a compaction, a clearing or a rewind. What was said since then stays."""

    TYPE: ClassVar[str] = "session.compaction_undone"
    VERSION: ClassVar[int] = 1
    compaction_seq: int
    history: tuple[Ref, ...]
    what: str = "compaction"
    """Or `clearing`, or `rewind`."""


class Pin(Record):
    """Messages that every stage keeps from now on, or no longer; `history` when one came back into it."""

    TYPE: ClassVar[str] = "session.pin"
    VERSION: ClassVar[int] = 1
    messages: tuple[Ref, ...]
    pinned: bool = True
    history: tuple[Ref, ...] = ()


class Clear(Record):
    TYPE: ClassVar[str] = "session.clear"
    VERSION: ClassVar[int] = 1
    history: tuple[Ref, ...] = ()
    messages_removed: int = 0


class Rewind(Record):
    TYPE: ClassVar[str] = "session.rewind"
    VERSION: ClassVar[int] = 1
    to_seq: int
    history: tuple[Ref, ...]


class ModelChange(Record):
    TYPE: ClassVar[str] = "session.model_change"
    VERSION: ClassVar[int] = 1
    from_: str
    to: str
    window_before: int | None = None
    window_after: int | None = None


class PolicyChange(Record):
    TYPE: ClassVar[str] = "session.policy_change"
    VERSION: ClassVar[int] = 1
    from_: str
    to: str
    window_before: int | None = None
    window_after: int | None = None


class Occurrence(Record):
    """Something that happened beside the conversation: what, where, and how it ended."""

    VERSION: ClassVar[int] = 1
    what: str
    where: str = ""
    outcome: str = ""


class ArtifactStored(Occurrence):
    TYPE: ClassVar[str] = "artifact.stored"


class MemoryWritten(Occurrence):
    TYPE: ClassVar[str] = "memory.written"


class HookRun(Occurrence):
    TYPE: ClassVar[str] = "hook.run"


class SessionError(Occurrence):
    """A failure, told in a sentence; `outcome` says whether it is being retried."""

    TYPE: ClassVar[str] = "session.error"
    kind: str = ""
    status: int | None = None
    attempt: int = 1
    attempts: int = 0
    """How often a request is tried again at most; 0 where that is not known."""
    retry_in_s: float | None = None
    partial: str = ""
    """What had already been streamed of a reply that is now asked for again."""


class SessionInterrupted(Occurrence):
    TYPE: ClassVar[str] = "session.interrupted"


class StreamDelta(Record):
    """A piece of the reply that is being written. Announced, not logged: the whole message will be."""

    TYPE: ClassVar[str] = "stream.delta"
    VERSION: ClassVar[int] = 1
    turn: int
    part: int
    kind: Literal["text", "thinking", "tool_call"]
    text: str
    tool_name: str = ""
    tool_call_id: str = ""


class StreamReset(Record):
    """What was streamed of the present reply is void: it is being asked for again."""

    TYPE: ClassVar[str] = "stream.reset"
    VERSION: ClassVar[int] = 1
    turn: int


class ToolActivity(Record):
    """A tool began or ended. Announced, not logged: calls and returns are parts of messages."""

    TYPE: ClassVar[str] = "tool.activity"
    VERSION: ClassVar[int] = 1
    turn: int
    tool_name: str
    tool_call_id: str
    stage: Literal["started", "finished", "failed"]
    text: str = ""


class QueueChanged(Record):
    """Other prompts wait for their turn than before. Announced; each is logged when its own turn begins."""

    TYPE: ClassVar[str] = "queue.changed"
    VERSION: ClassVar[int] = 1
    prompts: tuple[str, ...]
    """All that wait, in order."""
    held: int = 0
    """How many of them are not said before the user says so."""


class PromptReturned(Record):
    """A prompt that waited will not be said; it goes back to its writer. Announced, not logged."""

    TYPE: ClassVar[str] = "prompt.returned"
    VERSION: ClassVar[int] = 1
    prompt: str


class CompactionWait(Record):
    """A request waits for a compaction that began beside the conversation. Announced, not logged."""

    TYPE: ClassVar[str] = "compaction.wait"
    VERSION: ClassVar[int] = 1
    share: float = 0.0
    """How full the context is."""
    over: bool = False
    """The wait has ended, one way or the other."""


class Unknown(Record):
    """An event this version does not know, kept exactly as it was written."""

    TYPE: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1
    type: str
    version: int
    payload: Json


Life: TypeAlias = SessionStart | SessionResume | SessionFork | SessionRename | SessionEnd
Rewrite: TypeAlias = CompactionComplete | CompactionUndone | Clear | Rewind | Pin
Change: TypeAlias = ModelChange | PolicyChange
Happening: TypeAlias = ArtifactStored | MemoryWritten | HookRun | SessionError | SessionInterrupted
Transient: TypeAlias = StreamDelta | StreamReset | ToolActivity | QueueChanged | PromptReturned | CompactionWait
Fact: TypeAlias = (
    Life | Message | UsageInfo | Truncation | CompactionStart | Rewrite | Change | Happening | Transient | Unknown
)


def is_durable(fact: Fact) -> bool:
    """Whether the fact belongs to the log; the others are only announced to who is listening."""
    match fact:
        case SessionStart() | SessionResume() | SessionFork() | SessionRename() | SessionEnd():
            return True
        case Message() | UsageInfo() | Truncation() | CompactionStart():
            return True
        case CompactionComplete() | CompactionUndone() | Clear() | Rewind() | Pin():
            return True
        case ModelChange() | PolicyChange():
            return True
        case ArtifactStored() | MemoryWritten() | HookRun() | SessionError() | SessionInterrupted():
            return True
        case Unknown():
            return True
        case StreamDelta() | StreamReset() | ToolActivity() | QueueChanged() | PromptReturned() | CompactionWait():
            return False
        case _:
            assert_never(fact)
