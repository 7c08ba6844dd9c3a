"""Recollection (G10): find lines that left the context and are relevant to the newest step."""

import heapq
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from co_tui.context.indexed_history import EARLIER, is_replacement
from co_tui.context.journal.calls import Role
from co_tui.context.journal.choose_lines import Chooser
from co_tui.context.journal.entries import Entry
from co_tui.context.journal.shown_lines import bare_lines
from co_tui.context.journal.sources import Sources, remembered, with_neighbours
from co_tui.context.memory.names import names_in, parts_of
from co_tui.events.content import prompt_text
from co_tui.events.stored_messages import REPLACES, SUMMARY

COMMON: Final = 100
"""A word in more names than this is ignored."""
MOST_NAMES: Final = 150
NAMES_A_MESSAGE: Final = 200
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
    weights = _relevant(sources, newest_messages(live))
    there = sources.names_there()
    shown = sources.lines_there()
    for text in replacement_texts(live):
        there.update(dict.fromkeys(names_in(text), 1))
        shown |= bare_lines(text)
    chooser = Chooser(weights, budget_tokens, there, shown)
    found = (each for each in remembered(sources, weights) if each.role not in (Role.OUTDATED, Role.UNDONE))
    candidates = with_neighbours(sources, list(found))
    chooser.choose(candidates)
    return Recollected(tuple(each.entry for each in candidates if each.chosen))


def replacement_texts(live: Sequence[ModelMessage]) -> Iterator[str]:
    """The texts that replace messages that left; in a prompt, only the summary that was joined with it."""
    for message in live:
        if not isinstance(message, ModelRequest) or not {REPLACES, SUMMARY} & (message.metadata or {}).keys():
            continue
        for part in message.parts:
            text = prompt_text(part.content) if isinstance(part, UserPromptPart) else ""
            if text and (is_replacement(message) or text.startswith(EARLIER)):
                yield text


def _relevant(sources: Sources, newest: int) -> dict[str, float]:
    """Names that share words with the newest messages; rarer words count more."""
    ledger = sources.ledger
    numbers = range(len(ledger.names))[-newest:]
    named = [name for number in numbers for name in sources.names_in(number)[:NAMES_A_MESSAGE]]
    found: dict[str, float] = {}
    for word in sorted({word for name in named for word in parts_of(name)}):  # the order decides between equals
        names = ledger.by_part.get(word, ())
        if not 0 < len(names) <= COMMON:
            continue
        for name in names:
            found[name] = found.get(name, 0.0) + len(names) ** -0.5
    weighed = {name: relevance * ledger.weight(name) for name, relevance in found.items()}
    return {name: weighed[name] for name in heapq.nlargest(MOST_NAMES, weighed, key=weighed.__getitem__)}
