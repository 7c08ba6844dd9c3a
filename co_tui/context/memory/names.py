"""Find exact names in text: paths, identifiers, numbers, proper names. A model must search for those it loses."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from itertools import accumulate
from typing import Final

MOST_CHARS: Final = 160
"""A longer run of characters is data, not a name."""
MOST_RUN_CHARS: Final = 400
LEAST_PART_CHARS: Final = 3

_RUN: Final = re.compile(
    # Plain words, small numbers and punctuation are skipped on the way to the next run that may be a name.
    r"(?:(?:[a-z]++|[0-9]{1,2}+(?!\w)|[./~:@#%+-])[./~:@#%+-]*+(?![\w./~:@#%+-])|[^\w./~:@#%+-]++)*+"
    r"([\w./~:@#%+-]++)?"
)
_PUNCTUATION: Final = "./~:@#%+-"
_NO_BEGINNING: Final = ":%+-"
_HUMP: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_PIECES: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_JOINT: Final = re.compile(r"[.:@%+#-]+")
_WINDOWS_PATH: Final = re.compile(r"(?<!\w)[A-Za-z]:\\(?:[^\s\\\"']+\\)*\Z")
_ESCAPE: Final = re.compile(r"[ntr]|u[0-9a-fA-F]{4}")
_SENTENCE_END: Final = ".!?:\n"


class Kind(Enum):
    """How a name is written."""

    SNAKE = "snake_case"
    DOTTED = "dotted"
    PATH = "path"
    NUMBER = "number"
    OTHER = "other"


def names_in(text: str) -> dict[str, Kind]:
    """The names of a text, in order."""
    found: dict[str, Kind] = {}
    for name, kind, inner, _ in _runs(text):
        if name not in found:
            found[name] = kind
            for piece, piece_kind in inner:
                found.setdefault(piece, piece_kind)
    return found


def names_by_line(lines: Sequence[str]) -> dict[str, tuple[Kind, int]]:
    """Each name in these lines, with its kind and the number of the first line that has it."""
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    found: dict[str, tuple[Kind, int]] = {}
    read: set[str] = set()
    for name, kind, inner, start in _runs("\n".join(lines)):  # no name holds a line break
        if name in read:
            continue
        read.add(name)
        line = bisect_right(starts, start) - 1
        found.setdefault(name, (kind, line))
        for piece, piece_kind in inner:
            found.setdefault(piece, (piece_kind, line))
    return found


_Inner = Sequence[tuple[str, Kind]]
"""The names inside a longer one."""


def _runs(text: str) -> Iterator[tuple[str, Kind, _Inner, int]]:
    """The names of a text, each with those inside it and where it starts."""
    for match in _RUN.finditer(text):
        characters, start = match[1], match.start(1)
        if characters is None or len(characters) > MOST_RUN_CHARS:
            continue
        if start and text[start - 1] == "\\":
            characters = characters[_escaped(text, start) :]
        name, kind, inner = _read_run(characters)
        if kind is not None:
            yield name, kind, inner, start
        elif name and _is_within_sentence(text, start):
            yield name, Kind.OTHER, inner, start


def _escaped(text: str, start: int) -> int:
    """How many characters after a backslash are an escaped break or character, not the beginning of a folder or a
    namespace."""
    found = _ESCAPE.match(text, start)
    if found is None or _WINDOWS_PATH.search(text, max(0, start - MOST_CHARS), start) is not None:
        return 0
    return len(found[0])


@lru_cache(maxsize=4_096)
def _read_run(characters: str) -> tuple[str, Kind | None, _Inner]:
    """The name in a run of characters, empty if there is none; without a kind, it is one only within a sentence.

    Cached: a conversation uses the same names again and again.
    """
    name = characters.rstrip(_PUNCTUATION).lstrip(_NO_BEGINNING)
    if not name or len(name) > MOST_CHARS:
        return "", None, ()
    kind = kind_of(name)
    if kind is None and not (name[0].isupper() and len(name) > 2):
        return "", None, ()
    return name, kind, _inner(name, kind or Kind.OTHER)


def kind_of(run: str) -> Kind | None:
    """The kind of name a run of characters is; None for a plain word."""
    if run.isalpha():
        return Kind.OTHER if not run.islower() and _HUMP.search(run) else None
    if "/" in run:
        return Kind.PATH if any(character.isalpha() for character in run) and len(run) > 2 else None
    if "_" in run:
        return Kind.SNAKE if any(character.isalpha() for character in run) else None
    digits = sum(map(str.isdigit, run))
    if digits and digits + run.count(".") + run.count("-") + run.count(":") == len(run):
        return Kind.NUMBER if digits >= 3 else None
    if "." in run.strip("."):
        return Kind.DOTTED
    if digits and len(run) >= 4:
        return Kind.OTHER
    if run[0] in "#@" and len(run) > 2:
        return Kind.OTHER
    return Kind.OTHER if _HUMP.search(run) else None


def _inner(run: str, kind: Kind) -> list[tuple[str, Kind]]:
    """Names inside a longer one that also occur alone: the file of a path, the parts of a dotted name."""
    if kind is Kind.PATH:
        pieces = [run.rsplit("/", 1)[-1], run.partition("://")[2]]
    elif kind is Kind.NUMBER or not _JOINT.search(run):
        return []
    else:
        pieces = [piece for piece in _JOINT.split(run) if piece != run]
    inner = ((piece, kind_of(piece)) for piece in pieces if len(piece) > 2)
    return [(piece, found) for piece, found in inner if found is not None]


def parts_of(name: str) -> frozenset[str]:
    """The words in a name, in lower case."""
    pieces = (piece.lower() for piece in _PIECES.findall(name))
    return frozenset(piece for piece in pieces if len(piece) >= LEAST_PART_CHARS)


def _is_within_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 2) : start]
    return len(before) == 2 and before[1] == " " and before[0] not in _SENTENCE_END and not before[0].isspace()
