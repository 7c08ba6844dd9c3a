"""How readable the text is that replaces earlier messages: the blocks of a request which the conversation lacks.

Lines are compared without marks and blanks; lines without a letter or digit do not count.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.lab.message_text import message_text, said_blocks

_QUOTES, _BULLETS, _EDITS = "›>|→", "-*•", "-+"
_QUOTE: Final = re.compile(rf"^(?:[{_QUOTES}]\s)+")
_BULLET: Final = re.compile(rf"^(?:[{_BULLETS}]\s)+")
_WORD: Final = re.compile(r"[^\W_]")
_GAP: Final = re.compile(r"[\s\[(<]*(?:…|\.{3})[\s\])>]*")
"""A line that marks a gap."""
_HEADER: Final = re.compile(
    r"(?=.*(?:summar|compact|condens|snapshot|continued from))"
    r".*\b(?:conversation|history|session|context|messages?|events|earlier|previous|summary|state)(?:\b|_)",
    re.IGNORECASE,
)
"""What the header of a summary says, on a line with a mark or as the first line of its block."""
_LABELLED_NAMES: Final = re.compile(r"\b(?:also|named|also named)\b[^:]{0,20}:", re.IGNORECASE)
_LABEL: Final = re.compile(r"^\W*(?:\[[^\]]*\]|[\w ,'’-]{1,40}:)\s*")
FEWEST_NAMES: Final = 4
MOST_WORDS_OF_A_NAME: Final = 2
_CALL: Final = re.compile(r"- (?:\$ |[\w.:-]+\()")
"""How an entry about a command or a tool begins."""
CAME: Final = "→"
"""Before what came of a call."""
LONG_LINE_CHARS: Final = 160
"""Pieces of longer lines may stand on lines of their own."""


class Readability(NamedTuple):
    """Counts over the text that replaces earlier messages in one request."""

    lines: int = 0
    """With a letter or digit; gaps not included."""
    pairs: int = 0
    """Original lines that follow one another; not those with the head of an entry or other new text between them."""
    joined: int = 0
    """Pairs that are neighbours in the conversation, too, or whose gap is marked."""
    lone_words: int = 0
    """Lines of one word or number without a neighbour from the conversation."""
    repeated: int = 0
    """Original lines that stand in the request's replacements before."""
    headers: int = 0
    """Lines that say that a summary follows."""
    characters: int = 0
    list_characters: int = 0
    heads: int = 0
    """Lines with a bullet that begin an entry about a call."""
    bare_heads: int = 0
    """Those without anything that came of it, on the line or under it."""
    passages: int = 0
    """Runs of original lines under such a line."""
    short_passages: int = 0
    """Those of one line."""

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
        self._last: tuple[list[ModelMessage], Readability] = [], Readability()

    def add(self, message: ModelMessage) -> None:
        """Add the next message of the conversation."""
        self._messages[id(message)] = message
        self._said.update(map(hash, said_blocks(message)))
        last = ""
        for line in message_text(message).splitlines():
            unquoted = _unquoted(line)
            bare = _without_bullet(unquoted)
            if not _has_word(bare):
                continue
            self._lines.update((unquoted, bare))
            self._pairs.add((hash(last), hash(bare)))
            if len(bare) > LONG_LINE_CHARS:
                self._long.append(bare)
            last = bare

    def replacements(self, request: Sequence[ModelMessage]) -> list[str]:
        """The blocks of a request that replace earlier messages: the conversation lacks them."""
        changed = self._changed(request)
        return [block for message in changed for block in said_blocks(message) if hash(block) not in self._said]

    def _changed(self, request: Sequence[ModelMessage]) -> list[ModelMessage]:
        return [message for message in request if id(message) not in self._messages]

    def readability(self, request: Sequence[ModelMessage]) -> Readability:
        """The counts over all blocks of a request that replace earlier messages."""
        changed = self._changed(request)
        last, found = self._last
        if len(changed) != len(last) or any(one is not two for one, two in zip(changed, last, strict=True)):
            found = self._read_all(self.replacements(changed))
            self._last = changed, found
        return found

    def _read_all(self, blocks: Sequence[str]) -> Readability:
        total, seen = Readability(), set[str]()
        for block in blocks:
            found, lines = self._read.get(block) or self._read_block(block)
            total = total.plus(found)
            repeated = 0
            for line in lines:
                repeated += line in seen
                seen.add(line)
            total = total._replace(repeated=total.repeated + repeated)
        return total

    def _read_block(self, block: str) -> tuple[Readability, tuple[str, ...]]:
        result = self._read[block] = _read(block, self)
        return result

    def is_said(self, bare: str) -> bool:
        """Whether this line, or one that contains it, is in the conversation."""
        return bare in self._lines or (len(bare) > 40 and any(bare in line for line in self._long))

    def are_neighbours(self, first: str, second: str) -> bool:
        if (hash(first), hash(second)) in self._pairs:
            return True
        pieces = f"{first} {second}", f"{first}{second}"
        return max(len(first), len(second)) > 40 and any(piece in line for line in self._long for piece in pieces)


class _Line(NamedTuple):
    """One line of a block."""

    shown: str
    bare: str
    is_said: bool
    """Whether it is an original line."""
    begins: bool
    """Whether it begins an entry: new text, or an original line with a bullet that it did not have."""
    after_gap: bool
    is_near: bool
    """Whether it follows the line before it in the conversation, too."""

    @property
    def says_what_came(self) -> bool:
        return self.shown.lstrip().startswith(CAME)


def _lines_of(block: str, originals: Originals) -> Iterator[_Line]:
    last, after_gap = "", False
    for line in block.splitlines():
        bare = _without_bullet(_unquoted(line))
        if _GAP.fullmatch(line):
            after_gap = True
        elif _has_word(bare):
            is_said = originals.is_said(bare)
            if not is_said and bare[:1] in _EDITS and originals.is_said(edited := bare[1:].strip()):
                bare, is_said = edited, True
            begins = not is_said or (line[:1] in _BULLETS and not originals.is_said(_unquoted(line)))
            is_near = bool(last) and originals.are_neighbours(last, bare)
            yield _Line(line, bare, is_said, begins, after_gap, is_near)
            last, after_gap = bare, False


def _read(block: str, originals: Originals) -> tuple[Readability, tuple[str, ...]]:
    """The counts of a block but for repeated lines, and its original lines."""
    lines = list(_lines_of(block, originals))
    new = [line for line in lines if not line.is_said]
    pairs = [(one, two) for one, two in pairwise(lines) if one.is_said and not two.begins]
    alone = [
        one for one, two in zip(lines, [*lines[1:], None], strict=True) if not (one.is_near or (two and two.is_near))
    ]
    counts = Readability(
        lines=len(lines),
        pairs=len(pairs),
        joined=sum(two.after_gap or two.is_near for _, two in pairs),
        lone_words=sum(len(line.bare.split()) == 1 for line in alone),
        headers=sum(_is_header(line.shown, is_first=line is lines[0]) for line in new),
        characters=len(block),
        list_characters=sum(len(line.shown) for line in new if _is_list(line.shown)),
        **_of_entries(lines),
    )
    return counts, tuple(line.bare for line in lines if line.is_said)


def _of_entries(lines: Sequence[_Line]) -> dict[str, int]:
    """How many entries and passages there are, and how many of them say little."""
    heads = bare_heads = 0
    passages: list[int] = []
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        is_head = line.begins and _CALL.match(line.shown) is not None
        heads += is_head
        has_result = after is not None and (not after.begins or after.says_what_came)
        bare_heads += is_head and CAME not in line.shown and not has_result
        if line.is_said and not line.begins and not line.says_what_came:
            if passages and line.is_near and not line.after_gap:
                passages[-1] += 1
            else:
                passages.append(1)
    return {"heads": heads, "bare_heads": bare_heads, "passages": len(passages), "short_passages": passages.count(1)}


def _unquoted(line: str) -> str:
    plain = " ".join(line.split())
    return _QUOTE.sub("", plain) if plain[:1] in _QUOTES else plain


def _without_bullet(plain: str) -> str:
    return _BULLET.sub("", plain) if plain[:1] in _BULLETS else plain


def _has_word(line: str) -> bool:
    return _WORD.search(line) is not None


def _is_header(line: str, *, is_first: bool) -> bool:
    return (is_first or line[:1] in "[#*<(") and bool(_HEADER.match(line[:300]))


def _is_list(line: str) -> bool:
    if _LABELLED_NAMES.search(line):
        return True
    items = [item.split() for item in _LABEL.sub("", line).strip(" ()[].").split(", ")]
    return len(items) >= FEWEST_NAMES and all(len(item) <= MOST_WORDS_OF_A_NAME for item in items)
