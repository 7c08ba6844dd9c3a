"""Where a session goes on that worked in another folder: there or here, as the user likes."""

import asyncio
from pathlib import Path
from typing import Protocol

from co_tui.paths import path_text
from co_tui.session.state.session_state import SessionState
from co_tui.ui.background import start_awaited
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.live_settings import LiveSettings
from co_tui.ui.control.resume_questions import ResumeQuestions
from co_tui.ui.formatting import folder


class ShownSession(Protocol):
    """The session that is shown, open or not."""

    @property
    def session_id(self) -> str: ...

    @property
    def state(self) -> SessionState: ...

    @property
    def has_unsent(self) -> bool:
        """Whether a prompt waits for it."""


class FolderChoice:
    """Asked once while a session is shown, and at once: the engine may load meanwhile."""

    def __init__(
        self, chat: ChatScreen, questions: ResumeQuestions, settings: LiveSettings, shown: ShownSession
    ) -> None:
        self._chat, self._questions, self._settings, self._shown = chat, questions, settings, shown
        self._settled: tuple[str, asyncio.Task[None]] | None = None

    def settle(self) -> "asyncio.Task[None]":
        """Done when the folder is that of the session that is shown, or the user stays here."""
        session_id = self._shown.session_id
        if self._settled is None or self._settled[0] != session_id:
            self._settled = (session_id, start_awaited(self._choose(session_id)))
        return self._settled[1]

    async def _choose(self, session_id: str) -> None:
        state, here = self._shown.state, self._settings.launch.cwd
        if not state.cwd or state.cwd == path_text(here):
            return
        is_there = await asyncio.to_thread(Path(state.cwd).is_dir)
        if not is_there or self._shown.has_unsent:
            gone = "" if is_there else ", which is gone"
            worked_in, present = folder(state.cwd), folder(path_text(here))
            self._chat.feed.note(f"This session worked in {worked_in}{gone}; it goes on in {present}.")
            return
        chosen = await self._questions.folder(state.cwd, state.model, here)
        if chosen != here and self._shown.session_id == session_id:
            await self._settings.move(chosen)
