"""Finding a text within a long one, slice by slice: no step costs more for twenty megabytes than for one. Knows no
screen."""

from collections.abc import Iterator
from typing import Final, NamedTuple

SLICE_CHARS: Final = 200_000
"""Looked through at once."""


class FoundText(NamedTuple):
    """One of the places where it is."""

    slice: int
    nth: int
    """Among those that begin in this slice."""
    at: int
    """In characters from the beginning."""


class TextSearch:
    """What is searched for, how often each slice has it, and which match is looked at."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.needle = ""
        """In small letters; empty while nothing is searched for."""
        self.found: FoundText | None = None
        self._counts: dict[int, int] = {}

    def set_needle(self, text: str) -> None:
        self.needle, self.found = in_small_letters(text), None
        self._counts.clear()

    @property
    def _slices(self) -> int:
        return -(-len(self._text) // SLICE_CHARS)

    @property
    def is_done(self) -> bool:
        """Whether all of it was looked through."""
        return not self.needle or len(self._counts) == self._slices

    @property
    def total(self) -> int:
        """In all that was looked through."""
        return sum(self._counts.values())

    @property
    def position(self) -> int:
        """Which of all matches is looked at, from the beginning; 0 as long as that cannot be told."""
        if self.found is None or any(n not in self._counts for n in range(self.found.slice)):
            return 0
        return sum(self._counts[n] for n in range(self.found.slice)) + self.found.nth + 1

    def look_through(self, start: int) -> Iterator[None]:
        """Everything, a slice at a time, beginning at a place; the first match from there on is looked at."""
        first = min(start, max(0, len(self._text) - 1)) // SLICE_CHARS
        for number in (*range(first, self._slices), *range(first)):
            self._count(number)
            if self.found is None:
                self.found = next((each for each in self._in(number) if number != first or each.at >= start), None)
            yield
        if self.found is None:  # only above the place, in its own slice
            self.found = next(self._in(first), None) if self._slices and self.needle else None

    def step(self, step: int) -> FoundText | None:
        """Look at the next match, or the one before (`step` −1), around the ends."""
        if self.found is None:
            return None
        nth = self.found.nth + step
        if 0 <= nth < self._count(self.found.slice):
            self.found = self._nth(self.found.slice, nth)
            return self.found
        for distance in range(1, self._slices + 1):
            number = (self.found.slice + step * distance) % self._slices
            if count := self._count(number):
                self.found = self._nth(number, count - 1 if step < 0 else 0)
                return self.found
        return self.found

    def matches_between(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where matches stand in a stretch of the text, those included that reach into it."""
        if not self.needle:
            return
        begin = max(0, start - len(self.needle) + 1)
        small = in_small_letters(self._text[begin : end + len(self.needle) - 1])
        at = small.find(self.needle)
        while at >= 0:
            yield begin + at, begin + at + len(self.needle)
            at = small.find(self.needle, at + len(self.needle))

    def _count(self, number: int) -> int:
        if number not in self._counts:
            self._counts[number] = self._slice(number).count(self.needle)
        return self._counts[number]

    def _nth(self, number: int, nth: int) -> FoundText:
        return next(each for each in self._in(number) if each.nth == nth)

    def _in(self, number: int) -> Iterator[FoundText]:
        small, nth = self._slice(number), 0
        at = small.find(self.needle) if self.needle else -1
        while at >= 0:
            yield FoundText(number, nth, number * SLICE_CHARS + at)
            at, nth = small.find(self.needle, at + len(self.needle)), nth + 1

    def _slice(self, number: int) -> str:
        """With as much behind it as a match that begins in it may reach over."""
        start = number * SLICE_CHARS
        return in_small_letters(self._text[start : start + SLICE_CHARS + len(self.needle) - 1])


def in_small_letters(text: str) -> str:
    """As long as it was: places in it are places in the text."""
    return text.replace("İ", "i").lower()  # the one letter whose small form is longer
