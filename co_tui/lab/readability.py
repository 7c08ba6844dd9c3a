"""How well the text that stands for the past can be read: the blocks of a request that nobody said in the conversation.

Lines are compared without marks and blanks; lines without a letter or digit do not count.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.lab.message_text import message_text, said_blocks

_MARK: Final = re.compile(r"^(?:[›>|]\s|[-*•]\s)+")
_GAP: Final = re.compile(r"[\s\[(<]*(?:…|\.{3})[\s\])>]*")
"""A line that marks a gap."""
_HEADER: Final = re.compile(
    r"(?=.{0,120}$)[\[#*<( ]*.*"
    r"\b(?:earlier|previous|prior|preceding|so far|continued from|compacted|condensed|summari[sz]ed)\b"
    r"(?=.*\b(?:conversation|messages?|history|session|context|summar\w*|story|turns|events)\b|.*(?<=summari[sz]ed))",
    re.IGNORECASE,
)
_LABELLED_NAMES: Final = re.compile(r"\b(?:also|named|also named)\b[^:]{0,20}:", re.IGNORECASE)
_LABEL: Final = re.compile(r"^\W*(?:\[[^\]]*\]|[\w ,'’-]{1,40}:)\s*")
FEWEST_NAMES: Final = 4
MOST_WORDS_OF_A_NAME: Final = 2
LONG_LINE_CHARS: Final = 160
"""Pieces of longer lines may stand on lines of their own."""


class Readability(NamedTuple):
    """Counts over the text that stands for the past in one request."""

    lines: int = 0
    """With a letter or digit; gaps not included."""
    pairs: int = 0
    """Original lines that follow one another; not those with the head of an entry or other new text between them."""
    joined: int = 0
    """Pairs that are neighbours in the conversation, too, or whose gap is marked."""
    lone_words: int = 0
    repeated: int = 0
    headers: int = 0
    characters: int = 0
    list_characters: int = 0

    def plus(self, other: "Readability") -> "Readability":
        return Readability(*map(sum, zip(self, other, strict=True)))


class Originals:
    """The lines of a growing conversation, and which of them are neighbours."""

    def __init__(self) -> None:
        self._said: set[int] = set()
        self._messages: dict[int, ModelMessage] = {}
        self._lines: set[str] = set()
        self._pairs: set[tuple[int, int]] = set()
        self._long: list[str] = []
        self._read: dict[str, tuple[Readability, tuple[str, ...]]] = {}

    def add(self, message: ModelMessage) -> None:
        """Add the next message of the conversation."""
        self._messages[id(message)] = message
        self._said.update(map(hash, said_blocks(message)))
        last = ""
        for line in message_text(message).splitlines():
            bare = _bare(line)
            if not _has_word(bare):
                continue
            self._lines.add(bare)
            self._pairs.add((hash(last), hash(bare)))
            if len(bare) > LONG_LINE_CHARS:
                self._long.append(bare)
            last = bare

    def replacements(self, request: Sequence[ModelMessage]) -> list[str]:
        """The blocks of a request that stand for the past: nobody said them in the conversation."""
        changed = (message for message in request if id(message) not in self._messages)
        return [block for message in changed for block in said_blocks(message) if hash(block) not in self._said]

    def readability(self, request: Sequence[ModelMessage]) -> Readability:
        total, seen = Readability(), set[str]()
        for block in self.replacements(request):
            found, lines = self._read.get(block) or self._read_block(block)
            total = total.plus(found)
            repeated = 0
            for line in lines:
                repeated += line in seen
                seen.add(line)
            total = total._replace(repeated=total.repeated + repeated)
        return total

    def _read_block(self, block: str) -> tuple[Readability, tuple[str, ...]]:
        result = self._read[block] = _Reader(self).read(block)
        return result

    def is_said(self, bare: str) -> bool:
        """Whether this line, or one that contains it, is in the conversation."""
        return bare in self._lines or (len(bare) > 40 and any(bare in line for line in self._long))

    def are_neighbours(self, first: str, second: str) -> bool:
        if (hash(first), hash(second)) in self._pairs:
            return True
        pieces = f"{first} {second}", f"{first}{second}"
        return max(len(first), len(second)) > 40 and any(piece in line for line in self._long for piece in pieces)


class _Reader:
    """Reads one block line by line."""

    def __init__(self, originals: Originals) -> None:
        self._originals = originals

    def read(self, block: str) -> tuple[Readability, tuple[str, ...]]:
        kept: list[str] = []
        lone: list[bool] = []
        pairs = joined = headers = lists = 0
        gap, last, last_own = False, "", True
        for line in block.splitlines():
            bare = _bare(line)
            if _GAP.fullmatch(line):
                gap = True
                continue
            if not _has_word(bare):
                continue
            own = not self._originals.is_said(bare)
            headers += bool(own and _is_header(line))
            lists += len(line) if own and _is_list(line) else 0
            near = bool(last) and self._originals.are_neighbours(last, bare)
            if last and not own and not last_own:
                pairs += 1
                joined += gap or near
            if near and lone:
                lone[-1] = False
            kept.append(bare)
            lone.append(len(bare.split()) == 1 and not near)
            gap, last, last_own = False, bare, own
        counts = Readability(len(kept), pairs, joined, sum(lone), 0, headers, len(block), lists)
        return counts, tuple(kept)


def _bare(line: str) -> str:
    return _MARK.sub("", " ".join(line.split()))


def _has_word(line: str) -> bool:
    return any(character.isalnum() for character in line)


def _is_header(line: str) -> bool:
    return line[:1] in "[#*<(" and bool(_HEADER.match(line))


def _is_list(line: str) -> bool:
    if _LABELLED_NAMES.search(line):
        return True
    items = [item.split() for item in _LABEL.sub("", line).strip(" ()[].").split(", ")]
    return len(items) >= FEWEST_NAMES and all(len(item) <= MOST_WORDS_OF_A_NAME for item in items)
