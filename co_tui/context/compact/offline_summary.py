"""The offline summariser (C14): original lines, chosen by what they name. Serves when no model may, or one fails."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest

from co_tui.context.compact import user_messages as words_of_user
from co_tui.context.compact.user_messages import UserWords
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.excerpts import Excerpts, Sources, choose_excerpts
from co_tui.context.memory.ledger import Ledger
from co_tui.context.memory.transcript_lines import SUMMARY_SAID, Excerpt, Place, lines_of
from co_tui.events.stored_messages import EXCERPTS, SUMMARY

USER_WORDS_SHARE: Final = 0.4
"""Of the budget: the user's own words, where nothing else has a place for them."""
NOTHING_SAID: Final = "(nothing was said)"


class OfflineSummary(NamedTuple):
    text: str
    excerpts: Excerpts
    words: UserWords | None = None
    """The user's words that stand in the text."""


def summarise_offline(
    messages: Sequence[ModelMessage],
    budget_tokens: int,
    *,
    user_words: bool = True,
    sources: Sources | None = None,
    standing: str = "",
) -> OfflineSummary:
    """A summary of the messages within the budget; without the user's words when these stand beside it.

    Excerpts among the messages are chosen from again; an earlier summary that somebody wrote is kept line by line.
    """
    sources = sources or sources_of(messages)
    words, room = None, float(budget_tokens)
    if user_words:
        words = words_of_user.within(words_of_user.user_words_in(messages), USER_WORDS_SHARE * budget_tokens)
    told = words_of_user.written(words) if words else ""
    room -= estimate_text(told)
    chosen = choose_excerpts(
        sources,
        room,
        carried=(*written_in(messages), *carried_in(messages)),
        standing="\n".join((told, standing)),
    )
    return OfflineSummary("\n\n".join(filter(None, (told, chosen.text))) or NOTHING_SAID, chosen, words)


def sources_of(messages: Sequence[ModelMessage]) -> Sources:
    """These messages alone."""
    ledger = Ledger()
    for message in messages:
        ledger.hear(message)
    return Sources(ledger, frozenset(range(len(messages))))


def carried_in(messages: Iterable[ModelMessage]) -> Iterator[Excerpt]:
    """The lines that earlier compactions chose."""
    for metadata in _of_summaries(messages):
        yield from Excerpts.from_json(metadata.get(EXCERPTS)).lines


def written_in(messages: Iterable[ModelMessage]) -> Iterator[Excerpt]:
    """The lines of summaries that somebody wrote."""
    for index, metadata in enumerate(_of_summaries(messages)):
        carried, summary = Excerpts.from_json(metadata.get(EXCERPTS)), metadata[SUMMARY]
        if carried.lines and carried.text in summary:
            continue  # nobody did: they are the lines themselves
        for number, line in enumerate(lines_of(summary)):
            if line.strip():
                yield Excerpt(Place(-1, index, number), SUMMARY_SAID, line)


def _of_summaries(messages: Iterable[ModelMessage]) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        if isinstance(message, ModelRequest) and message.metadata and SUMMARY in message.metadata:
            yield message.metadata
