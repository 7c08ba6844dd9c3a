"""What a test's co-tui keeps, looked at from outside."""

from pathlib import Path

from co_tui.events import Event
from co_tui.paths import locate
from co_tui.session.state.derive import replay
from co_tui.session.state.session_state import SessionState
from co_tui.store.port import Store
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.stored_values import SessionRow


def store_in(home: Path) -> SqliteStore:
    """A store of its own on the same files, as another process has it."""
    return SqliteStore(locate({"CO_TUI_HOME": str(home)}))


def listed(home: Path) -> list[SessionRow]:
    with store_in(home).reading() as reading:
        return reading.sessions()


def stored_events(home: Path, session_id: str, upto: int | None = None) -> list[Event]:
    with store_in(home).reading() as reading:
        return list(reading.events(session_id, upto=upto))


def replayed(home: Path, session_id: str) -> SessionState:
    return replay(stored_events(home, session_id))


def keep_since_then(store: Store, log: list[Event]) -> None:
    """A session that has been here since it was used last."""
    store.writing().import_log(log, keeps_age=True).result()
