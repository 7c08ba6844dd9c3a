"""A day of memory as Markdown: entries under headings of the second level, for people to read and to edit.

An entry begins with `## HH:MM heading`, then a line that names its session and itself. Nothing inside of an entry can
pass for the beginning of another: its own headings go two levels down.
"""

import hashlib
import re
from typing import Final, NamedTuple

from co_tui.inert import inert, one_line

HEADING_CHARS: Final = 120
ENTRY_CHARS: Final = 20_000
CUT: Final = "\n\n[… the rest is in the session]"
_BEGINNING: Final = re.compile(r"^## (?:(\d\d:\d\d) )?(.*)$", re.MULTILINE)
_ORIGIN: Final = re.compile(r"\s*Session (\S{1,120})(?: · entry ([0-9a-f]{8}))?[ \t]*(?:\n|\Z)")
_HEADING: Final = re.compile(r"#{1,6}(?=\s|$)")
_FENCE: Final = re.compile(r"\s{0,3}(```|~~~)")
DEEPEST_LEVEL: Final = 6


class MemoryEntry(NamedTuple):
    """Something that left a context."""

    day: str
    time: str
    heading: str
    text: str
    session_id: str = ""
    """Empty for what a person wrote into the file."""
    id: str = ""
    written: str = ""
    """Its exact text in the file; empty before it exists."""

    @property
    def searched(self) -> str:
        """The text that is searched, in lower case."""
        return f"{self.day} {self.heading}\n{self.text}".lower()

    def is_same(self, other: "MemoryEntry") -> bool:
        """Whether both say the same to the letter; what is blank between entries does not count."""
        return self._replace(written=self.written.rstrip()) == other._replace(written=other.written.rstrip())


class Section(NamedTuple):
    """An entry as written in its file."""

    start: int
    end: int
    entry: MemoryEntry


def section_text(entry: MemoryEntry) -> str:
    """As it is written into the file, whatever its texts hold."""
    session = re.sub(r"\s+", "", one_line(entry.session_id, HEADING_CHARS)) or "-"
    head = f"## {entry.time} {one_line(entry.heading, HEADING_CHARS)}\n\nSession {session} · entry {entry.id}"
    return f"{head}\n\n{_body(entry.text)}\n\n"


def sections(day: str, text: str) -> list[Section]:
    """The entries of a day's file, also those that a person wrote there."""
    found = list(_BEGINNING.finditer(text))
    starts = [each.start() for each in found]
    return [
        Section(start, end, _entry(day, each, text[each.end() : end])._replace(written=text[start:end]))
        for each, start, end in zip(found, starts, [*starts[1:], len(text)], strict=False)
    ]


def _entry(day: str, beginning: re.Match[str], rest: str) -> MemoryEntry:
    origin = _ORIGIN.match(rest)
    body = rest[origin.end() :] if origin else rest
    session_id, entry_id = (origin[1], origin[2]) if origin else ("", None)
    heading = beginning[2].strip()
    # One that was written by hand, or by an earlier version, is known by what it says.
    entry_id = entry_id or hashlib.sha256(f"{day}\n{beginning[0]}\n{body.strip()}".encode()).hexdigest()[:8]
    return MemoryEntry(day, beginning[1] or "", heading, body.strip(), session_id, entry_id)


def _body(text: str) -> str:
    text = inert(text).strip()
    if len(text) > ENTRY_CHARS:
        text = text[:ENTRY_CHARS].rstrip() + CUT
    fence, lines = "", []
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        lines.append(_lowered(line, in_code=bool(fence)))
    return "\n".join([*lines, *([fence] if fence else [])])


def _lowered(line: str, *, in_code: bool) -> str:
    """A line that cannot begin an entry: headings two levels down, code moved in by a blank."""
    heading = _HEADING.match(line)
    if heading is None:
        return line
    if in_code:
        return f" {line}"
    return "#" * min(DEEPEST_LEVEL, len(heading[0]) + 2) + line[heading.end() :]
