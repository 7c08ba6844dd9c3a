"""How many lines of files were added and removed between two snapshots."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from co_tui.session.snapshots.entries import FileEntry

MOST_COUNTED_BYTES: Final = 20_000_000
"""Of all files together; the others are left out."""
_BINARY_BYTES: Final = 8_000


class LineCount(NamedTuple):
    added: int = 0
    removed: int = 0


Changed: TypeAlias = Mapping[str, tuple[FileEntry | None, FileEntry | None]]
"""Path → what it was and is; None where there is nothing."""


def line_counts(changed: Changed, contents: Callable[[Sequence[FileEntry]], Iterator[bytes]]) -> dict[str, LineCount]:
    """For files that are text. A line that only moved counts as neither. Raises what `contents` raises."""
    kept = [each for both in changed.values() for each in both if each is not None and not each.is_folder]
    texts = contents(kept) if kept else iter(())
    found: dict[str, LineCount] = {}
    left = MOST_COUNTED_BYTES
    for path, both in changed.items():
        before, after = (next(texts) if each is not None and not each.is_folder else b"" for each in both)
        if (left := left - len(before) - len(after)) < 0:
            break
        if b"\0" not in before[:_BINARY_BYTES] + after[:_BINARY_BYTES]:
            old, new = Counter(before.splitlines()), Counter(after.splitlines())
            found[path] = LineCount((new - old).total(), (old - new).total())
    return found
