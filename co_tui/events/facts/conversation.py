"""What is said in a session, and what happens to it on the way."""

from typing import Literal

from co_tui.events.facts.base import Announced, Json, Logged, Occurrence


class Message(Logged):
    """One whole pydantic-ai message, as its type adapter writes it."""

    TYPE = "message"
    turn: int
    agent: str = ""
    message: Json
    interrupted: bool = False
    """The reply was cut short by the user, a crash or a failure; this is as far as it came."""


class MessageNotSaved(Announced):
    """What was said last is not in the log, and why; the next event that is logged says that it is."""

    TYPE = "message.not_saved"
    why: str


class StreamDelta(Announced):
    """A piece of the reply that is being written; the whole message will be logged."""

    TYPE = "stream.delta"
    turn: int
    part: int
    kind: Literal["text", "thinking", "tool_call"]
    text: str
    tool_name: str = ""
    tool_call_id: str = ""
    agent: str = ""


class StreamReset(Announced):
    """What was streamed of the present reply is void: it is being asked for again."""

    TYPE = "stream.reset"
    turn: int
    agent: str = ""


class ToolActivity(Announced):
    """A tool began or ended; calls and returns are parts of messages, which are logged."""

    TYPE = "tool.activity"
    turn: int
    tool_name: str
    tool_call_id: str
    stage: Literal["started", "finished", "failed", "refused", "stopped"]
    text: str = ""
    agent: str = ""


class ToolOutput(Announced):
    """The end of what a tool's command has said so far; it takes the place of what was told before."""

    TYPE = "tool.output"
    tool_call_id: str
    text: str
    agent: str = ""


class CommandOutput(Announced):
    """Some more of what the user's own command says; command and output will be logged as a message."""

    TYPE = "command.output"
    command: str
    text: str = ""


class SessionError(Occurrence):
    """A failure, told in a sentence; `outcome` says whether it is being retried."""

    TYPE = "session.error"
    kind: str = ""
    status: int | None = None
    attempt: int = 1
    attempts: int = 0
    """How often a request is tried again at most; 0 where that is not known."""
    retry_in_s: float | None = None
    partial: str = ""
    """What had already been streamed of a reply that is now asked for again."""
    agent: str = ""


class SessionInterrupted(Occurrence):
    TYPE = "session.interrupted"
    agent: str = ""


class HookRun(Occurrence):
    TYPE = "hook.run"
