"""Which events cannot begin a log."""

from collections.abc import Sequence

from co_tui.events import BoardChanged, Fact, SessionPinned, SessionRename, SessionResume, SessionTrashed
from co_tui.store.store_errors import SessionNotFound

_NEEDS_SESSION = (SessionResume, SessionRename, SessionPinned, SessionTrashed, BoardChanged)


def check_first_event(session_id: str, facts: Sequence[Fact]) -> None:
    """Raise `SessionNotFound` for a change to a missing session: a deleted one stays deleted."""
    if facts and isinstance(facts[0], _NEEDS_SESSION):
        raise SessionNotFound(f"Session {session_id} no longer exists.")
