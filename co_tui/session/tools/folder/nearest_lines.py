"""Where in a file a text that was not found may have been meant."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

LARGEST_CHARS: Final = 5_000_000
MOST_LINES: Final = 12
LINE_CHARS: Final = 200
_LINES_BEFORE: Final = 2
"""Shown before the first line that differs."""
_COMPARED_LINES: Final = 200
"""Of the text that was not found."""
_COMPARED_CHARS: Final = 300
"""Of a line."""
_CANDIDATES: Final = 20
_LEAST_SIMILAR: Final = 0.5
_WORD: Final = re.compile(r"\w+")


class _Line(NamedTuple):
    row: int
    text: str
    """With single spaces."""


def nearest_lines(text: str, wanted: str) -> str:
    """A sentence about the lines nearest to a text that is not in another, then these lines; empty if none is near."""
    if len(text) > LARGEST_CHARS:
        return ""
    lines, asked = text.split("\n"), wanted.split("\n")
    known, sought = _filled(lines), _filled(asked)[:_COMPARED_LINES]
    if not known or not sought:
        return ""
    if (same := _same_but_for_space(known, sought)) is not None:
        first, last = same
        named = f"Line {first + 1} differs" if first == last else f"Lines {first + 1} to {last + 1} differ"
        return f"{named} from it only in white space:\n{_numbered(lines, first, last)}"
    if (start := _start(known, sought)) is None:
        return ""
    first, last = max(0, start), min(len(lines), start + len(asked)) - 1
    named = f"line is {first + 1}" if first == last else f"lines are {first + 1} to {last + 1}"
    return f"The nearest {named}:\n{_numbered(lines, _first_shown(lines, asked, start, last), last)}"


def _filled(lines: Sequence[str]) -> list[_Line]:
    """The lines that are not empty."""
    return [_Line(index, " ".join(line.split())) for index, line in enumerate(lines) if line and not line.isspace()]


def _same_but_for_space(known: Sequence[_Line], sought: Sequence[_Line]) -> tuple[int, int] | None:
    """The first and the last line that would contain the text, were its white space the same."""
    first, *rest = (each.text for each in sought)
    for at, line in enumerate(known):
        if not (line.text.endswith(first) if rest else first in line.text):
            continue
        following = [each.text for each in known[at + 1 : at + len(sought)]]
        if following[:-1] == rest[:-1] and (not rest or (following and following[-1].startswith(rest[-1]))):
            return line.row, known[at + len(sought) - 1].row
    return None


def _start(known: Sequence[_Line], sought: Sequence[_Line]) -> int | None:
    """The line at which the text may begin: where most of its lines are, else where its longest line is like one."""
    where: dict[str, list[int]] = {}
    for line in known:
        where.setdefault(line.text, []).append(line.row)
    votes: Counter[int] = Counter()
    for each in sought:
        found = where.get(each.text, ())
        if _WORD.search(each.text) and len(found) <= _CANDIDATES:  # others say nothing about the place
            votes.update(index - each.row for index in found)
    if votes:
        return votes.most_common(1)[0][0]
    longest = max(sought, key=lambda each: len(each.text))
    like = _most_similar(known, longest.text)
    return None if like is None else like - longest.row


def _most_similar(known: Sequence[_Line], text: str) -> int | None:
    """The index of the line most like a text. Few are compared letter by letter, which is slow."""
    text = text[:_COMPARED_CHARS]
    words = set(_WORD.findall(text))
    different = list({each.text: each for each in reversed(known)}.values())
    common = {each: len(words.intersection(_WORD.findall(each.text[:_COMPARED_CHARS]))) for each in different}
    candidates = sorted(different, key=lambda each: (-common[each], abs(len(each.text) - len(text))))[:_CANDIDATES]
    matcher = difflib.SequenceMatcher(b=text, autojunk=False)
    best, most = None, _LEAST_SIMILAR
    for each in candidates:
        matcher.set_seq1(each.text[:_COMPARED_CHARS])
        if (similar := matcher.ratio()) > most:
            best, most = each.row, similar
    return best


def _first_shown(lines: Sequence[str], asked: Sequence[str], start: int, last: int) -> int:
    """The first line to show, a little before the first that differs; all of them if they are few."""
    if last - max(0, start) < MOST_LINES:
        return max(0, start)
    first = next((n for n, line in enumerate(asked) if start + n < 0 or lines[start + n : start + n + 1] != [line]), 0)
    return max(0, start + first - _LINES_BEFORE)


def _numbered(lines: Sequence[str], first: int, last: int) -> str:
    shown = lines[first : min(last + 1, first + MOST_LINES)]
    cut = [line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]}…" for line in shown]
    return "\n".join(f"{number}: {line}" for number, line in enumerate(cut, first + 1))
