"""Messages, streaming, tool activity and failures."""

from typing import Final, Literal, TypeAlias

from co_tui.events.facts.base import NOTHING, Announced, Json, Logged, Occurrence
from co_tui.events.symbols import EntryKind, EntryStyle, EntryWeight
from co_tui.events.wording import TROUBLES, WARNINGS, ExportEntry, long, sentence, short
from co_tui.inert import one_line


class Message(Logged):
    """One whole pydantic-ai message, as its type adapter writes it."""

    TYPE = "message"
    ENTRY = EntryStyle("●", EntryKind.TURN, EntryWeight.LIGHT)
    turn: int
    agent: str = ""
    message: Json
    interrupted: bool = False
    """The reply was cut short by the user, a crash or a failure; this is the partial reply."""

    def timeline_text(self) -> str:
        return f"turn {self.turn}"

    def export_entry(self) -> None:
        """The conversation itself is exported."""


class MessageNotSaved(Announced):
    """The last message could not be logged, and why; the next logged event means that it was."""

    TYPE = "message.not_saved"
    why: str


class TurnEnded(Announced):
    """A prompt was answered, or its turn was interrupted or failed; nothing of it follows."""

    TYPE = "turn.ended"
    turn: int
    outcome: Literal["done", "interrupted", "failed"]
    text: str = ""
    """What a slash command answered, or why the prompt was not sent."""


CallEnd: TypeAlias = Literal["done", "failed", "timed out", "stopped", "refused", "replaced by a hook"]


Doubt: TypeAlias = Literal["", "uncovered", "all"]


class CallOutcome(Logged):
    """How a tool call ended, what it read and what it wrote, as the machine saw it. Logged right before the message
    with the result; `call_id` is empty for the user's own command."""

    TYPE = "call.outcome"
    ENTRY = None
    call_id: str
    exit_code: int | None = None
    """Of a command that ran to its end."""
    ended: CallEnd
    """`failed` also with an exit code other than 0; `replaced by a hook` if it ran with another input than the model
    wrote."""
    read: tuple[Json, ...] = ()
    """Files that a file tool showed: each has its `path`, with the `first` and `last` line unless it is no text."""
    written: tuple[Json, ...] = ()
    """Files that changed while it ran: each has its `path`; the lines `added` and `removed`, unless it is no text; and
    what the file is `now`, as in `files.changed`. One that only a file tool's own diff names has `is_covered` false if
    no snapshot covers it."""
    is_complete: bool = False
    """Whether nothing else that snapshots cover can have changed: there are some from before and after it, or it cannot
    write."""
    doubt: Doubt = ""
    """What may have changed unseen: files that snapshots do not cover, as ignored ones, or any file, also later, since
    a background command was running."""
    agent: str = ""
    """Whose call it is: two agents may use the same id."""

    def timeline_text(self) -> str:
        """The chat shows how each call ended, and `files.changed` is on the timeline."""
        return ""

    def export_entry(self) -> None:
        """The call is exported with its result."""


class StreamDelta(Announced):
    """A piece of the streaming reply; the whole message will be logged."""

    TYPE = "stream.delta"
    turn: int
    part: int
    kind: Literal["text", "thinking", "tool_call"]
    text: str
    tool_name: str = ""
    tool_call_id: str = ""
    agent: str = ""


class StreamReset(Announced):
    """Discard what was streamed of the current reply: the request is retried."""

    TYPE = "stream.reset"
    turn: int
    agent: str = ""


class ToolActivity(Announced):
    """A tool started or ended; its call and return are logged as parts of messages."""

    TYPE = "tool.activity"
    turn: int
    tool_name: str
    tool_call_id: str
    stage: Literal["started", "finished", "failed", "refused", "stopped"]
    text: str = ""
    agent: str = ""
    diff: str = ""
    """The change of a file that it made, as in its result's metadata."""


class ToolOutput(Announced):
    """The tail of a running tool's output so far; replaces the one announced before."""

    TYPE = "tool.output"
    tool_call_id: str
    text: str
    agent: str = ""


class CommandOutput(Announced):
    """More output of a command the user runs; command and output will be logged as a message."""

    TYPE = "command.output"
    command: str
    text: str = ""


class SessionError(Occurrence):
    """A failure, described in a sentence; `outcome` says whether it is retried."""

    TYPE = "session.error"
    kind: str = ""
    status: int | None = None
    attempt: int = 1
    attempts: int = 0
    """The maximum number of retries; 0 if unknown."""
    retry_in_s: float | None = None
    partial: str = ""
    """What had been streamed before the retry."""
    agent: str = ""

    def entry(self) -> EntryStyle:
        if self.retry_in_s is not None:
            return EntryStyle("↻", EntryKind.TROUBLE)
        if self.is_warning:
            return EntryStyle("!", EntryKind.TROUBLE, EntryWeight.NOTABLE)
        return EntryStyle("✗", EntryKind.TROUBLE, EntryWeight.BAD)

    @property
    def is_warning(self) -> bool:
        """Whether nothing failed: the turn continues."""
        return self.kind in WARNINGS

    @property
    def trouble(self) -> str:
        """What went wrong, for people; an unknown kind without its underscores."""
        return TROUBLES.get(self.kind) or one_line(self.kind.replace("_", " "), 40) or "error"

    def timeline_text(self) -> str:
        return f"{self.trouble}\n{short(self.outcome)}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(long(self.what), self.outcome)

    def retry_sentence(self) -> str:
        """What the chat says about a failure that is retried."""
        if self.kind in ("context_limit", "form"):
            return f"{sentence(self.what)} {sentence(self.outcome.capitalize())}"
        again = f"{self.attempt} of {self.attempts}" if self.attempts else f"attempt {self.attempt}"
        wait = f"in {self.retry_in_s:.0f} s" if self.retry_in_s and self.retry_in_s >= 1 else "now"
        return f"{sentence(self.what)} Retrying {wait} ({again})."


TURN_STOPPED: Final = "Stopped"
"""What is logged when the user stops a turn."""
_BY_USER: Final = "interrupted by the user"
"""The same in older logs."""
REPLY_KEPT: Final = "partial reply kept"


class SessionInterrupted(Occurrence):
    TYPE = "session.interrupted"
    ENTRY = EntryStyle("■", EntryKind.TROUBLE)
    agent: str = ""

    def timeline_text(self) -> str:
        return TURN_STOPPED if self.what == _BY_USER else short(self.what) or "interrupted"

    @property
    def is_stop(self) -> bool:
        """Whether the user stopped the turn."""
        return self.what in (TURN_STOPPED, _BY_USER)

    def sentence(self, *, has_partial_reply: bool = False) -> str:
        """What the chat and an export say about it."""
        if not self.is_stop:
            outcome = self.outcome if has_partial_reply or self.outcome != REPLY_KEPT else ""
            return long(" · ".join(filter(None, (self.what, outcome))))
        return "Stopped. Partial reply kept." if has_partial_reply else "Stopped."

    def export_entry(self) -> ExportEntry:
        return ExportEntry(self.sentence())


class BackgroundNews(Occurrence):
    """A command in the background ended or printed what was waited for, or one was moved there; `where` is the
    command."""

    TYPE = "command.news"
    ENTRY = EntryStyle("◷", EntryKind.WORK, is_quiet=True)
    command_id: str = ""
    """Set if it ended."""

    def timeline_text(self) -> str:
        return f"{short(self.outcome)}\n{short(self.where)}"

    def sentence(self) -> str:
        """What the chat says about it."""
        return f"{self.what} {self.outcome}: {one_line(self.where, 160)}"


NOTICE_CHARS: Final = 1_000


class HookRun(Occurrence):
    """One of the user's hooks ran; `where` is its command."""

    TYPE = "hook.run"
    hook: str = ""
    """The event it ran at, such as `preToolUse`."""
    decision: str = ""
    """What it decided: `allow`, `ask`, `deny`, `block` or `stop`; empty if nothing."""
    failed: bool = False
    """Whether it did not work, and so decided nothing."""
    reason: str = ""
    context: str = ""
    """What it added for the model."""
    input: Json = NOTHING
    """The arguments it gave a tool instead of the model's."""
    notice: str = ""
    """What it says to the user."""
    call_id: str = ""
    agent: str = ""

    def entry(self) -> EntryStyle:
        if self.failed:
            return EntryStyle("✗", EntryKind.TROUBLE, EntryWeight.NOTABLE)
        return EntryStyle("+", EntryKind.WORK, is_quiet=not self.notice)

    def timeline_text(self) -> str:
        return f"{short(self.what)}\n{short(self.notice or self.outcome)}"

    def sentence(self) -> str:
        """What the chat says about it; empty if it says nothing to the user."""
        return one_line(f"{self.what}: {self.notice}", NOTICE_CHARS) if self.notice else ""
