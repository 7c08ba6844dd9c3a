"""Writes a session's title from its first exchange, with the summarization model, in the background."""

import asyncio
from typing import Final

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.agent.titles import write_title
from co_tui.events import SessionRename
from co_tui.events.facts.context import TITLE
from co_tui.events.stored_messages import pieces
from co_tui.session.bills import Bill
from co_tui.session.compaction.model_summaries import SummaryModels
from co_tui.session.environment import Environment
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.runtime import Runtime

TIMEOUT_S: Final = 30.0


class SessionTitle:
    """Until a title is written, or if none is, the first prompt is used. A name given by the user stays."""

    def __init__(self, environment: Environment, recorder: Recorder, models: SummaryModels) -> None:
        self._environment = environment
        self._recorder = recorder
        self._models = models
        self._writing: asyncio.Task[None] | None = None

    def after_turn(self, runtime: Runtime) -> None:
        """Start writing one after the first turn of a session without a name."""
        model = runtime.settings.summarization_model
        # The embedded model is too small for titles: it repeats the prompt, or answers it.
        is_enabled = self._environment.names_sessions and model not in ("", EMBEDDED)
        would_wait = model == runtime.model_handle.name and runtime.model_handle.one_at_a_time
        if is_enabled and not would_wait and self._writing is None and self._is_new:
            self._writing = asyncio.create_task(self._write(model, runtime))

    async def cancel(self) -> None:
        """Stop writing."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait({self._writing})

    @property
    def _is_new(self) -> bool:
        state = self._recorder.state
        return state.turn == 1 and not any(isinstance(event.fact, SessionRename) for event in state.timeline)

    async def _write(self, model: str, runtime: Runtime) -> None:
        prompt, reply = (self._message_text(role) for role in ("user", "assistant"))
        if not prompt or not reply:
            return
        bill = Bill(TITLE, model=model, record=self._recorder.record_eventually)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                title = await write_title(await self._models.get(model), prompt, reply, bill.of)
        except Exception:
            return  # the prompt serves as a title, and turns report what is wrong with a provider
        if title:
            origin = self._environment.origin(runtime.model_handle.name, runtime.settings.policy)
            await self._recorder.record_eventually(SessionRename(title=title, by=model).but(**origin))

    def _message_text(self, role: str) -> str:
        """The user's first message, or the model's last."""
        texts = [
            text
            for entry in self._recorder.state.history
            for each, text, _ in pieces(entry.message)
            if each == role and text.strip()
        ]
        return texts[0 if role == "user" else -1] if texts else ""
