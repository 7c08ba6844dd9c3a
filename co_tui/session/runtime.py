"""What turns and compactions work with: the log, the model that answers, and what governs its context."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.toolsets import AbstractToolset

from co_tui.agent.messages import read_messages
from co_tui.agent.models import ModelHandle
from co_tui.agent.prices import price_of
from co_tui.context.count import Reading, Scaffold
from co_tui.context.request import Governor, Measured
from co_tui.events import CompactionComplete
from co_tui.session.recorder import Recorder
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.state.session_state import SessionState
from co_tui.session.tools.archive import Archive
from co_tui.settings import Settings

FIRST_BACKOFF_S = 0.5


@dataclass(slots=True, kw_only=True)
class Runtime:
    """One for each model and policy a session has had; a turn keeps the one it began with."""

    recorder: Recorder
    parsed: ParsedMessages
    model_handle: ModelHandle
    governor: Governor
    settings: Settings
    instructions: str
    toolsets: Callable[[], Sequence[AbstractToolset[Any]]]
    archive: Archive
    open_model: Callable[[str], Awaitable[ModelHandle]]
    first_backoff_s: float
    scaffold: Scaffold = field(default_factory=Scaffold)
    """What went with the last request beside the conversation, as far as that is known."""
    in_turn: bool = False
    """Whether a turn is under way: then the history is rewritten only between two requests."""
    _measuring: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        """Go on counting from what the log knows of this model."""
        sent = self.governor.meter.restore(self.state.learnt.get(self.model_handle.name, {}))
        self.scaffold = replace(sent, instructions=self.instructions)

    @property
    def session_id(self) -> str:
        return self.recorder.session_id

    @property
    def state(self) -> SessionState:
        return self.recorder.state

    @property
    def version(self) -> object:
        """The same object as long as the history only grows."""
        return self.state.history.lineage

    async def measure(self) -> Measured:
        """The log's own history after repair and tool outputs. Beside the loop: the first time counts every message."""
        async with self._measuring:
            state = self.state
            pinned: tuple[int, ...] = ()
            if state.pins:
                pinned = tuple(index for index, entry in enumerate(state.history) if entry.ref in state.pins)
            messages = self.parsed.messages(state)
            return await asyncio.to_thread(
                self.governor.measure, messages, self.scaffold, state.history.lineage, pinned
            )

    async def measure_as(self, messages: Sequence[ModelMessage]) -> Measured:
        """What another history would take."""
        async with self._measuring:
            return await asyncio.to_thread(self.governor.measure, messages, self.scaffold)

    async def with_figures(self, fact: CompactionComplete) -> CompactionComplete:
        """A rewrite that is about to be logged, with what the history takes before and after."""
        before = (await self.measure()).reading.current_tokens
        history = self.parsed.messages(self.state)
        gone = [n for n, entry in enumerate(self.state.history) if entry.ref in fact.replaced]
        kept = [message for n, message in enumerate(history) if n not in gone]
        put = read_messages(fact.replacement)
        after = await self.measure_as([*kept[: gone[0]], *put, *kept[gone[0] :]] if gone else kept)
        tokens = after.reading.current_tokens
        return fact.but(pre_tokens=before, post_tokens=tokens, tokens_removed=before - tokens)

    async def report(self, reading: Reading, response: ModelResponse | None = None) -> None:
        """Log a measurement; with a response, what its provider reported and what it cost."""
        reported: dict[str, Any] = {}
        if response is not None and response.usage.input_tokens:
            usage = response.usage
            reported = {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_tokens": usage.cache_read_tokens,
                "cost": price_of(response),
                "learnt": self.governor.meter.as_json(),
            }
        initial = self.state.usage is None
        await self.recorder.record(reading.as_fact(is_initial=initial, model=self.model_handle.name, **reported))
