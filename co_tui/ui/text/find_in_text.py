"""Searches a long text in slices, so that each step stays fast at any length. Independent of the screen."""

from collections.abc import Iterator
from typing import Final, NamedTuple

SLICE_CHARS: Final = 200_000
"""Characters searched in one step."""


class FoundText(NamedTuple):
    """One match."""

    slice: int
    nth: int
    """Its number among the matches that begin in this slice, from 0."""
    at: int
    """Offset in characters."""


class TextSearch:
    """The search text, its matches by slice, and the current match."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.needle = ""
        """Lowercase; empty while there is no search."""
        self.found: FoundText | None = None
        self._counts: dict[int, int] = {}

    def set_needle(self, text: str) -> None:
        self.needle, self.found = lowercase(text), None
        self._counts.clear()

    @property
    def _slices(self) -> int:
        return -(-len(self._text) // SLICE_CHARS)

    @property
    def is_done(self) -> bool:
        """Whether the whole text was searched."""
        return not self.needle or len(self._counts) == self._slices

    @property
    def total(self) -> int:
        """Matches in all slices searched so far."""
        return sum(self._counts.values())

    @property
    def match_number(self) -> int:
        """The current match's number among all, from 1; 0 while unknown."""
        if self.found is None or any(n not in self._counts for n in range(self.found.slice)):
            return 0
        return sum(self._counts[n] for n in range(self.found.slice)) + self.found.nth + 1

    def search_from(self, start: int) -> Iterator[None]:
        """Search everything slice by slice from `start` on; the first match from there becomes the current one."""
        first = min(start, max(0, len(self._text) - 1)) // SLICE_CHARS
        for number in (*range(first, self._slices), *range(first)):
            self._count(number)
            if self.found is None:
                self.found = next((each for each in self._in(number) if number != first or each.at >= start), None)
            yield
        if self.found is None:  # the only match is before `start` in the first slice
            self.found = next(self._in(first), None) if self._slices and self.needle else None

    def step(self, step: int) -> FoundText | None:
        """Go to the next match, or the one before (`step` −1), wrapping around."""
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
        """Start and end of the matches that overlap a range of the text."""
        if not self.needle:
            return
        begin = max(0, start - len(self.needle) + 1)
        small = lowercase(self._text[begin : end + len(self.needle) - 1])
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
        """The slice, plus the overlap that a match beginning in it may need."""
        start = number * SLICE_CHARS
        return lowercase(self._text[start : start + SLICE_CHARS + len(self.needle) - 1])


def lowercase(text: str) -> str:
    """Lowercase with the length unchanged, so that offsets stay valid."""
    return text.replace("İ", "i").lower()  # the only letter whose lowercase form is longer
