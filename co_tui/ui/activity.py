"""What is being done right now, for how long, and whether anything comes. Knows no screen and no clock."""

from co_tui.events import (
    ApprovalDecided,
    BoardProgress,
    CommandOutput,
    CompactionComplete,
    CompactionStart,
    CompactionWait,
    Fact,
    Message,
    SessionError,
    StreamDelta,
    StreamReset,
    ToolActivity,
    UsageInfo,
    agent_of,
)
from co_tui.events.messages import prompt_of
from co_tui.inert import one_line
from co_tui.session.tool_wording import told_call

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_S = 0.1
SILENCE_S = 5.0
"""So long without a byte, and the line says that nothing comes."""
SPEED_FROM_S = 1.0
CHARS_PER_TOKEN = 4
"""A guess while a reply is on its way; its provider's own count comes with its end."""
GIST_CHARS = 48
BOARD = "board"
"""Stands for a run over the context board there."""
OWN_COMMAND = "!"
"""Stands for the user's own command among the tools that run."""


STILL_FRAME = "●"


def spinner(elapsed_s: float, *, still: bool = False) -> str:
    """`still` is for who wants nothing to move."""
    return STILL_FRAME if still else FRAMES[int(elapsed_s / FRAME_S) % len(FRAMES)]


class Activity:
    """Follows the events of a turn; every method is told the time."""

    def __init__(self) -> None:
        self.begin(0.0)

    def begin(self, now: float) -> None:
        """A turn begins."""
        self._began = self._heard_at = now
        self._first_at: float | None = None
        self._chars = 0
        self._thinking = False
        self._tools: dict[str, tuple[str, float]] = {}
        self._retry_at: float | None = None
        self._compacting = False
        self._stopping = False

    def stop(self) -> None:
        """The user wants it to end."""
        self._stopping = True

    def hear(self, fact: Fact, now: float) -> None:
        match fact:
            case _ if agent_of(fact):
                self._heard_at = now  # a delegate's, told in the fold of its own call
            case Message(message=message) if prompt_of(message) is not None:
                self.begin(now)
            case CommandOutput(command=command):
                self._tools.setdefault(OWN_COMMAND, (f"! {one_line(command, GIST_CHARS)}", now))
            case Message() | UsageInfo() | StreamReset():
                self._tools.pop(OWN_COMMAND, None)
                self._heard_at, self._retry_at = now, None
            case StreamDelta(text=text, kind=kind):
                self._heard_at, self._first_at = now, self._first_at if self._first_at is not None else now
                self._chars += len(text)
                self._thinking = kind == "thinking"
            case ToolActivity(stage="started", tool_call_id=call, tool_name=name, text=text):
                self._tools[call] = (
                    f"{one_line(name, 40)}  {one_line(told_call(name, text), GIST_CHARS)}".rstrip(),
                    now,
                )
            case ToolActivity(tool_call_id=call):
                self._tools.pop(call, None)
                self._heard_at = now
            case BoardProgress(over=True):
                self._tools.pop(BOARD, None)
            case BoardProgress(text=text):
                told = f"learning for later sessions  {text}".rstrip()
                self._tools[BOARD] = (told, self._tools[BOARD][1] if BOARD in self._tools else now)
            case ApprovalDecided():
                self._heard_at = now
            case SessionError(retry_in_s=float() as delay):
                self._retry_at = now + delay
            case CompactionStart(blocks=True) | CompactionWait(over=False):
                self._compacting = True
            case CompactionComplete() | CompactionWait():
                self._compacting, self._heard_at = False, now
            case _:
                pass

    def line(self, now: float, provider: str, *, still: bool = False) -> str:
        """One line; empty while something else tells what is waited for."""
        if self._compacting:
            return ""
        return f"{spinner(now - self._began, still=still)} {self._words(now, provider)}"

    def _words(self, now: float, provider: str) -> str:
        elapsed, silent = now - self._began, now - self._heard_at
        if self._stopping:
            return f"stopping · {elapsed:.0f} s"
        if self._tools:
            name, since = next(reversed(self._tools.values()))
            more = f" · {len(self._tools)} at once" if len(self._tools) > 1 else ""
            return f"{name} · {now - since:.0f} s{more}"
        if self._retry_at is not None and self._retry_at > now:
            return f"trying again in {self._retry_at - now:.0f} s"
        if silent >= SILENCE_S:
            return f"waiting for {provider} · {silent:.0f} s without an answer"
        if self._first_at is None:
            return f"asking {provider} · {elapsed:.0f} s"
        tokens = self._chars // CHARS_PER_TOKEN
        verb = "thinking" if self._thinking else "answering"
        streamed = now - self._first_at
        speed = f" · {tokens / streamed:.0f}/s" if streamed >= SPEED_FROM_S else ""
        return f"{verb} · {elapsed:.0f} s · ~{tokens:,} tokens{speed}"
