"""What is asked of whoever summarises, and the floor that never fails (C14)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage

from co_tui.agent.summariser import Written
from co_tui.context import user_words
from co_tui.context.count import estimate_message
from co_tui.context.offline_summary import summarise_offline
from co_tui.context.policy import SummaryFallback
from co_tui.context.request import Governor
from co_tui.events.triggers import Trigger

OFFLINE = "offline"
LEAST_BUDGET_TOKENS = 120


@dataclass(slots=True)
class Summary:
    """What stands for the messages, who wrote it, and what it took."""

    text: str
    by: str
    title: str = ""
    note: str = ""
    """Why the model's summary was not used."""
    edited: bool = False


@dataclass(slots=True)
class SummaryRequest:
    """A wish for a summary."""

    messages: Sequence[ModelMessage]
    budget_tokens: int
    window_tokens: int
    ratio: float = 1.0
    """Tokens of the model for each one we estimate."""
    user_words: bool = True
    """False when the user's own words stand beside the summary."""
    focus: str = ""
    bill: Written = field(default_factory=Written)
    """Counts what was asked of a model, also when its summary is not used or never ends."""
    fallback: SummaryFallback = SummaryFallback.OFFLINE
    background: str = ""
    """What the assistant is told to be, so that its notes keep what matters for that."""

    @property
    def held_tokens(self) -> float:
        return self.ratio * sum(map(estimate_message, self.messages))


def request_for(governor: Governor, messages: Sequence[ModelMessage], trigger: Trigger) -> SummaryRequest:
    """What the policy leaves for a summary of these messages, beside the user's own words."""
    messages = messages[-governor.policy.considered_messages :]
    words = governor.words_of(messages, governor.form_of(trigger))
    taken = governor.meter.ratio * user_words.words_tokens(words) if words else 0
    budget = max(LEAST_BUDGET_TOKENS, int(governor.summary_tokens - taken))
    return SummaryRequest(
        messages,
        budget,
        governor.window.tokens,
        governor.meter.ratio,
        user_words=words is None,
        fallback=governor.policy.fallback,
    )


async def fallen_back(request: SummaryRequest, *, note: str = "") -> Summary:
    """As the policy says when no model can: an extractive summary, or none at all."""
    if request.fallback is not SummaryFallback.OFFLINE:
        return Summary("", "", note=note)
    # Beside the loop, since a long conversation takes a moment.
    return Summary(await asyncio.to_thread(offline_text, request), OFFLINE, note=note)


def offline_text(request: SummaryRequest) -> str:
    """The extractive summary."""
    budget = int(request.budget_tokens / request.ratio)
    return summarise_offline(request.messages, budget, user_words=request.user_words)
