"""The offline summariser (C14): a work journal in original lines. Used when no model can summarise."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest

from co_tui.context.compact import user_messages
from co_tui.context.compact.user_messages import UserMessages
from co_tui.context.indexed_history import is_replacement
from co_tui.context.journal.journal import STORY_SHARE, Journal, JournalTask, rewritten
from co_tui.context.journal.sources import Sources
from co_tui.context.journal.work_record import WorkRecord
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.ledger import Ledger
from co_tui.events.stored_messages import EXCERPTS, JOURNAL, SUMMARY

USER_MESSAGES_SHARE: Final = 0.4
"""Of the budget: for user messages, if they are not quoted elsewhere."""
NOTHING_SAID: Final = "(nothing was said)"


class OfflineSummary(NamedTuple):
    text: str
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
    """A summary of the messages within the budget; with `user_words`, user messages are quoted in it, except rules
    that are in `standing`."""
    words = None
    if user_words:
        words = user_messages.user_messages_in(messages)
        words = words._replace(rules=tuple(rule for rule in words.rules if rule not in standing))
        words = user_messages.fitting(words, USER_MESSAGES_SHARE * budget_tokens)
    quoted = user_messages.as_sections(words) if words else ""
    task = JournalTask(
        sources or sources_of(messages),
        earlier_journal(messages),
        sum(not is_replacement(message) for message in messages),
        limit_tokens=budget_tokens,
        ration_tokens=budget_tokens,
        standing="\n".join((quoted, standing)),
    )
    journal = rewritten(task, budget_tokens - estimate_text(quoted), fitting_story(task.earlier.story, budget_tokens))
    return OfflineSummary("\n\n".join(filter(None, (quoted, journal.text))) or NOTHING_SAID, words)


def sources_of(messages: Sequence[ModelMessage]) -> Sources:
    """Only these messages as the source."""
    ledger, work = Ledger(), WorkRecord()
    for message in messages:
        ledger.add(message)
        work.add(message)
    return Sources(ledger, work, frozenset(range(len(messages))), lambda numbers: [messages[n] for n in numbers])


def earlier_journal(messages: Iterable[ModelMessage]) -> Journal:
    """The journals and written summaries among the messages, as one."""
    found = Journal()
    for message in messages:
        if not isinstance(message, ModelRequest) or not message.metadata or SUMMARY not in message.metadata:
            continue
        metadata = message.metadata
        own = Journal.from_json(metadata.get(JOURNAL), metadata[SUMMARY]) if not _is_excerpt(metadata) else Journal()
        found = Journal(
            "\n\n".join(filter(None, (found.story, own.story))),
            (*found.entries, *own.entries),
            (*found.blocks, *own.blocks),
            (*found.covers, *own.covers),
        )
    return found


def _is_excerpt(metadata: Mapping[str, Any]) -> bool:
    """Whether a summary of an older form consists of original lines, which the transcript has anyway."""
    match metadata.get(EXCERPTS):
        case {"lines": [[*_, str(line)], *_]}:
            return JOURNAL not in metadata and line in metadata[SUMMARY]
    return False


def fitting_story(story: str, budget_tokens: float) -> str:
    """As many whole lines of a story as fit its share of a journal."""
    lines: list[str] = []
    room = STORY_SHARE * budget_tokens
    for line in story.splitlines():
        if (room := room - estimate_text(line) - 1) < 0:
            return "\n".join((*lines, "…"))
        lines.append(line)
    return story
