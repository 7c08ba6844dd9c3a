"""Daily memory: what left the context, one file a day, for people to read and the model to search."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.kept_file import kept_text
from co_tui.paths import read_small_text
from co_tui.store.notes.memory_text import MemoryEntry, Section, section_text, sections
from co_tui.store.search.session_words import find_phrase
from co_tui.store.sync.files.synced_file import OnChange, not_synced

DAY_CHARS: Final = 1_000_000
"""Of one day; beyond that the oldest entries of sessions go, whose logs still have them. What people wrote stays."""
FILE_BYTES: Final = 8_000_000
"""Of a file that is read: people may have written into it, too."""
MAX_DAYS: Final = 1_000
"""Only the newest days are read."""
_DAY: Final = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md"


class MemoryFailed(Exception):
    """The memory could not be written; the text names the file and the reason. The session can go on."""


class FoundEntries(NamedTuple):
    """What holds the most of some words, newest first."""

    words: int
    """How many of the words each of them holds."""
    entries: Sequence[MemoryEntry]


class DailyMemory:
    """The memory files of one installation; several processes may write them at once."""

    def __init__(self, folder: Path, on_change: OnChange = not_synced) -> None:
        self._folder = folder
        self._on_change = on_change

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return next(self._folder.glob(_DAY), None) is not None

    def append(self, text: str, *, session_id: str, heading: str, when: datetime) -> Path:
        """Add an entry to the file of that day, whole and on disk; raises `MemoryFailed`."""
        entry = MemoryEntry(f"{when:%Y-%m-%d}", f"{when:%H:%M}", heading, text, session_id, secrets.token_hex(4))
        return self._change(entry.day, lambda before: _within_limit(_ready_to_append(before) + section_text(entry)))

    def delete(self, entry: MemoryEntry) -> bool:
        """Take an entry as it was read out of its file; False when it is gone, or says something else by now.

        Raises `MemoryFailed`.
        """
        found = False

        def without(text: str) -> str:
            nonlocal found
            for section in sections(entry.day, text):
                if section.entry.is_same(entry):
                    found = True
                    return text[: section.start] + text[section.end :]
            return text

        self._change(entry.day, without)
        return found

    def restore(self, entry: MemoryEntry) -> None:
        """Put an entry that was taken out back among those of its day, to the letter; raises `MemoryFailed`."""

        def with_it(text: str) -> str:
            present = sections(entry.day, text)
            if any(section.entry.is_same(entry) for section in present):
                return text
            at = next((section.start for section in present if section.entry.time > entry.time), len(text))
            before = text[:at] if text[:at].endswith("\n\n") else _ready_to_append(text[:at])
            between = "\n\n" if text[at:] and not entry.written.endswith("\n") else ""
            return before + entry.written + between + text[at:]

        self._change(entry.day, with_it)

    def entries(self) -> Iterator[MemoryEntry]:
        """All entries, newest first; unreadable files are skipped."""
        for file in sorted(self._folder.glob(_DAY), reverse=True)[:MAX_DAYS]:
            for section in reversed(self._sections(file)):
                yield section.entry

    def search(self, words: Sequence[str]) -> FoundEntries:
        """The entries that hold the most of these words, which are in lower case (see `find_phrase`)."""
        found: dict[int, list[MemoryEntry]] = {}
        for entry in self.entries():
            held = count_words(entry, words)
            if held or not words:
                found.setdefault(held, []).append(entry)
        most = max(found, default=0)
        return FoundEntries(most, found.get(most, []))

    def _sections(self, file: Path) -> list[Section]:
        try:
            return sections(file.stem, read_small_text(file, FILE_BYTES, errors="replace"))
        except OSError:
            return []

    def _change(self, day: str, change: Callable[[str], str]) -> Path:
        file = self._folder / f"{day}.md"
        try:
            kept_text(file, limit_bytes=FILE_BYTES, lock=self._folder / ".lock").change(change)
        except OSError as error:
            raise MemoryFailed(f"Cannot write memory {file}: {error.strerror or error}.") from error
        self._on_change()
        return file


def count_words(entry: MemoryEntry, words: Sequence[str]) -> int:
    """How many of the lower-case words occur in an entry."""
    lowered = f"{entry.day} {entry.heading}\n{entry.text}".lower()
    return sum(find_phrase(word, lowered) >= 0 for word in words)


def _ready_to_append(text: str) -> str:
    """The text, ready for another entry after it."""
    return f"{text.rstrip()}\n\n" if text.strip() else ""


def _within_limit(text: str) -> str:
    """Without the oldest entries of sessions, when there is too much; all that a person wrote stays."""
    excess = len(text) - DAY_CHARS
    if excess <= 0:
        return text
    *older, newest = sections("", text)
    kept = [text[: (older or [newest])[0].start]]
    for _, _, entry in older:
        if excess > 0 and entry.session_id:
            excess -= len(entry.written)
        else:
            kept.append(entry.written)
    return "".join([*kept, newest.entry.written])
