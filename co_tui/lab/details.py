"""Find details in messages with the words around them, to check whether a request has what the next messages need.

The patterns differ from those used to choose summary lines, so that the figures do not flatter the engine.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.lab.message_text import message_text

WORDS_BEFORE = WORDS_AFTER = 3
"""A detail is in context if this many of its original neighbours, or its whole line, are present."""
MOST_LINES = 40
"""Mentions kept per detail."""
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
_MARK = re.compile(r"^\s*(?:[-*>•]\s+)?")


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


class Details:
    """The details of a growing conversation."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ModelMessage, dict[str, frozenset[Mention]]]] = {}
        self._arounds: dict[str, set[int]] = {}
        self._lines: dict[str, set[int]] = {}

    def add(self, message: ModelMessage) -> None:
        """Add the next message: its details can be needed from now on."""
        for detail, mentions in self._of(message).items():
            self._arounds.setdefault(detail, set()).update(mention.around for mention in mentions)
            self._lines.setdefault(detail, set()).update(mention.line for mention in mentions)

    def needed_by(self, upcoming: Iterable[ModelMessage]) -> frozenset[str]:
        """The details of the conversation that these messages use."""
        used = (detail for message in upcoming if isinstance(message, ModelResponse) for detail in self._of(message))
        return frozenset(detail for detail in used if detail in self._arounds)

    def kept(self, needed: frozenset[str], request: Sequence[ModelMessage]) -> Kept:
        """Count the needed details in a request."""
        missing, out_of_context = set(needed), set(needed)
        for message in reversed(request):  # needed details are mostly recent
            if not out_of_context:
                break
            held = self._of(message)
            for detail in [detail for detail in out_of_context if detail in held]:
                missing.discard(detail)
                if any(self._is_original(detail, mention) for mention in held[detail]):
                    out_of_context.discard(detail)
        return Kept(len(needed), len(needed) - len(missing), len(needed) - len(out_of_context))

    def _is_original(self, detail: str, mention: Mention) -> bool:
        return mention.around in self._arounds[detail] or mention.line in self._lines[detail]

    def _of(self, message: ModelMessage) -> dict[str, frozenset[Mention]]:
        found = self._known.get(id(message))
        if found is None or found[0] is not message:
            found = (message, _mentions(message_text(message)))
            self._known[id(message)] = found
        return found[1]


def _mentions(text: str) -> dict[str, frozenset[Mention]]:
    found: dict[str, set[Mention]] = {}
    lines = [_MARK.sub("", line).rstrip() for line in text.splitlines()]
    words = [(word, number) for number, line in enumerate(lines) for word in line.split()]
    plain = [word for word, _ in words]
    for detail, index in _positioned(lines):
        mentions = found.setdefault(detail, set())
        if len(mentions) < MOST_LINES:
            around = tuple(plain[max(0, index - WORDS_BEFORE) : index + WORDS_AFTER + 1])
            mentions.add(Mention(hash(around), hash(lines[words[index][1]])))
    return {detail: frozenset(mentions) for detail, mentions in found.items()}


def _positioned(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Each detail with the index of the word it is in."""
    before = 0
    for line in lines:
        for match in _DETAIL.finditer(line):
            if match[1]:
                # The last word that starts at or before the match contains it.
                yield match[1], before + max(1, len(line[: match.start(1) + 1].split())) - 1
        before += len(line.split())
