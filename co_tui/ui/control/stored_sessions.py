"""Find, rename, pin, fork, export and delete stored sessions, open or not."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from co_tui.paths import path_text
from co_tui.session.slash.sessions_commands import write_export
from co_tui.store.housekeeping import move_to_trash, pin, restore_from_trash
from co_tui.store.port import Store
from co_tui.store.store_errors import SessionNotFound, StoreError
from co_tui.ui.background import in_own_thread
from co_tui.ui.control.backend import Backend

if TYPE_CHECKING:
    from co_tui.session.session import Session


class OpenSession(Protocol):
    """The session open here, and how to leave it."""

    resume_hint: str
    """The command that resumes the session left last."""

    @property
    def session(self) -> "Session | None": ...

    @property
    def session_id(self) -> str:
        """Of the session that is shown, open or not."""

    def require_saved(self) -> None:
        """Raises `StoreError` while leaving would lose messages."""

    async def switch_session(self, session_id: str) -> None:
        """An empty id starts a new one. Raises `StoreError` as `require_saved`."""


class StoredSessions:
    """Changes stored sessions; refuses those open elsewhere. All methods raise `StoreError`."""

    def __init__(self, backend: Backend, here: OpenSession) -> None:
        self._backend, self._here = backend, here

    @property
    def _store(self) -> Store:
        return self._backend.launch.store

    async def find(self, name: str) -> str:
        """The id of a session, from a part of it; one that is not here yet is pulled."""
        try:
            return self._found(name)
        except SessionNotFound as unknown:
            if trouble := await self.refresh():
                raise SessionNotFound(f"{unknown} {trouble}") from None
            return self._found(name)

    def _found(self, name: str) -> str:
        with self._store.reading() as reading:
            return reading.session(name).id

    async def refresh(self, session_id: str = "") -> str:
        """Pull what is new of one session or of all; returns why that was not possible."""
        return await in_own_thread(self._store.sync.refresh, session_id)

    async def rename(self, session_id: str, title: str) -> None:
        if (session := self._open(session_id)) is not None:
            await session.rename(title)
        else:
            await self._backend.rename(session_id, title)

    async def keep_first(self, session_id: str, pinned: bool) -> None:
        """Pin it to the top of every list, or unpin it."""
        if (session := self._open(session_id)) is not None:
            await session.pin_to_top(pinned)
        else:
            await asyncio.to_thread(pin, self._store, session_id, pinned=pinned)

    async def share(self, session_id: str, *, shared: bool) -> None:
        """Let other users of the database read it, or no longer."""
        self._require_engine()
        await asyncio.wrap_future(self._store.sync.share(session_id, shared=shared))

    async def trash(self, session_id: str) -> None:
        await self._leave(session_id)
        await asyncio.to_thread(move_to_trash, self._store, session_id)
        self._forget_resume_hint(session_id)

    async def restore(self, session_id: str) -> None:
        """Take it out of the trash."""
        self._require_engine()
        await asyncio.to_thread(restore_from_trash, self._store, session_id)

    async def delete(self, session_id: str) -> None:
        """Delete it permanently."""
        await self._leave(session_id)
        await self._backend.delete(session_id)
        self._forget_resume_hint(session_id)

    def _forget_resume_hint(self, session_id: str) -> None:
        if session_id in self._here.resume_hint:
            self._here.resume_hint = ""

    async def fork(self, session_id: str, upto: int | None = None) -> None:
        """Continue in a copy, of all of it or up to a seq."""
        self._require_engine()
        self._here.require_saved()  # else the copy would be left unused
        await self._here.switch_session(await self._backend.fork(session_id, upto))

    async def export(self, session_id: str, form: str) -> str:
        """Write it to a new file of the present folder; returns the file."""
        return path_text(await write_export(self._backend.launch, session_id, form))

    def _open(self, session_id: str) -> "Session | None":
        """The session, if it is open here."""
        self._require_engine()
        session = self._here.session
        return session if session is not None and session.id == session_id else None

    async def _leave(self, session_id: str) -> None:
        """Switch to a new session if this one is shown; one open elsewhere stays shown, and is refused later."""
        is_ours = self._open(session_id) is not None or session_id not in self._store.claimed()
        if is_ours and session_id == self._here.session_id:
            await self._here.switch_session("")

    def _require_engine(self) -> None:
        if not self._backend.ready:
            raise StoreError("Still starting. Try again in a moment.")
