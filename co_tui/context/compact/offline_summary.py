"""The offline summariser (C14): original lines, chosen by the names in them. Used when no model can summarise."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest

from co_tui.context.compact import user_messages
from co_tui.context.compact.user_messages import UserMessages
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.excerpts import Excerpts, Sources, choose_excerpts
from co_tui.context.memory.ledger import Ledger
from co_tui.context.memory.transcript_lines import SUMMARY_SAID, Excerpt, LinePosition, lines_of
from co_tui.events.stored_messages import EXCERPTS, SUMMARY

USER_MESSAGES_SHARE: Final = 0.4
"""Of the budget: for user messages, if they are not quoted elsewhere."""
NOTHING_SAID: Final = "(nothing was said)"


class OfflineSummary(NamedTuple):
    text: str
    excerpts: Excerpts
    words: UserMessages | None = None
    """The user messages quoted in the text."""


def summarise_offline(
    messages: Sequence[ModelMessage],
    budget_tokens: int,
    *,
    user_words: bool = True,
    sources: Sources | None = None,
    standing: str = "",
) -> OfflineSummary:
    """A summary of the messages within the budget; with `user_words`, user messages are quoted in it.

    Earlier excerpts compete again; the lines of an earlier written summary are preferred.
    """
    sources = sources or sources_of(messages)
    words, room = None, float(budget_tokens)
    if user_words:
        words = user_messages.fitting(user_messages.user_messages_in(messages), USER_MESSAGES_SHARE * budget_tokens)
    quoted = user_messages.as_sections(words) if words else ""
    room -= estimate_text(quoted)
    chosen = choose_excerpts(
        sources,
        room,
        carried=(*written_in(messages), *carried_in(messages)),
        standing="\n".join((quoted, standing)),
    )
    return OfflineSummary("\n\n".join(filter(None, (quoted, chosen.text))) or NOTHING_SAID, chosen, words)


def sources_of(messages: Sequence[ModelMessage]) -> Sources:
    """Only these messages as the source of excerpts."""
    ledger = Ledger()
    for message in messages:
        ledger.add(message)
    return Sources(ledger, frozenset(range(len(messages))))


def carried_in(messages: Iterable[ModelMessage]) -> Iterator[Excerpt]:
    """The excerpts of earlier compactions."""
    for metadata in _of_summaries(messages):
        yield from Excerpts.from_json(metadata.get(EXCERPTS)).lines


def written_in(messages: Iterable[ModelMessage]) -> Iterator[Excerpt]:
    """The lines of summaries written by a model or the user."""
    for index, metadata in enumerate(_of_summaries(messages)):
        carried, summary = Excerpts.from_json(metadata.get(EXCERPTS)), metadata[SUMMARY]
        if carried.lines and carried.text in summary:
            continue  # an offline summary, which consists of excerpts
        for number, line in enumerate(lines_of(summary)):
            if line.strip():
                yield Excerpt(LinePosition(-1, index, number), SUMMARY_SAID, line)


def _of_summaries(messages: Iterable[ModelMessage]) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        if isinstance(message, ModelRequest) and message.metadata and SUMMARY in message.metadata:
            yield message.metadata
