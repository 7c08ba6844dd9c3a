"""One block of the transcript: a thing that was said or done. Texts are already inert."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from co_tui.inert import one_line

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
    inner: str = ""
    """What a delegate did for this call, line by line."""
    outcome: str = ""
    """How a delegate ended; stands where the length of the result would."""
    seq: int = 0

    @property
    def foldable(self) -> bool:
        return self.kind in ("thinking", "tool")

    @property
    def gist(self) -> str:
        """The block in one line, for when it is folded."""
        if self.kind == "tool":
            return one_line(main_argument(self.text), GIST_CHARS)
        return one_line(self.text, GIST_CHARS)

    @property
    def plain(self) -> str:
        """Everything readable in it, for searching."""
        return f"{self.tool_name} {self.text}\n{self.result}" if self.kind == "tool" else self.text


def clock(timestamp: str) -> str:
    """The local time of day of an event's timestamp."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%H:%M}"
    except ValueError:
        return ""


def main_argument(arguments: str) -> str:
    """What a call is about: its first argument's value, if the arguments can be read."""
    try:
        values = json.loads(arguments)
    except ValueError:
        return arguments
    if isinstance(values, dict):
        return "  ".join(str(value) for value in list(values.values())[:2])
    return arguments
