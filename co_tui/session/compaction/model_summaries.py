"""Summaries by a model: written, checked, and replaced by the fallback if they are unusable (C14)."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from co_tui.agent.models.open_model import ModelHandle
from co_tui.agent.summariser import INSTRUCTIONS, SummaryTask, WrittenSummary, untitled, write_summary
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.agent.wire.overflow import Overflow
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.context.compact.summary_checks import objection
from co_tui.context.conversation_text import LEAST_ROOM_TOKENS, in_parts, packed
from co_tui.context.measure.count import FALLBACK_WINDOW_TOKENS, estimate_text
from co_tui.events.model_names import EXAMPLE_MODEL, model_name
from co_tui.events.triggers import Trigger
from co_tui.session.compaction.notes import Conversation, write_note
from co_tui.session.compaction.summaries import Summary, SummaryRequest, fallback_summary, grown_journal, with_story
from co_tui.session.history.learned_limits import Limits
from co_tui.session.run_to_completion import is_being_cancelled
from co_tui.session.turns.classify_failure import classify

ATTEMPTS = 3
FIRST_PAUSE_S = 0.5
TIMEOUT_S = 120.0
MARGIN = 0.9
"""Share of the window to use: our estimates may be low, and a refused request gives no summary."""
LARGEST_SHARE = 0.3
"""Share of the summariser's window: a longer summary would leave no room for its source."""


class SummaryModels:
    """The models opened only for summaries, each once in a session."""

    def __init__(self, open_model: Callable[[str], Awaitable[ModelHandle]]) -> None:
        self._open_model = open_model
        self._opened: dict[str, ModelHandle] = {}
        self._opening = asyncio.Lock()

    async def get(self, name: str) -> ModelHandle:
        """Raises `ModelUnusable`."""
        async with self._opening:
            if name not in self._opened:
                self._opened[name] = await self._open_model(name)
            return self._opened[name]

    async def close(self) -> None:
        async with self._opening:
            for model_handle in self._opened.values():
                await model_handle.close()
            self._opened.clear()


class ModelSummaries(NamedTuple):
    """On demand the session's model writes; automatically the one set for summaries, if any. Raises only if
    cancelled."""

    answering: ModelHandle
    models: SummaryModels | None = None
    model_name: str = ""
    """The model set for summaries; empty to use the session's model."""
    timeout_s: float = TIMEOUT_S
    first_pause_s: float = FIRST_PAUSE_S
    is_in_use: bool = True
    """Whether the session's model may be answering while it is asked for a summary."""
    limits: Limits | None = None
    """What refusals revealed about the models' windows."""
    session_id: str = ""

    async def write(self, request: SummaryRequest, trigger: Trigger) -> Summary:
        may_grow = request.by_code or not request.note_words
        if may_grow and (grown := await grown_journal(request)) is not None:
            return grown
        if request.by_code:
            return await fallback_summary(request, is_asked=False)
        if trigger.is_automatic and self._is_own and self.is_in_use and self.answering.one_at_a_time:
            # It would take the model's only slot from the running turn.
            return await fallback_summary(request, is_asked=False)
        try:
            model = await self._writer(trigger)
            if model.name == EXAMPLE_MODEL:
                return await fallback_summary(request, is_asked=False)
            window = await model.window_tokens() or FALLBACK_WINDOW_TOKENS
        except ModelUnusable as unusable:
            return await fallback_summary(request, note=str(unusable))
        except Exception as error:
            return await fallback_summary(request, note=classify(error, RequestTarget("the summariser"))[0].sentence)
        if request.conversation is not None and model is self.answering:
            return await self._note(request, request.conversation)
        learned = self.limits.longest_to_send(model.asked) if self.limits else None
        window = min(filter(None, (window, request.window_tokens, learned)))
        return await _Attempts(self, request, model, window).summary()

    async def _note(self, request: SummaryRequest, conversation: Conversation) -> Summary:
        """The note, or what replaces it if the model does not write a usable one."""
        name, bill = model_name(self.answering.name), request.bill
        bill.model, bill.ratio = self.answering.name, request.ratio
        try:
            text = await write_note(conversation, bill, request.note_words, self.timeout_s, request.focus)
        except TimeoutError:
            return await fallback_summary(request, note=f"{name} took longer than {self.timeout_s:.0f} s")
        except Exception as error:
            if is_being_cancelled():
                raise asyncio.CancelledError from error  # the library swallows a cancellation while a refusal arrives
            return await fallback_summary(request, note=classify(error, self.answering.asked)[0].sentence)
        if wrong := objection(text, request.held_tokens, "", request.ratio, request.most_tokens):
            return await fallback_summary(request, note=f"{name}'s note rejected: {wrong}")
        title, text = untitled(text)
        return replace(with_story(request, text), by=self.answering.name, title=title)

    @property
    def _is_own(self) -> bool:
        return self.models is None or self.model_name in ("", self.answering.name)

    async def _writer(self, trigger: Trigger) -> ModelHandle:
        if self.models is None or self._is_own or trigger.is_summarised_by_answering_model:
            return self.answering
        return await self.models.get(self.model_name)


@dataclass(slots=True)
class _Attempts:
    """One summary by one model, retried until it is usable or retrying would not help."""

    by: ModelSummaries
    request: SummaryRequest
    model: ModelHandle
    window_tokens: int
    earlier: str = field(init=False)
    budget: int = field(init=False)
    room: float = field(init=False)

    def __post_init__(self) -> None:
        request = self.request
        self.earlier = request.earlier
        self.budget = min(request.budget_tokens, int(self.window_tokens * LARGEST_SHARE))
        self.room = self._room()

    def _room(self) -> float:
        """For one part of the conversation, in our estimate."""
        fixed = sum(map(estimate_text, (INSTRUCTIONS, self.earlier, self.request.background))) + 60
        return (self.window_tokens * MARGIN - self.budget) / max(1.0, self.request.ratio) - fixed

    async def summary(self) -> Summary:
        note = ""
        for attempt in range(ATTEMPTS):
            if self.room < LEAST_ROOM_TOKENS:
                return await self._fall_back(f"the window of {self.model.name} is too small to summarise in")
            parts = await asyncio.to_thread(self._parts)
            if not parts:
                break
            try:
                written = await self._written(parts)
            except TimeoutError:
                return await self._fall_back(f"{self.model.name} took longer than {self.by.timeout_s:.0f} s")
            except Exception as error:
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    # Cancelling while a refusal arrives raises the refusal: the library swallows the cancellation.
                    raise asyncio.CancelledError from error
                failure, overflow = classify(error, self.model.asked)
                note = failure.sentence
                if overflow is not None:
                    self._use_less(parts, overflow)
                elif not failure.retryable:
                    break
                else:
                    await asyncio.sleep(self.by.first_pause_s * 2**attempt)
                continue
            return await self._checked(written.text, written.title, parts)
        return await self._fall_back(note)

    async def _written(self, parts: list[str]) -> WrittenSummary:
        """Raises what the model raises."""
        bill = self.request.bill
        bill.model, bill.ratio = self.model.name, self.request.ratio
        async with asyncio.timeout(self.by.timeout_s):
            return await write_summary(self.model, self._assignment(parts), bill.of)

    def _parts(self) -> list[str]:
        """What to summarise, in parts that fit."""
        if folding := self.request.folding:
            return packed([folding], self.room)
        journal = self.request.journal
        entries = packed(journal.earlier.blocks, self.room) if journal is not None else []
        return packed([*entries, *in_parts(self.request.messages, self.room)], self.room)

    def _use_less(self, parts: list[str], refused: Overflow) -> None:
        """Make every part shorter than the refused one: unused room does not count."""
        if refused.limit_tokens and refused.limit_tokens < self.window_tokens:
            self.window_tokens = refused.limit_tokens
            self.budget = min(self.budget, int(self.window_tokens * LARGEST_SHARE))
            self.room = min(self.room, self._room())
        self.room = min(self.room, max(map(estimate_text, parts)) / 2)

    async def _checked(self, text: str, title: str, parts: list[str]) -> Summary:
        request, source = self.request, "\n".join((*parts, self.earlier))
        held, most = (request.held_tokens, request.most_tokens) if request.refuses_longer else (math.inf, math.inf)
        wrong = await asyncio.to_thread(objection, text, held, source, request.ratio, most)
        if wrong:
            return await self._fall_back(f"{model_name(self.model.name)}'s summary rejected: {wrong}")
        summary = await asyncio.to_thread(with_story, request, text)
        return replace(summary, by=self.model.name, title=title)

    def _assignment(self, parts: list[str]) -> SummaryTask:
        request = self.request
        return SummaryTask(
            parts,
            self.earlier,
            request.focus,
            self.budget,
            request.ratio,
            request.background,
            self.by.session_id,
        )

    async def _fall_back(self, note: str) -> Summary:
        return await fallback_summary(self.request, note=note)
