"""The status line of a running turn: what it is doing, for how long, and whether data is arriving.

Independent of the screen; callers pass in the time.
"""

from typing import NamedTuple

from rich.text import Text

from co_tui.events import (
    ApprovalDecided,
    BoardProgress,
    CommandOutput,
    CompactionComplete,
    CompactionStart,
    CompactionWait,
    DelegationEnd,
    DelegationStart,
    Fact,
    Message,
    RequestBilled,
    SessionError,
    StreamDelta,
    StreamReset,
    ToolActivity,
    UsageInfo,
    agent_of,
)
from co_tui.events.stored_messages import prompt_of
from co_tui.events.tool_calls import tool_label
from co_tui.events.tool_wording import call_summary
from co_tui.inert import one_line
from co_tui.ui.formatting import CHARS_PER_TOKEN
from co_tui.ui.formatting import elapsed as duration_text

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_S = 0.1
SILENCE_S = 5.0
"""After this long without data the line says so."""
HIDDEN_SILENCE_S = 60.0
"""The same during hidden thinking, which can take long."""
STREAMING_S = 0.5
SPEED_FROM_S = 1.0
GIST_CHARS = 48
BOARD = "board"
"""Key of a context board update among the running tools."""
VERBS = {"thinking": "thinking", "text": "answering", "tool_call": "calling a tool"}
OWN_COMMAND = "!"
"""Key of the user's own command among the running tools."""


STILL_FRAME = "●"


def spinner(elapsed_s: float, *, still: bool = False) -> str:
    """The spinner's frame; always the same one with `still`."""
    return STILL_FRAME if still else FRAMES[int(elapsed_s / FRAME_S) % len(FRAMES)]


class RunningTool(NamedTuple):
    """A running tool: its name, gist and start time."""

    name: str
    gist: str
    since: float

    @property
    def label(self) -> str:
        return f"{self.name}  {self.gist}".rstrip() if self.name != OWN_COMMAND else f"{self.name} {self.gist}"


class Activity:
    """Follows the events of a turn; callers pass in the time."""

    def __init__(self) -> None:
        self.begin(0.0)

    def begin(self, now: float) -> None:
        """A turn begins."""
        self._began = self._heard_at = now
        self._tokens = 0
        """Provider-counted tokens of the completed replies."""
        self._begin_reply()
        self._tools: dict[str, RunningTool] = {}
        self._delegates: dict[str, str] = {}
        """The main agent's call by delegate."""
        self._retry_at: float | None = None
        self._compacting = False
        self._stopping = False

    def _begin_reply(self) -> None:
        self._first_at: float | None = None
        self._chars = 0
        self._kind = ""
        self._hidden_thoughts = False

    def stop(self) -> None:
        """The user asked the turn to stop."""
        self._stopping = True

    def apply(self, fact: Fact, now: float) -> None:
        match fact:
            case _ if agent_of(fact):
                self._heard_at = now
                self._apply_delegate(fact)
            case Message(message=message) if prompt_of(message) is not None:
                self.begin(now)
            case CommandOutput() | ToolActivity() | ApprovalDecided() | BoardProgress():
                self._apply_tool(fact, now)
            case StreamReset():
                self._heard_at = now
                self._begin_reply()
            case Message() | UsageInfo() | RequestBilled(what="turn"):
                self._tools.pop(OWN_COMMAND, None)
                self._heard_at, self._retry_at = now, None
                self._count(fact)
            case StreamDelta(text=text, kind=kind):
                self._heard_at, self._first_at = now, self._first_at if self._first_at is not None else now
                self._chars += len(text)
                self._kind, self._hidden_thoughts = kind, kind == "thinking" and not self._chars
            case SessionError(retry_in_s=float() as delay):
                self._retry_at = now + delay
            case CompactionStart(blocks=True) | CompactionWait(over=False):
                self._compacting = True
            case CompactionComplete() | CompactionWait():
                self._compacting, self._heard_at = False, now
            case _:
                pass

    def _apply_tool(self, fact: CommandOutput | ToolActivity | ApprovalDecided | BoardProgress, now: float) -> None:
        match fact:
            case CommandOutput(command=command):
                self._tools.setdefault(OWN_COMMAND, RunningTool(OWN_COMMAND, one_line(command, GIST_CHARS), now))
            case ToolActivity(stage="started", tool_call_id=call, tool_name=name, text=text):
                self._tools[call] = RunningTool(tool_label(name), one_line(call_summary(name, text), GIST_CHARS), now)
            case ToolActivity(tool_call_id=call):
                self._tools.pop(call, None)
                self._heard_at = now
            case ApprovalDecided(call_id=call):
                self._heard_at = now
                if call in self._tools:  # it starts only now
                    self._tools[call] = self._tools[call]._replace(since=now)
            case BoardProgress(over=True):
                self._tools.pop(BOARD, None)
            case BoardProgress(text=text):
                since = self._tools[BOARD].since if BOARD in self._tools else now
                self._tools[BOARD] = RunningTool("updating the context board", one_line(text, 2 * GIST_CHARS), since)

    def _count(self, fact: Message | UsageInfo | RequestBilled) -> None:
        """Replace the estimate by the provider's count, or by that of a reply that was not counted."""
        match fact:
            case UsageInfo(output_tokens=int() as tokens) | RequestBilled(measured="estimate", output_tokens=tokens):
                self._tokens += tokens
                self._begin_reply()
            case _:
                pass

    def _apply_delegate(self, fact: Fact) -> None:
        """Show a delegate's name and current step on the delegating call."""
        match fact:
            case DelegationStart(agent=agent, name=name, call_id=call, task=task) if call in self._tools:
                self._delegates[agent] = call
                self._tools[call] = self._tools[call]._replace(name=one_line(name, 40), gist=one_line(task, GIST_CHARS))
            case ToolActivity(agent=agent, stage="started", tool_name=name, text=text) if agent in self._delegates:
                doing = f"{tool_label(name)} {call_summary(name, text)}"
                self._change(self._delegates[agent], one_line(doing, GIST_CHARS))
            case DelegationEnd(agent=agent):
                self._delegates.pop(agent, None)
            case _:
                pass

    def _change(self, call: str, gist: str) -> None:
        if call in self._tools:
            self._tools[call] = self._tools[call]._replace(gist=gist)

    def is_streaming(self, now: float) -> bool:
        """Whether a reply is arriving, which moves by itself."""
        return self._first_at is not None and not self._tools and now - self._heard_at < STREAMING_S

    def is_held_up(self, now: float) -> bool:
        """Whether no data is arriving, or a retry is pending."""
        if self._stopping or self._tools:
            return False
        return self._waits_to_retry(now) or self._silent_s(now) >= (
            HIDDEN_SILENCE_S if self._hidden_thoughts else SILENCE_S
        )

    def _waits_to_retry(self, now: float) -> bool:
        return self._retry_at is not None and self._retry_at > now

    def line(self, now: float, provider: str, *, still: bool = False, room: int = 200) -> str:
        """The status line; empty while the compaction indicator shows. A tool's gist is cut before the times."""
        if self._compacting:
            return ""
        return f"{spinner(now - self._began, still=still)} {self._text(now, provider, room - 2)}"

    def _silent_s(self, now: float) -> float:
        return now - max(self._heard_at, self._retry_at or 0.0)

    def _text(self, now: float, provider: str, room: int) -> str:
        took, silent = duration_text(now - self._began), self._silent_s(now)
        if self._stopping:
            return f"stopping · {took}"
        if self._tools:
            return self._tool_text(now, room)
        if self._waits_to_retry(now):
            return f"retrying in {duration_text((self._retry_at or now) - now)}"
        if self._hidden_thoughts:
            unheard = f" · silent for {duration_text(silent)}" if silent >= HIDDEN_SILENCE_S else ""
            return f"thinking · {took}{self._tokens_text()}{unheard}"
        if self.is_held_up(now):
            since = "without an answer" if self._first_at is None else "of silence"
            return f"waiting for {provider} · {duration_text(silent)} {since}"
        if self._first_at is None:
            return f"asking {provider} · {took}{self._tokens_text()}"
        return f"{VERBS.get(self._kind, 'answering')} · {took}{self._tokens_text()}{self._speed_text(now)}"

    def _tool_text(self, now: float, room: int) -> str:
        tool = next(reversed(self._tools.values()))
        more = f" · {len(self._tools)} running" if len(self._tools) > 1 else ""
        figures = f" · {duration_text(now - tool.since)}{more}"
        label = Text(tool.label)
        label.truncate(max(8, room - len(figures)), overflow="ellipsis")
        return f"{label.plain}{figures}"

    def _tokens_text(self) -> str:
        """Tokens of the turn so far; `~` marks an estimate."""
        count = self._tokens + self._chars // CHARS_PER_TOKEN
        return f" · {'~' if self._chars else ''}{count:,} tokens" if count else ""

    def _speed_text(self, now: float) -> str:
        """Tokens per second of the current reply, without the time tools take."""
        streamed = now - self._first_at if self._first_at is not None else 0.0
        return f" · {self._chars / CHARS_PER_TOKEN / streamed:.0f}/s" if streamed >= SPEED_FROM_S else ""
