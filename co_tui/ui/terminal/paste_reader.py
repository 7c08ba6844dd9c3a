"""A paste as it comes from the terminal, taken in by whole pieces: the library looks at each of its characters."""

import time
from typing import Final

from textual.events import Paste
from textual.message import Message

PASTE_BEGINS: Final = "\x1b[200~"
PASTE_ENDS: Final = "\x1b[201~"
TOLD_FROM_CHARS: Final = 100_000
TOLD_EVERY_S: Final = 0.2


class PasteArriving(Message):
    """A long paste is being taken in: so many characters by now, or 0 when it is there."""

    def __init__(self, chars: int) -> None:
        super().__init__()
        self.chars = chars


class PasteReader:
    """One paste after the other."""

    under_way = False

    def begin(self) -> None:
        self.under_way = True
        self._pieces: list[str] = []
        self._chars = 0
        self._last = ""
        """May be the beginning of the end."""
        self._told_at: float | None = None

    def take(self, data: str) -> tuple[list[Message], str]:
        """What is to be told after these characters, and those that stand behind the paste."""
        text, ended, rest = (self._last + data).partition(PASTE_ENDS)
        if not ended:
            kept = len(PASTE_ENDS) - 1
            text, self._last = text[:-kept], text[-kept:]
        self._pieces.append(text)
        self._chars += len(text)
        return (self._ended(), rest) if ended else (self._progress(), "")

    def _progress(self) -> list[Message]:
        now = time.monotonic()
        if self._chars < TOLD_FROM_CHARS or (self._told_at is not None and now - self._told_at < TOLD_EVERY_S):
            return []
        self._told_at = now
        return [PasteArriving(self._chars)]

    def _ended(self) -> list[Message]:
        text = "".join(self._pieces).replace("\0", "")
        told: list[Message] = [] if self._told_at is None else [PasteArriving(0)]
        self.under_way, self._pieces = False, []
        return [Paste(text), *told]
