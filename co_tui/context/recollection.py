"""What comes back when a request is rewritten: lines that left the context and bear on the newest step (G10)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse, UserPromptPart

from co_tui.context.excerpts import Chooser, Excerpts, Sources, names_there, read_places, weighed_line
from co_tui.context.ledger import Ledger
from co_tui.context.names import names_in, parts_of
from co_tui.context.offline_summary import carried_in
from co_tui.context.said_lines import said_in
from co_tui.context.turns import stands_in
from co_tui.events.content import prompt_text

COMMON: Final = 100
"""A word that is in more names than this tells nothing."""
MOST_NAMES: Final = 150
RECOLLECTED_FROM_EARLIER: Final = (
    "[Recollected: said earlier in this conversation, word for word, and bearing on what is at hand]"
)


def newest_step(messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """The last reply and what came after it."""
    start = len(messages)
    while start > 0:
        start -= 1
        if isinstance(messages[start], ModelResponse):
            break
    return messages[start:]


def recollect(sources: Sources, live: Sequence[ModelMessage], budget_tokens: float) -> Excerpts:
    """The lines of what is gone that share words of their names with the newest step."""
    with sources.ledger.lock:
        return _recollected(sources, live, budget_tokens)


def _recollected(sources: Sources, live: Sequence[ModelMessage], budget_tokens: float) -> Excerpts:
    ledger, gone = sources.ledger, sources.gone
    weights = _relevant(ledger, newest_step(live))
    taken = {excerpt.place for excerpt in carried_in(live)}
    places = {place for name in weights for place in ledger.details[name].places if place.message in gone}
    standing = {line.strip() for text in stand_in_texts(live) for line in text.splitlines()}
    found = read_places(sources.read, places - taken).values()
    lines = [weighed_line(excerpt) for excerpt in found if excerpt.text.strip() not in standing]
    there = names_there(ledger, gone)
    for text in stand_in_texts(live):
        there.update(dict.fromkeys(names_in(text), 1))
    chooser = Chooser(weights, there)
    chooser.choose(lines, budget_tokens)
    return Excerpts(tuple(sorted(chooser.chosen)))


def stand_in_texts(live: Sequence[ModelMessage]) -> Iterator[str]:
    """What stands for messages that are gone."""
    for message in live:
        if stands_in(message):
            yield from (prompt_text(part.content) for part in message.parts if isinstance(part, UserPromptPart))


def _relevant(ledger: Ledger, newest: Iterable[ModelMessage]) -> dict[str, float]:
    """Names that share words with those of the newest step; the rarer the word, the more it tells."""
    words: set[str] = set()
    for message in newest:
        for said in said_in(message):
            for name in names_in(said.text):
                words |= parts_of(name)
    found: dict[str, float] = {}
    for word in words:
        names = ledger.by_part.get(word, ())
        if not names or len(names) > COMMON:
            continue
        tells = len(names) ** -0.5
        for name in names:
            found[name] = found.get(name, 0.0) + tells
    weighed = {name: tells * ledger.weight(name) for name, tells in found.items()}
    best = sorted(weighed, key=lambda name: -weighed[name])[:MOST_NAMES]
    return {name: weighed[name] for name in best}
