"""Requests for summaries, and the offline fallback that never fails (C14)."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelMessage

from co_tui.agent.summariser import WrittenSummary
from co_tui.context.compact import user_messages
from co_tui.context.compact.offline_summary import carried_in, summarise_offline
from co_tui.context.compact.replacement import Digest
from co_tui.context.measure.count import estimate_message, estimate_text
from co_tui.context.memory.excerpts import NO_EXCERPTS, Excerpts, Sources, choose_excerpts
from co_tui.context.policy import SummaryFallback
from co_tui.context.request.pipeline import Governor
from co_tui.events.triggers import Trigger

OFFLINE = "offline"
LEAST_BUDGET_TOKENS = 120
MOST_OF_HELD = 0.66
"""Share of the summarised tokens that a compaction may leave."""
LEAST_LINES_TOKENS = 60
WRITTEN_SHARE = 0.6
"""Share of a summary's room that the model may write; original lines fill the rest."""
ADDED = 0.12
"""Share of a summary's room for a further summary next to an earlier one."""


@dataclass(slots=True)
class Summary:
    """The text that replaces the messages, and who wrote it."""

    text: str
    by: str
    title: str = ""
    note: str = ""
    """Why the model's summary was not used."""
    edited: bool = False
    excerpts: Excerpts = NO_EXCERPTS
    words: user_messages.UserMessages | None = None

    @property
    def digest(self) -> Digest:
        """As put into the history. Lines that the user edited are no longer original."""
        return Digest(self.text) if self.edited and self.by == OFFLINE else Digest(self.text, self.excerpts, self.words)


@dataclass(slots=True)
class SummaryRequest:
    """What to summarise, and within which limits."""

    messages: Sequence[ModelMessage]
    budget_tokens: int
    window_tokens: int
    ratio: float = 1.0
    """The model's tokens for each one we estimate."""
    user_words: bool = True
    """False if the user's messages are kept next to the summary."""
    focus: str = ""
    bill: WrittenSummary = field(default_factory=WrittenSummary)
    """Counts the model requests, also if the summary is not used or never completes."""
    fallback: SummaryFallback = SummaryFallback.OFFLINE
    background: str = ""
    """The assistant's role, so that the summary keeps what matters for it."""
    sources: Sources | None = None
    """What to take excerpts from; None for the messages alone."""
    standing: str = ""
    """Earlier summaries that stay."""
    room_tokens: int = 0
    """Room for the model's text and original lines together; 0 for no original lines."""
    most_tokens: float = math.inf
    """A longer summary would not be used."""

    @property
    def held_tokens(self) -> float:
        return self.ratio * sum(map(estimate_message, self.messages))


def request_for(
    governor: Governor,
    messages: Sequence[ModelMessage],
    trigger: Trigger,
    sources: Sources | None = None,
    kept_tokens: float = 0.0,
    standing: str = "",
    most_tokens: float = math.inf,
) -> SummaryRequest:
    """The request for a summary of these messages, with the room the policy leaves next to the user's own messages;
    `most_tokens` limits both."""
    messages = messages[-governor.policy.considered_messages :]
    words = governor.user_messages_for(messages, governor.form_of(trigger), most_tokens)
    taken = governor.meter.ratio * user_messages.quoted_tokens(words) if words else 0
    least = governor.summary_tokens * (ADDED if standing else 1)
    held = sum(map(governor.meter.tokens, messages))
    room = max(least, governor.room_for_replacement(kept_tokens)) - taken
    room = max(0, int(min(room, MOST_OF_HELD * (held - taken), most_tokens - taken)))
    has_lines = bool(governor.policy.compacted_share)
    return SummaryRequest(
        messages,
        max(LEAST_BUDGET_TOKENS, int(room * WRITTEN_SHARE) if has_lines else room),
        governor.window.tokens,
        governor.meter.ratio,
        user_words=words is None,
        fallback=governor.policy.fallback,
        sources=sources,
        standing="\n".join(filter(None, (standing, user_messages.as_sections(words) if words else ""))),
        room_tokens=room if has_lines else 0,
        most_tokens=most_tokens - taken,
    )


async def fallback_summary(request: SummaryRequest, *, note: str = "") -> Summary:
    """The policy's fallback if no model can summarise: an extractive summary, or none."""
    if request.fallback is not SummaryFallback.OFFLINE:
        return Summary("", "", note=note)
    # In a thread, since a long conversation takes a moment.
    return replace(await asyncio.to_thread(offline, request), note=note)


def original_lines(request: SummaryRequest, text: str) -> Excerpts:
    """The most important original lines that a model's summary left out, in the remaining room."""
    room = request.room_tokens / request.ratio - estimate_text(text)
    if request.sources is None or room < LEAST_LINES_TOKENS:
        return NO_EXCERPTS
    carried, standing = carried_in(request.messages), "\n".join((text, request.standing))
    return choose_excerpts(request.sources, room, carried=carried, standing=standing)


def offline(request: SummaryRequest) -> Summary:
    """The extractive summary."""
    budget = int(max(request.room_tokens, request.budget_tokens) / request.ratio)
    made = summarise_offline(
        request.messages, budget, user_words=request.user_words, sources=request.sources, standing=request.standing
    )
    return Summary(made.text, OFFLINE, excerpts=made.excerpts, words=made.words)
