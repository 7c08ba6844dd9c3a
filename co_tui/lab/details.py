"""Which details a message holds, and in what words around them: whether a request still has what comes next needs.

The patterns are the lab's own. What summaries are chosen by knows other ones, so that the figures cannot flatter it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)

from co_tui.context.memory.transcript_lines import arguments_text
from co_tui.events.content import content_text, prompt_text

WORDS_BEFORE = WORDS_AFTER = 3
"""A detail has its context when so many of the original words stand around it, or its whole line does."""
MOST_LINES = 40
"""Of one detail: in so many different lines it is looked for."""
_DETAIL = re.compile(
    r"(?:[a-z]++(?![\w.~/-])|[^\w.~-]++)++"  # no detail: passed over in one go
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
    """Where a message names a detail: the words around it, and its line."""

    around: int
    line: int


class Kept(NamedTuple):
    """How many of the needed details a request holds."""

    needed: int = 0
    kept: int = 0
    in_context: int = 0
    """With the words that stood around them, or on their whole line."""


class Details:
    """The details of one conversation as it goes on."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ModelMessage, dict[str, frozenset[Mention]]]] = {}
        self._arounds: dict[str, set[int]] = {}
        self._lines: dict[str, set[int]] = {}

    def said(self, message: ModelMessage) -> None:
        """The conversation went on: what this message holds can be needed from now on."""
        for detail, mentions in self._of(message).items():
            self._arounds.setdefault(detail, set()).update(mention.around for mention in mentions)
            self._lines.setdefault(detail, set()).update(mention.line for mention in mentions)

    def needed_by(self, upcoming: Iterable[ModelMessage]) -> frozenset[str]:
        """What of all that was said these messages use."""
        used = (detail for message in upcoming if isinstance(message, ModelResponse) for detail in self._of(message))
        return frozenset(detail for detail in used if detail in self._arounds)

    def kept(self, needed: frozenset[str], request: Sequence[ModelMessage]) -> Kept:
        """How many of the needed details some message of the request holds."""
        missing, out_of_context = set(needed), set(needed)
        for message in reversed(request):  # what is needed was mostly said just before
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
            found = (message, _mentions(_text(message)))
            self._known[id(message)] = found
        return found[1]


def _mentions(text: str) -> dict[str, frozenset[Mention]]:
    found: dict[str, set[Mention]] = {}
    lines = [_MARK.sub("", line).rstrip() for line in text.splitlines()]
    words = [(word, number) for number, line in enumerate(lines) for word in line.split()]
    plain = [word for word, _ in words]
    for detail, place in _placed(lines):
        mentions = found.setdefault(detail, set())
        if len(mentions) < MOST_LINES:
            around = tuple(plain[max(0, place - WORDS_BEFORE) : place + WORDS_AFTER + 1])
            mentions.add(Mention(hash(around), hash(lines[words[place][1]])))
    return {detail: frozenset(mentions) for detail, mentions in found.items()}


def _placed(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Each detail, and which word of the text it stands in."""
    before = 0
    for line in lines:
        for match in _DETAIL.finditer(line):
            if match[1]:
                # The words that begin up to where it begins: the last of them holds it.
                yield match[1], before + max(1, len(line[: match.start(1) + 1].split())) - 1
        before += len(line.split())


def _text(message: ModelMessage) -> str:
    return "\n".join(filter(None, map(_part_text, message.parts)))


def _part_text(part: Any) -> str:
    match part:
        case SystemPromptPart() | TextPart():
            return part.content
        case ToolCallPart():
            return arguments_text(part)
        case UserPromptPart():
            return prompt_text(part.content)
    return content_text(getattr(part, "content", ""))
