"""Makes the stored diff of a file change: exact figures, and as many lines as are worth keeping."""

import difflib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Final, NamedTuple

from co_tui.events.file_diff import NEW_FILE, NO_NEWLINE, header

MOST_DIFF_CHARS: Final = 20_000
MOST_LINE_CHARS: Final = 2_000
MOST_COMPARED_LINES: Final = 2_000
"""Longer stretches without a common line are shown as replaced: comparing them would take seconds."""
MOST_COMPARED_BYTES: Final = 20_000_000
CONTEXT_LINES: Final = 3


class _Change(NamedTuple):
    """A stretch of lines that is replaced: `before[old:old_end]` by `after[new:new_end]`."""

    old: int
    old_end: int
    new: int
    new_end: int


def diff_text(before: bytes | None, after: bytes, path: str) -> str:
    """The change as a unified diff; `before` is None for a new file. Empty if nothing changes."""
    if before == after:
        return ""
    if max(len(before or b""), len(after)) > MOST_COMPARED_BYTES:
        return f"{path}: {len(before or b''):,} bytes become {len(after):,} bytes"
    old, new = _lines(before or b""), _lines(after)
    changes = list(_changes(old, new))
    lines = list(chain.from_iterable(_hunk(old, new, hunk) for hunk in _hunks(changes)))
    names = (NEW_FILE if before is None else path, path)
    kept = _that_fit(lines)
    if kept is None:
        return "\n".join([*header(*names), *lines])
    added, removed = sum(each.new_end - each.new for each in changes), sum(each.old_end - each.old for each in changes)
    left = len(lines) - len(kept)
    more = [f"… {left:,} more line{'s' if left > 1 else ''}"] if left else []
    return "\n".join([*header(*names, (added, removed)), *kept, *more])


def _lines(content: bytes) -> list[str]:
    """Lines with their ends: a missing or different end is a change, too."""
    lines = content.decode("utf-8", "replace").split("\n")
    last = lines.pop()
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[_Change]:
    """The replaced stretches, in order. Lines that occur once in both divide the work."""
    start, old_end, new_end = _common_ends(old, new)
    anchors = _unique_in_both(old, new, start, old_end, new_end)
    at_old = at_new = start
    for anchor_old, anchor_new in (*anchors, (old_end, new_end)):
        yield from _compared(old, new, _Change(at_old, anchor_old, at_new, anchor_new))
        at_old, at_new = anchor_old + 1, anchor_new + 1


def _common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int, int]:
    start, old_end, new_end = 0, len(old), len(new)
    while start < min(old_end, new_end) and old[start] == new[start]:
        start += 1
    while min(old_end, new_end) > start and old[old_end - 1] == new[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return start, old_end, new_end


def _unique_in_both(
    old: Sequence[str], new: Sequence[str], start: int, old_end: int, new_end: int
) -> list[tuple[int, int]]:
    """Positions of the lines that occur once in both texts and in the same order (patience diff)."""
    if max(old_end, new_end) - start <= MOST_COMPARED_LINES:
        return []  # small enough to compare exactly
    in_old, in_new = _positions(old, start, old_end), _positions(new, start, new_end)
    pairs = [(place, in_new[line]) for line, place in in_old.items() if place >= 0 and in_new.get(line, -1) >= 0]
    return _longest_rising(sorted(pairs))


def _positions(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    """Where each line is; −1 if it is there more than once."""
    found: dict[str, int] = {}
    for place in range(start, end):
        found[lines[place]] = -1 if lines[place] in found else place
    return found


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    ends: list[int] = []
    """The smallest last position of a rising sequence, by its length."""
    heads: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        ends[length : length + 1], heads[length : length + 1] = [place], [number]
        before.append(heads[length - 1] if length else -1)
    rising, at = [], heads[-1] if heads else -1
    while at >= 0:
        rising.append(pairs[at])
        at = before[at]
    return rising[::-1]


def _compared(old: Sequence[str], new: Sequence[str], part: _Change) -> Iterator[_Change]:
    if part.old == part.old_end and part.new == part.new_end:
        return
    if max(part.old_end - part.old, part.new_end - part.new) > MOST_COMPARED_LINES:
        yield part
        return
    matcher = difflib.SequenceMatcher(None, old[part.old : part.old_end], new[part.new : part.new_end])
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind != "equal":
            yield _Change(part.old + first, part.old + last, part.new + new_first, part.new + new_last)


def _hunks(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Changes whose surrounding lines touch belong together."""
    number = 0
    numbers = [0] * len(changes)
    for at in range(1, len(changes)):
        number += changes[at].old - changes[at - 1].old_end > 2 * CONTEXT_LINES
        numbers[at] = number
    for _, hunk in groupby(zip(numbers, changes, strict=True), key=lambda each: each[0]):
        yield [change for _, change in hunk]


def _hunk(old: Sequence[str], new: Sequence[str], changes: Sequence[_Change]) -> Iterator[str]:
    first, last = changes[0], changes[-1]
    above = min(CONTEXT_LINES, first.old)
    below = min(CONTEXT_LINES, len(old) - last.old_end)
    old_count = last.old_end - first.old + above + below
    new_count = last.new_end - first.new + above + below
    yield f"@@ -{_range(first.old - above, old_count)} +{_range(first.new - above, new_count)} @@"
    at = first.old - above
    for change in changes:
        yield from _signed(" ", old[at : change.old])
        yield from _signed("-", old[change.old : change.old_end])
        yield from _signed("+", new[change.new : change.new_end])
        at = change.old_end
    yield from _signed(" ", old[at : at + below])


def _range(start: int, count: int) -> str:
    return f"{start + 1 if count else start},{count}"


def _signed(sign: str, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        text = line.removesuffix("\n")
        cut = len(text) - MOST_LINE_CHARS
        yield f"{sign}{text[:MOST_LINE_CHARS]}" + (f" … {cut:,} more characters" if cut > 0 else "")
        if text == line:
            yield NO_NEWLINE


def _that_fit(lines: Sequence[str]) -> list[str] | None:
    """The first lines, as many as are kept; None if all are."""
    room = MOST_DIFF_CHARS
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return list(lines[:number])
    return None
