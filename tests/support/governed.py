"""A conversation under a policy, on the engine that a session and the lab run, for tests that look at requests."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.context.measure.count import Reading, Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Measured, TruncationFigures
from co_tui.events import CompactionComplete
from co_tui.events.triggers import Trigger
from co_tui.lab.engine import ReplayEngine
from co_tui.session.compaction.summaries import Summary, SummaryRequest, fallback_summary
from co_tui.settings import Settings


class Request(NamedTuple):
    """What would be sent, and what was done on the way."""

    messages: list[ModelMessage]
    reading: Reading
    history: list[ModelMessage]
    """As it stands now."""
    compaction: CompactionComplete | None
    waited: bool
    truncation: TruncationFigures | None
    overshoot_tokens: int


class ScriptedSummaries:
    """Says what a function says; None, nothing or an error leaves it to the policy's fallback."""

    def __init__(self, summarise: Any) -> None:
        self._summarise = summarise

    async def write(self, request: SummaryRequest, trigger: Trigger) -> Summary:
        budget = int(request.budget_tokens / request.ratio)
        try:
            text = self._summarise(request.messages, budget, user_words=request.user_words).strip()
        except Exception:
            text = ""
        return Summary(text, "scripted") if text else await fallback_summary(request)


class Governed:
    """Histories in, requests out; a history that continues the one before is given as what came since."""

    def __init__(self, settings: Settings, window: int, *, summarise: Any = "offline", **options: Any) -> None:
        if summarise != "offline":
            options["summaries"] = ScriptedSummaries(summarise)
        options.setdefault("meter", Meter())
        self.engine = ReplayEngine(policy_of(settings), Window(tokens=window, known=True), **options)
        self.governor = self.engine.history.governor
        self._loop = asyncio.new_event_loop()

    def prepare(self, history: Sequence[ModelMessage], pinned: Collection[int] = ()) -> Request:
        return self._loop.run_until_complete(self._prepare(history, pinned))

    def measure(self, history: Sequence[ModelMessage]) -> Measured:
        return self._loop.run_until_complete(self._measure(history))

    def __del__(self) -> None:
        self._loop.close()

    async def _prepare(self, history: Sequence[ModelMessage], pinned: Collection[int]) -> Request:
        await self._tell(history)
        if pinned:
            await self.engine.pin([history[place] for place in pinned])
        sent = await self.engine.request()
        prepared, done = sent.prepared, sent.compactions
        return Request(
            prepared.messages,
            prepared.reading,
            self.engine.history.messages,
            done[-1] if done else None,
            bool(sent.waits),
            prepared.truncation,
            prepared.overshoot_tokens,
        )

    async def _measure(self, history: Sequence[ModelMessage]) -> Measured:
        await self._tell(history)
        return await self.engine.history.measure()

    async def _tell(self, history: Sequence[ModelMessage]) -> None:
        known = self.engine.history.messages
        continues = len(known) <= len(history) and all(a is b for a, b in zip(known, history, strict=False))
        if not continues:
            await self.engine.clear()
        elif known:
            for message in history[len(known) :]:
                await self.engine.receive(message)
            return
        for message in history:
            await self.engine.add(message, 1)
