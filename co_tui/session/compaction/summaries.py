"""Getting a summary, whatever happens: from a model when one serves, else from the offline summariser (C14)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage

from co_tui.agent.errors import ModelUnusable
from co_tui.agent.failures import Asked
from co_tui.agent.models import ModelHandle
from co_tui.agent.summariser import INSTRUCTIONS, Assignment, Written, write_summary
from co_tui.context import user_words
from co_tui.context.as_text import LEAST_ROOM_TOKENS, in_parts
from co_tui.context.count import FALLBACK_WINDOW_TOKENS, estimate_message, estimate_text
from co_tui.context.offline_summary import summarise_offline
from co_tui.context.request import Governor
from co_tui.context.summary_checks import objection
from co_tui.session.classify import classify

OFFLINE = "offline"
ATTEMPTS = 3
FIRST_PAUSE_S = 0.5
MARGIN = 0.9
"""Of the window: our estimates may be a little low, and a refused summary helps nobody."""
LARGEST_SHARE = 0.3
"""Of the summariser's own window: a longer summary would leave no room for what it is made from."""
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
    timeout_s: float = 120.0
    pause_s: float = FIRST_PAUSE_S
    fallback: str = OFFLINE
    """What serves when no model can: the offline summariser; else nothing is written, and the policy's limits hold."""
    background: str = ""
    """What the assistant is told to be, so that its notes keep what matters for that."""

    @property
    def held_tokens(self) -> float:
        return self.ratio * sum(map(estimate_message, self.messages))


def request_for(governor: Governor, messages: Sequence[ModelMessage], trigger: str = "") -> SummaryRequest:
    """What the policy leaves for a summary of these messages, beside the user's own words."""
    messages = messages[-governor.settings.considered_messages :]
    words = governor.words_of(messages, governor.form_of(trigger))
    taken = governor.meter.ratio * user_words.words_tokens(words) if words else 0
    budget = max(LEAST_BUDGET_TOKENS, int(governor.summary_tokens - taken))
    return SummaryRequest(
        messages,
        budget,
        governor.window.tokens,
        governor.meter.ratio,
        user_words=words is None,
        fallback=governor.settings.summary_fallback,
    )


async def summarised(request: SummaryRequest, model_handle: Callable[[], Awaitable[ModelHandle]] | None) -> Summary:
    """A usable summary, or an empty one where the policy falls back to less. Fails only by being cancelled."""
    if model_handle is None:
        return await fallen_back(request)
    try:
        model = await model_handle()
        window = await model.window_tokens() or FALLBACK_WINDOW_TOKENS
    except ModelUnusable as unusable:
        return await fallen_back(request, note=str(unusable))
    except Exception as error:
        return await fallen_back(request, note=classify(error, Asked("the summariser"))[0].sentence)
    return await _by_model(request, model, min(window, request.window_tokens))


async def fallen_back(request: SummaryRequest, *, note: str = "") -> Summary:
    """The floor, which never fails: as the policy says, an extractive summary or none at all."""
    if request.fallback != OFFLINE:
        return Summary("", "", note=note)
    # Beside the loop, since a long conversation takes a moment.
    text = await asyncio.to_thread(
        summarise_offline, request.messages, int(request.budget_tokens / request.ratio), user_words=request.user_words
    )
    return Summary(text, OFFLINE, note=note)


async def _by_model(request: SummaryRequest, model: ModelHandle, window_tokens: int) -> Summary:
    earlier = user_words.earlier_summary(request.messages, user_words=request.user_words)
    budget = min(request.budget_tokens, int(window_tokens * LARGEST_SHARE))
    fixed = estimate_text(INSTRUCTIONS) + estimate_text(earlier) + estimate_text(request.background) + 60
    room = (window_tokens * MARGIN - budget) / max(1.0, request.ratio) - fixed
    note = ""
    for attempt in range(ATTEMPTS):
        if room < LEAST_ROOM_TOKENS:
            return await fallen_back(request, note=f"the window of {model.name} is too small to summarise in")
        parts = await asyncio.to_thread(in_parts, request.messages, room)
        if not parts:
            break
        work = Assignment(parts, earlier, request.focus, budget, request.ratio, request.bill, request.background)
        try:
            async with asyncio.timeout(request.timeout_s):
                written = await write_summary(model, work)
        except TimeoutError:
            return await fallen_back(request, note=f"{model.name} took longer than {request.timeout_s:.0f} s")
        except Exception as error:
            failure, _ = classify(error, model.asked)
            note = failure.sentence
            if failure.kind == "context_limit":
                room /= 2
            elif not failure.retryable:
                break
            else:
                await asyncio.sleep(request.pause_s * 2**attempt)
            continue
        source = "\n".join((*parts, earlier))
        wrong = await asyncio.to_thread(objection, written.text, request.held_tokens, source, request.ratio)
        if not wrong:
            return Summary(written.text, model.name, written.title)
        return await fallen_back(request, note=f"the summary by {model.name} was not used: {wrong}")
    return await fallen_back(request, note=note)
