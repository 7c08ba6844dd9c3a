"""What a store does with other machines, and the sync of a store that has none."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from co_tui.events.wording import counted
from co_tui.store.store_errors import NOT_SHARED, StoreError
from co_tui.store.sync.files.synced_file import LOCAL_FILES, FileSync

if TYPE_CHECKING:
    from concurrent.futures import Future

REFRESH_S: Final = 3.0
"""How long a refresh waits for a server."""


class Unpushed(NamedTuple):
    """What is only on this machine as yet."""

    sessions: int = 0
    files: int = 0
    reason: str = ""
    """Why, in a sentence; empty while it is on its way."""

    def __bool__(self) -> bool:
        return bool(self.sessions or self.files)

    @property
    def text(self) -> str:
        """As `2 sessions not pushed yet`; empty when all is pushed."""
        parts = [counted(number, what) for number, what in ((self.sessions, "session"), (self.files, "file")) if number]
        return f"{' and '.join(parts)} not pushed yet" if parts else ""


class SyncLease(Protocol):
    """The right to write a session, over all machines."""

    def release(self) -> None:
        """Returns at once; repeated calls do nothing."""
        ...


class Sync(Protocol):
    """Carries sessions and files between machines, in a thread. No method but `refresh` and `lease` waits, and these
    wait a few seconds at most."""

    @property
    def server(self) -> str:
        """The server for people; empty without one."""
        ...

    @property
    def files(self) -> FileSync:
        """Keeps the files of sessions, projects and the user equal on all machines."""
        ...

    def report_to(self, report: Callable[[str], None]) -> None:
        """Report here, from any thread, what people should know: the server is away or back, a session was forked."""
        ...

    def show_unpushed(self, show: Callable[[Unpushed], None]) -> None:
        """Call this, from any thread, with what is not pushed yet, now and whenever it changes."""
        ...

    def refresh(self, session_id: str = "") -> str:
        """Pull what is new, of one session or of all. Returns why that was not possible; empty if it was."""
        ...

    def complete(self) -> None:
        """Push and pull everything, however long it takes. Raises `StoreError` when something is left."""
        ...

    def unpushed(self) -> Unpushed:
        """What is only on this machine, by this or any other process. Read from the disk."""
        ...

    def lease(self, session_id: str, *, take_over: bool, is_new: bool) -> SyncLease:
        """Ask for the right to write a session, and pull its newest events. Away, it is granted and asked for later.

        A new one is granted at once. Raises `SessionBusy`.
        """
        ...

    def leased(self) -> frozenset[str]:
        """The sessions that other machines are writing, as last known."""
        ...

    def changed(self, session_ids: frozenset[str]) -> None:
        """Sessions were written here: push them soon."""
        ...

    def share(self, session_id: str, *, shared: bool) -> "Future[None]":
        """Let all users of the server read and fork a session, or no longer; open or not. Raises `StoreError`."""
        ...

    def close(self) -> None:
        """Push what can be pushed within a few seconds. What is left is pushed by the next start."""
        ...


class NoSync:
    """Of a store that stays on this machine."""

    server = ""
    files = LOCAL_FILES

    def report_to(self, report: Callable[[str], None]) -> None: ...

    def show_unpushed(self, show: Callable[[Unpushed], None]) -> None: ...

    def refresh(self, session_id: str = "") -> str:
        return ""

    def complete(self) -> None: ...

    def unpushed(self) -> Unpushed:
        return Unpushed()

    def lease(self, session_id: str, *, take_over: bool, is_new: bool) -> "SyncLease":
        return NO_LEASE

    def leased(self) -> frozenset[str]:
        return frozenset()

    def changed(self, session_ids: frozenset[str]) -> None: ...

    def share(self, session_id: str, *, shared: bool) -> "Future[None]":
        from concurrent.futures import Future

        done: Future[None] = Future()
        done.set_exception(StoreError(NOT_SHARED))
        return done

    def close(self) -> None: ...


class NoLease:
    """Nothing to release."""

    def release(self) -> None: ...


NO_LEASE: Final = NoLease()
NO_SYNC: Final = NoSync()
