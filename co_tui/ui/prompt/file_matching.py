"""Which files fit some letters, best first. Knows no screen and no folder."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

MOST_FOUND: Final = 50
SLICE: Final = 2_000
"""Names looked at between two looks at whether anybody still waits."""

Fits = Callable[[str], object]


class FileNames:
    """The files of a folder, the most recent first, prepared for being searched."""

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self.paths = tuple(paths)
        self._known = frozenset(self.paths)
        self._lowered = [path.lower() for path in self.paths]
        self._names = [path[path.rfind("/") + 1 :] for path in self._lowered]

    def matching(self, letters: str, wanted: Callable[[], bool] = lambda: True) -> list[str]:
        """At most `MOST_FOUND`: letters that stand together before letters apart, in the file's name before
        its folders; among equals the most recent. Nothing when the letters are a file's whole path, or nobody waits.
        """
        if letters in self._known:
            return []
        if not letters:
            return list(self.paths[:MOST_FOUND])
        found: dict[int, None] = {}
        for texts, fits in self._ways(letters.lower()):
            for start in range(0, len(texts), SLICE):
                if not wanted():
                    return []
                some = texts[start : start + SLICE]
                found.update((n, None) for n, text in enumerate(some, start) if fits(text))
                if len(found) >= MOST_FOUND:
                    return [self.paths[n] for n in found][:MOST_FOUND]
        return [self.paths[n] for n in found]

    def _ways(self, sought: str) -> Iterator[tuple[list[str], Fits]]:
        """What to look at and how, the best fit first."""
        yield self._names, sought.__eq__
        yield self._names, lambda name: name.startswith(sought)
        yield self._names, lambda name: sought in name
        yield self._lowered, lambda path: sought in path
        in_order = _in_order(sought)
        yield self._names, in_order
        yield self._lowered, in_order


def _in_order(sought: str) -> Fits:
    """Finds the letters in their order, with anything between; one look at each character is enough."""
    first, *rest = map(re.escape, sought)
    return re.compile(first + "".join(f"[^{each}]*{each}" for each in rest), re.DOTALL).search
