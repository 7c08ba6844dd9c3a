"""A session's title, made from its first exchange by the model that is set for summaries; nobody waits for it."""

import asyncio
from typing import Final

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.agent.titles import write_title
from co_tui.events import SessionRename
from co_tui.events.stored_messages import pieces
from co_tui.session.compaction.model_summaries import SummaryModels
from co_tui.session.environment import Environment
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.session_origin import place_of

TIMEOUT_S: Final = 30.0


class SessionTitle:
    """Until then, and wherever nothing comes of it, the first prompt serves. A name the user gave stays."""

    def __init__(self, environment: Environment, recorder: Recorder, models: SummaryModels) -> None:
        self._environment = environment
        self._recorder = recorder
        self._models = models
        self._writing: asyncio.Task[None] | None = None

    def after_turn(self, runtime: Runtime) -> None:
        """Begin to write one, after the first turn of a session that has none of its own."""
        model = runtime.settings.summarization_model
        # The embedded model is too small for titles: it repeats the prompt, or answers it.
        wanted = self._environment.names_sessions and model not in ("", EMBEDDED)
        would_wait = model == runtime.model_handle.name and runtime.model_handle.one_at_a_time
        if wanted and not would_wait and self._writing is None and self._is_new:
            self._writing = asyncio.create_task(self._write(model, runtime))

    async def give_up(self) -> None:
        """What is being written is no longer wanted."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait({self._writing})

    @property
    def _is_new(self) -> bool:
        state = self._recorder.state
        return state.turn == 1 and not any(isinstance(event.fact, SessionRename) for event in state.timeline)

    async def _write(self, model: str, runtime: Runtime) -> None:
        prompt, reply = (self._said(role) for role in ("user", "assistant"))
        if not prompt or not reply:
            return
        try:
            async with asyncio.timeout(TIMEOUT_S):
                written = await write_title(await self._models.get(model), prompt, reply)
        except Exception:
            return  # the prompt is title enough, and the turns tell what is wrong with a provider
        if written.text:
            place = place_of(self._environment, runtime.model_handle.name, runtime.settings.policy)
            await self._recorder.record(SessionRename(title=written.text, by=model, cost=written.cost, **place))

    def _said(self, wanted: str) -> str:
        """The first words of the user, or the last ones of the model."""
        texts = [
            text
            for entry in self._recorder.state.history
            for role, text, _ in pieces(entry.message)
            if role == wanted and text.strip()
        ]
        return texts[0 if wanted == "user" else -1] if texts else ""
