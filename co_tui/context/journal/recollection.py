"""Recollection (G10): find lines that left the context and are relevant to the newest step."""

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from co_tui.context.indexed_history import EARLIER, is_replacement
from co_tui.context.journal.calls import Role
from co_tui.context.journal.choose_lines import Chooser
from co_tui.context.journal.entries import Entry
from co_tui.context.journal.shown_lines import FIRST, OF_A_MAP, ShownLine, bare_line, bare_lines, runs_of
from co_tui.context.journal.sources import Sources, remembered, with_neighbours
from co_tui.context.memory.ledger import Ledger
from co_tui.context.memory.names import names_in, parts_of
from co_tui.events.content import prompt_text
from co_tui.events.stored_messages import REPLACES, SUMMARY

COMMON: Final = 100
"""A word in more names than this is ignored."""
MOST_NAMES: Final = 150
NAMES_A_MESSAGE: Final = 200
MOST_ENTRIES: Final = 3
"""Whole passages of a few steps say more than single lines of many."""
LEAST_LINES: Final = 3
"""Fewer lines of a step say too little, if none is a sentence or has a name of the newest step."""
SENTENCE_ENDS: Final = (".", "!", "?", "。")
LINES_AROUND: Final = 4
"""Of a passage, to each side of the line that bears most on the newest step."""
RECOLLECTED_FROM_EARLIER: Final = "[Recollected: said earlier in this conversation, word for word, and relevant now]"


def newest_messages(live: Sequence[ModelMessage]) -> int:
    """The number of messages in the newest step: the last reply and what follows."""
    for back, message in enumerate(reversed(live), 1):
        if isinstance(message, ModelResponse):
            return back
    return len(live)


class Recollected(NamedTuple):
    """What comes back, as entries of a journal."""

    entries: tuple[Entry, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(entry.text for entry in self.entries)

    @property
    def lines(self) -> int:
        return sum(len(entry.lines) for entry in self.entries)

    @property
    def messages(self) -> set[int]:
        """The numbers of the messages they come from."""
        return {line.position.message for entry in self.entries for line in entry.lines}


def recollect(sources: Sources, live: Sequence[ModelMessage], budget_tokens: float) -> Recollected:
    """Lines of messages that left, whose names share words with the newest step."""
    with sources.ledger.lock:
        return _recollected(sources, live, budget_tokens)


def _recollected(sources: Sources, live: Sequence[ModelMessage], budget_tokens: float) -> Recollected:
    named = _named(sources, newest_messages(live))
    weights = _relevant(sources.ledger, named)
    there = sources.names_there()
    shown = sources.lines_there()
    for text in replacement_texts(live):
        there.update(dict.fromkeys(names_in(text), 1))
        shown |= bare_lines(text)
    chooser = Chooser(weights, budget_tokens, there, shown)
    found = (each for each in remembered(sources, weights) if each.role not in (Role.OUTDATED, Role.UNDONE))
    around = with_neighbours(sources, list(found), LINES_AROUND)
    candidates = [replace(each, lines=[line for line in each.lines if _is_new(line, shown)]) for each in around]
    best = heapq.nlargest(MOST_ENTRIES, candidates, key=chooser.best_worth)
    for left, each in zip(range(len(best), 0, -1), best, strict=True):
        if each.lines and chooser.open(each):
            chooser.show_around_best(each, chooser.budget / left)
    entries = (_with_passages(each.entry, named) for each in candidates)
    return Recollected(tuple(entry for entry in entries if entry.lines))


def _is_new(line: ShownLine, shown: Collection[str]) -> bool:
    """Whether a line is not in the request, and none of a map of the project, which can be drawn again."""
    return bare_line(line.text) not in shown and line.text.lstrip()[:1] not in OF_A_MAP


def _with_passages(entry: Entry, named: Collection[str]) -> Entry:
    """The entry with those of its passages that say something."""
    return entry._replace(
        lines=tuple(line for each in runs_of(entry.lines) if _says_something(each, named) for line in each)
    )


def _says_something(passage: Sequence[ShownLine], named: Collection[str]) -> bool:
    """Whether a passage has several lines or a sentence, is a whole text, or has what was `named`."""
    first, last = passage[0], passage[-1]
    return (
        len(passage) >= LEAST_LINES
        or first.is_name
        or (first.after == FIRST and last.is_last)
        or any(line.text.endswith(SENTENCE_ENDS) for line in passage)
        or any(name in named for line in passage for name in names_in(line.text))
    )


def replacement_texts(live: Sequence[ModelMessage]) -> Iterator[str]:
    """The texts that replace messages that left; in a prompt, only the summary that was joined with it."""
    for message in live:
        if not isinstance(message, ModelRequest) or not {REPLACES, SUMMARY} & (message.metadata or {}).keys():
            continue
        for part in message.parts:
            text = prompt_text(part.content) if isinstance(part, UserPromptPart) else ""
            if text and (is_replacement(message) or text.startswith(EARLIER)):
                yield text


def _named(sources: Sources, newest: int) -> set[str]:
    """The names in the newest messages."""
    numbers = range(len(sources.ledger.names))[-newest:]
    return {name for number in numbers for name in sources.names_in(number)[:NAMES_A_MESSAGE]}


def _relevant(ledger: Ledger, named: Collection[str]) -> dict[str, float]:
    """Names that share words with those that were `named`; rarer words count more."""
    found: dict[str, float] = {}
    for word in sorted({word for name in named for word in parts_of(name)}):  # the order decides between equals
        names = ledger.by_part.get(word, ())
        if not 0 < len(names) <= COMMON:
            continue
        for name in names:
            found[name] = found.get(name, 0.0) + len(names) ** -0.5
    weighed = {name: relevance * ledger.weight(name) for name, relevance in found.items()}
    return {name: weighed[name] for name in heapq.nlargest(MOST_NAMES, weighed, key=weighed.__getitem__)}
