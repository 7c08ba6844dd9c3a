"""Open the shown session for writing, or settle what prevents it: another process, another folder, its model."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from co_tui.events import Event
from co_tui.session.state.session_state import SessionState
from co_tui.store.store_errors import SessionBusy, SessionOfAnother, StoreError
from co_tui.ui.background import in_own_thread, run_in_background, start_awaited
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.resume_questions import ElsewhereAnswer, FolderChoice, ResumeQuestions, ShownSession
from co_tui.ui.control.stored_transcript import OlderMessages

if TYPE_CHECKING:
    from co_tui.session.recorder import Listener
    from co_tui.session.session import Session


class SwitchedSession(ShownSession, Protocol):
    """The session on the screen, and how another takes its place."""

    session_id: str
    older: OlderMessages

    @property
    def session(self) -> "Session | None":
        """The session, if it is open."""

    def is_shown(self, session_id: str) -> bool:
        """False once the user left it."""

    def show_stored(self, session_id: str) -> None: ...

    def show_replayed(self, state: SessionState) -> None: ...

    def follow(self, events: AsyncIterator[tuple[Event, SessionState]]) -> None: ...

    async def switch_session(self, session_id: str) -> None: ...


class _OpenElsewhere(NamedTuple):
    """A session that was known to be open elsewhere before it could be opened here, and the user's answer to come."""

    session_id: str
    busy: SessionBusy
    answer: "asyncio.Task[ElsewhereAnswer]"


class OpenedSession(NamedTuple):
    """A session that is open for writing, and its events from there on."""

    session: "Session"
    listener: "Listener"


class SessionOpening:
    """Opens one session at a time. What prevents it is asked about or shown in the chat."""

    def __init__(
        self,
        chat: ChatScreen,
        backend: Backend,
        questions: ResumeQuestions,
        folder_choice: FolderChoice,
        shown: SwitchedSession,
    ) -> None:
        self._chat, self._backend, self._questions, self._shown = chat, backend, questions, shown
        self._folder_choice = folder_choice
        self._under_way = 0
        self._known_elsewhere: _OpenElsewhere | None = None
        self._read_only_id = ""
        """The session that another process writes and that is read-only here."""
        self._came_from: str | None = None
        """The session shown before the one being opened; None if there was none."""

    @property
    def is_under_way(self) -> bool:
        """Whether a session is being opened, or a question about that is open."""
        return self._under_way > 0

    @property
    def is_read_only(self) -> bool:
        """Whether another process has the shown session open, and it is only read here."""
        shown = self._shown
        return shown.session is None and bool(shown.session_id) and self._read_only_id == shown.session_id

    def begin(self, came_from: str | None) -> None:
        """Another session is shown now. `came_from` is the one to return to if it cannot be opened."""
        self._came_from, self._read_only_id = came_from, ""
        self._known_elsewhere = None

    def look_ahead(self) -> None:
        """Ask about the shown session at once if it is known to be open elsewhere: the engine loads for seconds, in
        which a user begins to type."""
        session_id = self._shown.session_id
        try:
            busy = self._backend.launch.store.open_elsewhere(session_id) if session_id else None
        except StoreError:
            return  # said when it is opened
        if busy is not None:
            answer = start_awaited(self._questions.elsewhere(busy))
            self._known_elsewhere = _OpenElsewhere(session_id, busy, answer)

    def settle_folder(self) -> None:
        """Ask about the shown session's folder while the engine still loads; one question at a time."""
        if self._known_elsewhere is None:
            self._folder_choice.settle()

    def __enter__(self) -> None:
        """Until it is left, prompts and commands wait."""
        self._under_way += 1

    def __exit__(self, *_: object) -> None:
        self._under_way -= 1

    async def open(self, session_id: str, model: str) -> OpenedSession | None:
        """Resume a session, or start one if the id is empty. None if that failed, or if the user left it."""
        known, self._known_elsewhere = self._known_elsewhere, None
        if known is not None and known.session_id == session_id:
            answer = await known.answer
            if answer == "fork":
                await self._folder_choice.settle()
            return await self._open_elsewhere(session_id, model, known.busy, answer)
        if session_id:
            await self._folder_choice.settle()
        return await self._opened(session_id, model) if self._shown.session_id == session_id else None

    async def _opened(self, session_id: str, model: str, *, take_over: bool = False) -> OpenedSession | None:
        from co_tui.agent.wire.model_errors import ModelUnusable
        from co_tui.session.recorder import Listener

        listener = Listener()
        try:
            if session_id:
                session = await self._backend.resume(session_id, model, listener, take_over=take_over)
            else:
                session = await self._backend.start(listener)
        except SessionBusy as busy:
            return await self._open_elsewhere(session_id, model, busy, await self._questions.elsewhere(busy))
        except ModelUnusable as unusable:
            return await self._open_with_another_model(session_id, model, str(unusable))
        except StoreError as error:
            self._chat.feed.note(str(error), "error")
            return None
        except Exception as error:  # whatever it is, the user must see it
            self._chat.feed.note(f"Cannot open the session: {type(error).__name__}: {error}", "error")
            return None
        if not self._shown.is_shown(session_id):  # the user left while it was being opened
            await session.close("left")
            return None
        return OpenedSession(session, listener)

    async def _open_elsewhere(
        self, session_id: str, model: str, busy: SessionBusy, answer: ElsewhereAnswer
    ) -> OpenedSession | None:
        """A session has one writer: read it, continue in a copy, or take it from a machine that did not close it."""
        shown = self._shown
        if not shown.is_shown(session_id):
            return None
        if answer == "take over":
            return await self._opened(session_id, model, take_over=True)
        if answer in ("fork", "read"):
            not_refreshed = await in_own_thread(self._backend.launch.store.sync.refresh, session_id)
            if not shown.is_shown(session_id):
                return None
        if answer == "fork":
            shown.session_id = await self._backend.fork(session_id)
            shown.show_stored(shown.session_id)
            self._chat.feed.note("Forked. The original is unchanged.")
            self._note(not_refreshed)
            return await self._opened(shown.session_id, model)
        if answer == "read":
            await self._read_only(isinstance(busy, SessionOfAnother))
            self._note(not_refreshed)
        elif self._came_from is not None and not self.is_read_only:
            back = partial(shown.switch_session, self._came_from)
            run_in_background(self._chat.app, "Going back", back, group="return", latest=True)
        return None

    def _note(self, trouble: str) -> None:
        if trouble:
            self._chat.feed.note(trouble)

    async def _read_only(self, of_another: bool) -> None:
        """Show the whole state of a session that another process writes, or another user owns, and follow it."""
        shown = self._shown
        stored = shown.older.stored
        state = await asyncio.to_thread(stored.replayed) if stored is not None else SessionState()
        if shown.older.stored is not stored:
            return
        shown.show_replayed(state)
        stored = shown.older.stored  # read again if the log has grown
        if stored is not None:
            self._read_only_id = shown.session_id
            again = "/fork continues in a copy." if of_another else "Send a prompt to try again."
            self._chat.feed.note(f"Read-only: new messages from the other co-tui appear here. {again}")
            shown.follow(stored.new_events(shown.state, lambda: shown.older.stored is stored and shown.session is None))

    async def _open_with_another_model(self, session_id: str, model: str, why: str) -> OpenedSession | None:
        """The session's own model is unusable: offer the default model, if that is another."""
        usual, own = self._backend.launch.choice.model, self._shown.state.model
        if session_id and not model and usual != own:
            if other := await self._questions.another_model(own, why, usual):
                return await self._opened(session_id, other) if self._shown.session_id == session_id else None
        else:
            self._chat.feed.note(why, "error")
        return None
