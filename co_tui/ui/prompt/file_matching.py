"""Fuzzy matching of file paths, best match first."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

MAX_FOUND: Final = 50
SLICE: Final = 2_000
"""Names matched between two checks for cancellation."""

Fits = Callable[[str], object]


class FileNames:
    """The files of a folder, most recent first, prepared for searching."""

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self.paths = tuple(paths)
        self._known = frozenset(self.paths)
        self._lowered = [path.lower() for path in self.paths]
        self._names = [path[path.rfind("/") + 1 :] for path in self._lowered]

    def matching(self, letters: str, wanted: Callable[[], bool] = lambda: True) -> list[str]:
        """At most `MAX_FOUND` paths: contiguous matches before scattered ones, in the file name before the folders,
        then the most recent. None when the letters are a whole path, or `wanted` turns False.
        """
        if letters in self._known:
            return []
        if not letters:
            return list(self.paths[:MAX_FOUND])
        found: dict[int, None] = {}
        for texts, fits in self._ways(letters.lower()):
            for start in range(0, len(texts), SLICE):
                if not wanted():
                    return []
                some = texts[start : start + SLICE]
                found.update((n, None) for n, text in enumerate(some, start) if fits(text))
                if len(found) >= MAX_FOUND:
                    return [self.paths[n] for n in found][:MAX_FOUND]
        return [self.paths[n] for n in found]

    def _ways(self, sought: str) -> Iterator[tuple[list[str], Fits]]:
        """The texts and tests to try, best match first."""
        yield self._names, sought.__eq__
        yield self._names, lambda name: name.startswith(sought)
        yield self._names, lambda name: sought in name
        yield self._lowered, lambda path: sought in path
        in_order = _in_order(sought)
        yield self._names, in_order
        yield self._lowered, in_order


def _in_order(sought: str) -> Fits:
    """Matches the letters in order with anything in between, in linear time."""
    first, *rest = map(re.escape, sought)
    return re.compile(first + "".join(f"[^{each}]*{each}" for each in rest), re.DOTALL).search
