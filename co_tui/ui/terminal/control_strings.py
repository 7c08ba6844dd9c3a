"""Drops unread terminal replies of any length as they arrive."""

import re
import time
from typing import Final

ESCAPE: Final = "\x1b"
LONGEST_SEQUENCE_CHARS: Final = 64
"""Longest control sequence (`ESC [ …`) of a key."""
SILENCE_S: Final = 1.0
"""An unfinished string ends after this long without input."""
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
_STRING_ENDS: Final = re.compile(r"\x07|\x1b\\|\x1b(?=[^\\])|[\x18\x1a]")
_SEQUENCE_ENDS: Final = re.compile(r"[^ -?]")


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
        """End a string that was never terminated; returns the Escape typed meanwhile, if any."""
        if not self.under_way or time.monotonic() <= self._until:
            return ""
        self.under_way = False
        return ESCAPE if self._escaped else ""
