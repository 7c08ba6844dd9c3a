"""What the transcript is made of: one block for each thing that was said or done."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from co_tui.events import CompactionComplete, Event, Json, Message, SessionError, SessionInterrupted
from co_tui.events.messages import pieces
from co_tui.inert import inert, one_line
from co_tui.session.wording import told_compaction

Kind: TypeAlias = Literal["user", "reply", "thinking", "tool", "note", "error"]

GIST_CHARS = 160


@dataclass(slots=True, eq=False)
class Block:
    """One entry of the transcript. Texts are already inert."""

    kind: Kind
    text: str
    time: str = ""
    folded: bool = False
    first_of_reply: bool = False
    """Carries the speaker's name above it."""
    tight: bool = False
    """Stands right below the block before it, without an empty line between."""
    interrupted: bool = False
    tool_name: str = ""
    tool_call_id: str = ""
    result: str = ""
    status: str = ""
    seq: int = 0

    @property
    def foldable(self) -> bool:
        return self.kind in ("thinking", "tool")

    @property
    def gist(self) -> str:
        """The block in one line, for when it is folded."""
        if self.kind == "tool":
            return one_line(_main_argument(self.text), GIST_CHARS)
        return one_line(self.text, GIST_CHARS)

    @property
    def plain(self) -> str:
        """Everything readable in it, for searching."""
        return f"{self.tool_name} {self.text}\n{self.result}" if self.kind == "tool" else self.text


class BlockBuilder:
    """Turns events into blocks, in order; tool results join the call they answer."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._speaking = False
        self._open_calls: dict[str, Block] = {}

    def add_all(self, events: Iterable[Event]) -> list[Block]:
        for event in events:
            self.add(event)
        return self.blocks

    def add(self, event: Event) -> None:
        """Blocks for what the event says; most lifecycle events say nothing here."""
        fact = event.fact
        match fact:
            case Message():
                self._message(fact.message, clock(event.timestamp), fact.interrupted, event.seq or 0)
            case SessionError() if fact.retry_in_s is None:
                self.note(fact.what, "error", event.seq or 0)
            case SessionInterrupted():
                self.note(f"{fact.what} · {fact.outcome}", "note", event.seq or 0)
            case CompactionComplete():
                way_back = " /undo takes it back." if fact.success and fact.replaced else ""
                self.note(told_compaction(fact) + way_back, "note", event.seq or 0)
            case _:
                pass

    def note(self, text: str, kind: Kind = "note", seq: int = 0) -> Block:
        self._speaking = False
        return self._append(Block(kind, inert(text), seq=seq))

    def user(self, text: str, time: str, status: str = "", seq: int = 0) -> Block:
        self._speaking = False
        return self._append(Block("user", inert(text), time=time, status=status, seq=seq))

    def end_reply(self) -> None:
        """The next piece of a reply carries the speaker's name again."""
        self._speaking = False

    def part(self, kind: Kind, text: str, time: str = "", seq: int = 0) -> Block:
        """A piece of the assistant's reply."""
        block = Block(kind, inert(text), time=time, folded=kind != "reply", first_of_reply=not self._speaking, seq=seq)
        self._speaking = True
        return self._append(block)

    def tool(self, name: str, arguments: str, call_id: str, time: str = "", seq: int = 0) -> Block:
        block = self.part("tool", arguments, time, seq)
        block.tool_name, block.tool_call_id, block.status = one_line(name, 40), call_id, "…"
        self._open_calls[call_id] = block
        return block

    def result(self, call_id: str, text: str, *, failed: bool = False) -> Block | None:
        """Join a result to its call; a call id that is reused means the latest call."""
        block = self._open_calls.pop(call_id, None)
        if block is not None:
            block.result = inert(text)
            lines = block.result.count("\n") + 1
            block.status = "failed" if failed else f"{lines} lines" if lines > 1 else one_line(block.result, 40)
        return block

    def _message(self, message: Json, time: str, interrupted: bool, seq: int) -> None:
        last: Block | None = None
        for role, text, part in pieces(message):
            match role:
                case "user":
                    last = self.user(text, time, seq=seq)
                case "assistant":
                    last = self.part("reply", text, time, seq) if text.strip() else last
                case "thinking":
                    last = self.part("thinking", text, time, seq) if text.strip() else last
                case "tool_call":
                    last = self.tool(part.get("tool_name", ""), text, part.get("tool_call_id", ""), time, seq)
                case "tool_result":
                    failed = part.get("outcome", "success") != "success"
                    self.result(part.get("tool_call_id", ""), text, failed=failed)
                case "system":
                    pass
        if interrupted and last is not None:
            last.interrupted = True

    def _append(self, block: Block) -> Block:
        before = self.blocks[-1] if self.blocks else None
        block.tight = before is None or (block.foldable and before.foldable and not block.first_of_reply)
        self.blocks.append(block)
        return block


def clock(timestamp: str) -> str:
    """The local time of day of an event's timestamp."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%H:%M}"
    except ValueError:
        return ""


def _main_argument(arguments: str) -> str:
    """What a call is about: its first argument's value, if the arguments can be read."""
    try:
        values = json.loads(arguments)
    except ValueError:
        return arguments
    if isinstance(values, dict):
        return "  ".join(str(value) for value in list(values.values())[:2])
    return arguments
