"""Requests for summaries, and the offline fallback that never fails (C14)."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelMessage

from co_tui.context.compact import user_messages
from co_tui.context.compact.note import INTRO
from co_tui.context.compact.offline_summary import earlier_journal, fitting_story, summarise_offline
from co_tui.context.compact.replacement import Digest
from co_tui.context.indexed_history import is_replacement
from co_tui.context.journal.journal import STORY_SHARE, Journal, JournalTask, appended, rewritten
from co_tui.context.journal.sources import Sources
from co_tui.context.measure.count import estimate_message, estimate_text
from co_tui.context.policy import SummaryFallback, SummaryForm
from co_tui.context.request.pipeline import Governor
from co_tui.events.triggers import Trigger
from co_tui.session.bills import Bill
from co_tui.session.compaction.notes import Conversation

OFFLINE = "offline"
LEAST_BUDGET_TOKENS = 120
MOST_OF_HELD = 0.66
"""Share of the summarised tokens that a compaction may leave."""
RATION = 0.25
"""Share of the tokens that leave: how much a journal may grow for them."""
REWRITTEN = 0.75
"""Share of its limit: how long a journal is when it is written again, so that it can grow again."""


@dataclass(slots=True)
class Summary:
    """The text that replaces the messages, and who wrote it."""

    text: str
    by: str
    title: str = ""
    note: str = ""
    """Why the model's summary was not used."""
    edited: bool = False
    journal: Journal | None = None
    is_grown: bool = False
    """Whether entries were only appended to the journal, for which no model is asked."""
    words: user_messages.UserMessages | None = None

    @property
    def digest(self) -> Digest:
        """As put into the history. Lines that the user edited are no longer original."""
        return Digest(self.text, None if self.edited else self.journal, self.words)


@dataclass(slots=True)
class SummaryRequest:
    """What to summarise, and within which limits."""

    messages: Sequence[ModelMessage]
    budget_tokens: int
    window_tokens: int
    ratio: float = 1.0
    """The model's tokens for each one we estimate."""
    user_words: bool = True
    """False if the user's messages are quoted next to the summary."""
    focus: str = ""
    bill: Bill = field(default_factory=Bill)
    """Counts the model requests, also if the summary is not used or never completes."""
    fallback: SummaryFallback = SummaryFallback.OFFLINE
    background: str = ""
    """The assistant's role, so that the summary keeps what matters for it."""
    sources: Sources | None = None
    """The whole conversation; None for the messages alone."""
    standing: str = ""
    """What is shown with the summary."""
    journal: JournalTask | None = None
    """The journal to write; None if the policy has a plain summary."""
    is_asked_for: bool = False
    """Whether the user or the model asked for it: then a model writes the story even if the journal could grow."""
    most_tokens: float = math.inf
    """A longer summary would not be used."""
    by_code: bool = False
    """Whether no model is asked, since a request is about to be sent."""
    conversation: Conversation | None = None
    """The conversation that the session's model may continue with its note; None if it cannot."""
    note_words: int = 0
    """How long a note may be; 0 if the policy has none."""
    refuses_longer: bool = True
    """Whether a summary must be shorter than what it replaces."""

    @property
    def held_tokens(self) -> float:
        return self.ratio * sum(map(estimate_message, self.messages))

    @property
    def earlier(self) -> str:
        """The summary for a model to bring up to date."""
        if self.journal is not None:
            return self.journal.earlier.story
        return user_messages.earlier_summary(self.messages, user_words=self.user_words)

    @property
    def folding(self) -> str:
        """What a model summarises instead of messages: the entries of a journal that has no more room."""
        journal = self.journal
        return "\n".join(journal.earlier.blocks) if journal is not None and not self.is_asked_for else ""


def request_for(
    governor: Governor,
    messages: Sequence[ModelMessage],
    trigger: Trigger,
    sources: Sources | None = None,
    kept_tokens: float = 0.0,
    with_it: str = "",
    most_tokens: float = math.inf,
) -> SummaryRequest:
    """The request for a summary of these messages, with the room the policy leaves next to the user's own messages and
    what else is shown `with_it`; `most_tokens` limits it."""
    messages = messages[-governor.policy.considered_messages :]
    form = governor.policy.form_for(trigger)
    words = governor.user_messages_for(messages, form, most_tokens)
    ratio = governor.meter.ratio
    taken = ratio * user_messages.quoted_tokens(words)
    with_it_tokens = ratio * estimate_text(with_it)
    held = sum(map(governor.meter.tokens, messages))
    room = max(governor.summary_tokens, governor.room_for_replacement(kept_tokens) - with_it_tokens - taken)
    room = max(0, int(min(room, MOST_OF_HELD * (held - taken), most_tokens - taken)))
    standing = "\n".join(filter(None, (user_messages.as_sections(words), with_it)))
    task = None
    if governor.policy.compacted_share and sources is not None:
        new = [message for message in messages if not is_replacement(message)]
        ration = RATION * sum(map(governor.meter.tokens, new))
        task = JournalTask(sources, earlier_journal(messages), len(new), room / ratio, ration / ratio, standing)
    return SummaryRequest(
        messages,
        max(LEAST_BUDGET_TOKENS, int(room * STORY_SHARE) if task else room),
        governor.window.tokens,
        ratio,
        user_words=form is not SummaryForm.FULL,
        fallback=governor.policy.fallback,
        sources=sources,
        standing=standing,
        journal=task,
        is_asked_for=not trigger.is_automatic,
        most_tokens=most_tokens - taken,
        note_words=governor.note_words,
        refuses_longer=governor.policy.refuses_longer,
    )


async def grown_journal(request: SummaryRequest) -> Summary | None:
    """The journal with more entries, if it has room for them and no summary was asked for."""
    if request.journal is None or request.is_asked_for:
        return None
    # In a thread, since a long conversation takes a moment.
    return await asyncio.to_thread(_grown, request.journal)


def _grown(task: JournalTask) -> Summary | None:
    journal = appended(task)
    if journal is None or not journal.text:
        return None
    return Summary(journal.text, OFFLINE, journal=journal, is_grown=True)


async def fallback_summary(request: SummaryRequest, *, note: str = "", is_asked: bool = True) -> Summary:
    """The policy's fallback if no model can summarise: an extractive summary, or none. Where no model `is_asked` on
    purpose, none has failed."""
    is_offline = request.fallback is SummaryFallback.OFFLINE
    if not (is_offline or (request.fallback is SummaryFallback.FAIL and not is_asked)):
        return Summary("", "", note=note)
    return replace(await asyncio.to_thread(offline, request), note=note)


def with_story(request: SummaryRequest, story: str) -> Summary:
    """A model's note; or its summary, followed by the journal of what it need not tell."""
    if request.note_words:
        return Summary(f"{INTRO}\n\n{story}", "")
    return _with_journal(request, story)


def _with_journal(request: SummaryRequest, story: str) -> Summary:
    if request.journal is None:
        return Summary(story, "")
    journal = rewritten(request.journal, REWRITTEN * request.journal.limit_tokens, story)
    return Summary(journal.text, "", journal=journal)


def offline(request: SummaryRequest) -> Summary:
    """The journal, or an extractive summary in policies without one."""
    task = request.journal
    if task is None:
        made = summarise_offline(
            request.messages,
            int(request.budget_tokens / request.ratio),
            user_words=request.user_words,
            sources=request.sources,
            standing=request.standing,
        )
        return Summary(made.text, OFFLINE, words=made.words)
    if not request.is_asked_for and (grown := _grown(task)) is not None:
        return grown
    story = fitting_story(task.earlier.story, task.limit_tokens)
    return replace(_with_journal(request, story), by=OFFLINE)
