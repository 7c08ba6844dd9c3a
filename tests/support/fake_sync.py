"""A sync that tests decide about: what a server has, and why it cannot be reached."""

from collections.abc import Callable
from pathlib import Path

from co_tui.paths import locate
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.sqlite.synced_rows import list_others
from co_tui.store.stored_values import SessionRow
from co_tui.store.sync.sync import NO_LEASE, NoSync, SyncLease, Unpushed

SERVER = "postgresql://db.example/talks"


class FakeSync(NoSync):
    """Does what a test sets."""

    server = SERVER

    def __init__(self) -> None:
        self.trouble = ""
        self.refreshed: list[str] = []
        self.pull: Callable[[str], object] = lambda session_id: None
        """Called by each refresh and each lease."""
        self.now = Unpushed()
        self._show: Callable[[Unpushed], None] = lambda unpushed: None

    def refresh(self, session_id: str = "") -> str:
        self.refreshed.append(session_id)
        self.pull(session_id)
        return self.trouble

    def lease(self, session_id: str, *, take_over: bool, is_new: bool) -> SyncLease:
        self.pull(session_id)
        return NO_LEASE

    def unpushed(self) -> Unpushed:
        return self.now

    def show_unpushed(self, show: Callable[[Unpushed], None]) -> None:
        self._show = show
        show(self.now)

    def change_unpushed(self, unpushed: Unpushed) -> None:
        self.now = unpushed
        self._show(unpushed)


def synced_store(home: Path, sync: FakeSync) -> SqliteStore:
    return SqliteStore(locate({"CO_TUI_HOME": str(home)}), lambda _: sync)


def list_shared(store: SqliteStore, session_id: str, title: str, *, owner: str = "alice", last_seq: int = 2) -> None:
    """A session of another user, whose text is not here."""
    when = "2026-01-01T10:00:00Z"
    figures = (last_seq, 1, 1, 0, None, None, 0.0)
    row = SessionRow(session_id, title, when, when, "m", "", "/w", "", "", *figures, owner=owner)
    store.writing().change(lambda connection: list_others(connection, [row])).result()
