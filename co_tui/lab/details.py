"""Find details in messages with the words around them, to check whether a request has what the next messages need.

The patterns differ from those used to choose summary lines, so that the figures do not flatter the engine.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.lab.message_text import message_text

WORDS_BEFORE = WORDS_AFTER = 3
"""A detail is in context if this many of its original neighbours, or its whole line, are present."""
MOST_MENTIONS = 40
"""Mentions of a detail that are compared, in one message."""
_DETAIL = re.compile(
    r"(?:[a-z]++(?![\w.~/-])|[^\w.~-]++)++"  # not a detail: skipped in one step
    r"|((?<![\w.~-])(?:[\w.~-]++/)+[\w.-]+"  # paths
    r"|\b(?:\w++\.[a-z]{1,4}\b"  # files and dotted names
    r"|[a-zA-Z]++(?:_[a-zA-Z0-9]++)++\b"  # snake_case
    r"|[a-z]++[A-Z]\w+|[A-Z][a-z]++[A-Z]\w+"  # camelCase
    r"|(?=[^\W\d]*+\d)(?=[^\Wa-zA-Z]*+[a-zA-Z])\w{4,}+"  # codes
    r"|\d{3,}+\b"  # numbers
    r"|(?<=[a-z,] )[A-Z][a-z]{2,}+\b))"  # names within a sentence
)
_MARK = re.compile(r"^\s*(?:[-*>•›→$]\s+)*(?:[-+]\s*)?")
"""Marks of a quotation, and of a line removed or added."""
_BREAK = re.compile(r"\\[ntr](?=[A-Z])")
"""An escaped break in a text of code: its letter belongs to no name."""


AGES: Final = (5, 10, 20, 50, 100, 200)
"""Upper ends of the groups of details by how many messages ago they were last said; older ones are a group, too."""
_NONE: Final = (0,) * (len(AGES) + 1)


class Mention(NamedTuple):
    """Hashes of the words around a detail and of its line."""

    around: int
    line: int


class Kept(NamedTuple):
    """How many of the needed details a request contains."""

    needed: int = 0
    kept: int = 0
    in_context: int = 0
    """With their original neighbours, or on their whole line."""
    needed_by_age: tuple[int, ...] = _NONE
    kept_by_age: tuple[int, ...] = _NONE


class Details:
    """The details of a growing conversation."""

    def __init__(self) -> None:
        self._texts: dict[int, _Text] = {}
        self._said_in: dict[str, list[_Text]] = {}
        self._last_said: dict[str, int] = {}
        self._originals: dict[int, _Text] = {}
        self._lines: set[int] = set()

    def add(self, message: ModelMessage) -> None:
        """Add the next message: its details can be needed from now on."""
        text = self._originals[id(message)] = self._of(message)
        self._lines.update(map(hash, text.lines))
        position = len(self._originals)
        for detail in text.details:
            self._said_in.setdefault(detail, []).append(text)
            self._last_said[detail] = position

    def needed_by(self, upcoming: Iterable[ModelMessage]) -> frozenset[str]:
        """The details of the conversation that these messages use."""
        used = (self._of(message).details for message in upcoming if isinstance(message, ModelResponse))
        return frozenset().union(*used) & self._said_in.keys()

    def kept(self, needed: frozenset[str], request: Sequence[ModelMessage]) -> Kept:
        """Count the needed details in a request."""
        missing, out_of_context = set(needed), set(needed)
        for message in reversed(request):  # needed details are mostly recent
            if not out_of_context:
                break
            text = self._of(message)
            held = out_of_context & text.details
            missing -= held
            if id(message) in self._originals:
                out_of_context -= held
            else:
                out_of_context -= {detail for detail in held if self._is_in_context(detail, text)}
        return Kept(
            len(needed),
            len(needed) - len(missing),
            len(needed) - len(out_of_context),
            self._by_age(needed),
            self._by_age(needed - missing),
        )

    def _is_in_context(self, detail: str, text: "_Text") -> bool:
        mentions = text.mentions(detail)
        if any(mention.line in self._lines for mention in mentions):
            return True
        arounds = {mention.around for mention in mentions}
        originals = (mention for original in self._said_in[detail] for mention in original.mentions(detail))
        return any(mention.around in arounds for mention in originals)

    def _by_age(self, details: Iterable[str]) -> tuple[int, ...]:
        now, counts = len(self._originals), list(_NONE)
        for detail in details:
            counts[bisect_left(AGES, now - self._last_said[detail] + 1)] += 1
        return tuple(counts)

    def _of(self, message: ModelMessage) -> "_Text":
        found = self._texts.get(id(message))
        if found is None or found.message is not message:
            found = self._texts[id(message)] = _Text(message)
        return found


class _Text:
    """The details of one message; where they stand in it is found when it is asked for."""

    def __init__(self, message: ModelMessage) -> None:
        self.message = message
        self.lines = [_MARK.sub("", line).rstrip() for line in _BREAK.sub(" ", message_text(message)).splitlines()]
        self._text = "\n".join(self.lines)
        self.details = frozenset(filter(None, _DETAIL.findall(self._text)))
        self._words: list[str] = []
        self._first_words: list[int] = []
        self._mentions: dict[str, frozenset[Mention]] = {}

    def mentions(self, detail: str) -> frozenset[Mention]:
        found = self._mentions.get(detail)
        if found is None:
            found = self._mentions[detail] = frozenset(islice(self._find(detail), MOST_MENTIONS))
        return found

    def _find(self, detail: str) -> Iterator[Mention]:
        if not self._first_words:
            for line in self.lines:
                self._first_words.append(len(self._words))
                self._words += line.split()
        for number in self._lines_with(detail):
            line = self.lines[number]
            for match in _DETAIL.finditer(line):
                if match[1] == detail:
                    # The last word that starts at or before the match contains it.
                    index = self._first_words[number] + max(1, len(line[: match.start(1) + 1].split())) - 1
                    around = tuple(self._words[max(0, index - WORDS_BEFORE) : index + WORDS_AFTER + 1])
                    yield Mention(hash(around), hash(line))

    def _lines_with(self, part: str) -> Iterator[int]:
        """The numbers of the lines that contain a text."""
        number = end = 0
        while (found := self._text.find(part, end)) >= 0:
            number += self._text.count("\n", end, found)
            yield number
            end = self._text.find("\n", found)
            if end < 0:
                return
