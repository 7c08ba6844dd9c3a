"""Reads pastes in large pieces, where Textual goes by character, and drops unread replies of the terminal."""

import time
from typing import Final

from textual.events import Paste
from textual.message import Message

from co_tui.late_pattern import late_pattern

ESCAPE: Final = "\x1b"
LONGEST_SEQUENCE_CHARS: Final = 64
"""Longest control sequence (`ESC [ …`) of a key."""
HELD_ESCAPE_S: Final = 0.1
"""How long an Escape may wait to become a terminator (`ESC \\`)."""
TYPED_AT_ONCE_CHARS: Final = 32
"""More characters in one read are a paste or a reply, not typing."""

STRING_BEGINS: Final = (
    rf"\x1b(?:\](?:\d{{1,4}};|\d{{5}})|P(?:[\d;]{{0,16}}[$+!>|]|[\d;]{{17}})|_G"
    rf"|[\]P_^X][^\x00-\x1f]{{{TYPED_AT_ONCE_CHARS}}}|\[[0-?]{{{LONGEST_SEQUENCE_CHARS}}})"
)
"""An operating system command, a device control string, a graphics reply, anything else that is too long to be typed,
or a control sequence that is too long for a key."""
_STRING_ENDS: Final = late_pattern(r"\x07|\x1b\\|\x1b(?=[^\\])|[\x18\x1a]")
_SEQUENCE_ENDS: Final = late_pattern(r"[^ -?]")

PASTE_BEGINS: Final = "\x1b[200~"
PASTE_ENDS: Final = "\x1b[201~"
PROGRESS_FROM_CHARS: Final = 100_000
PROGRESS_EVERY_S: Final = 0.2
SILENCE_S: Final = 1.0
"""A paste or a reply without its end marker ends after this long without input."""
LATE_S: Final = 30.0
"""How late the rest of a paste may arrive."""
MAX_CHARS: Final = 50_000_000
"""Longest paste; the rest is dropped."""


class PasteArriving(Message):
    """Progress of a long paste: characters so far, 0 when it is complete."""

    def __init__(self, chars: int, dropped_chars: int = 0) -> None:
        super().__init__()
        self.chars = chars
        self.dropped_chars = dropped_chars
        """Characters dropped because the paste was too long."""


class PasteReader:
    """Collects one paste at a time."""

    under_way = False
    _lacks_end = False
    """Whether the last paste ended without its end marker."""
    _last = ""
    """The last characters, which may begin the end marker."""

    def begin(self, *, is_rest: bool = False) -> None:
        self.under_way, self._lacks_end, self._is_rest = True, False, is_rest
        if not is_rest:
            self._last = ""
        self._pieces: list[str] = []
        self._chars = 0
        self._reported_at: float | None = None
        self._came_at = time.monotonic()

    def continues(self, data: str) -> bool:
        """Whether this is the late rest of an unfinished paste. Read as keys, its line ends would send the prompt."""
        if not self._lacks_end or PASTE_BEGINS in data or time.monotonic() - self._came_at > LATE_S:
            return False
        is_rest = len(data) > TYPED_AT_ONCE_CHARS and ESCAPE not in data
        if not is_rest and PASTE_ENDS not in self._last + data:
            return False
        self.begin(is_rest=True)
        return True

    def take(self, data: str) -> tuple[list[Message], str]:
        """Messages to post, and the characters after the paste."""
        self._came_at = time.monotonic()
        text, ended, rest = (self._last + data).partition(PASTE_ENDS)
        if not ended:
            kept = len(PASTE_ENDS) - 1
            text, self._last = text[:-kept], text[-kept:]
        self._add(text)
        return (self._ended(), rest) if ended else (self._progress(), "")

    def give_up_if_silent(self) -> list[Message]:
        """Paste what has arrived if the end marker does not come."""
        if not self.under_way or time.monotonic() - self._came_at <= SILENCE_S:
            return []
        at = self._last.rfind(ESCAPE)
        text = self._last[:at] if at >= 0 and PASTE_ENDS.startswith(self._last[at:]) else self._last
        self._add(text)
        last = self._last[len(text) :]
        messages = self._ended()
        self._last, self._lacks_end = last, True
        return messages

    def _add(self, text: str) -> None:
        self._pieces.append(text[: max(0, MAX_CHARS - self._chars)])
        self._chars += len(text)

    def _progress(self) -> list[Message]:
        now = time.monotonic()
        if self._chars < PROGRESS_FROM_CHARS or (
            self._reported_at is not None and now - self._reported_at < PROGRESS_EVERY_S
        ):
            return []
        self._reported_at = now
        return [PasteArriving(self._chars)]

    def _ended(self) -> list[Message]:
        text = "".join(self._pieces).replace("\0", "")
        dropped = max(0, self._chars - MAX_CHARS)
        reports: list[Message] = [PasteArriving(0, dropped)] if dropped or self._reported_at is not None else []
        self.under_way, self._pieces, self._last = False, [], ""
        return [Paste(text), *reports] if text or not self._is_rest else reports


class StringSkipper:
    """Drops one string at a time, in linear time, without buffering it."""

    under_way = False

    def begin(self, introducer: str) -> None:
        self.under_way = True
        self._ends = _SEQUENCE_ENDS if introducer.startswith("\x1b[") else _STRING_ENDS
        self._escaped = False
        """Whether the last character was an Escape: the terminator may follow."""
        self._until = time.monotonic() + SILENCE_S

    def skip(self, data: str) -> str:
        """The text after the string; empty while the string continues."""
        if len(data) > TYPED_AT_ONCE_CHARS:  # typing does not prolong it
            self._until = time.monotonic() + SILENCE_S
        if self._escaped:
            data, self._escaped = ESCAPE + data, False
        end = self._ends.search(data)
        if end is not None:
            self.under_way = False
            is_terminator = end[0] != ESCAPE and (self._ends is _STRING_ENDS or "@" <= end[0] <= "~")
            return data[end.end() if is_terminator else end.start() :]
        if data.endswith(ESCAPE):
            self._escaped = True
            self._until = time.monotonic() + HELD_ESCAPE_S
        return ""

    def give_up_if_silent(self) -> str:
        """End a string that was never terminated; returns the Escape typed since, if any."""
        if not self.under_way or time.monotonic() <= self._until:
            return ""
        self.under_way = False
        return ESCAPE if self._escaped else ""
