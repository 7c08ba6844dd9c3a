"""What a session's log cannot begin with."""

from collections.abc import Sequence

from co_tui.events import BoardChanged, Fact, SessionPinned, SessionRename, SessionResume, SessionTrashed
from co_tui.store.store_errors import SessionNotFound

_OF_WHAT_IS_THERE = (SessionResume, SessionRename, SessionPinned, SessionTrashed, BoardChanged)


def check_first_event(session_id: str, facts: Sequence[Fact]) -> None:
    """Raises `SessionNotFound` for a change to a session that is not there: one that was deleted stays deleted."""
    if facts and isinstance(facts[0], _OF_WHAT_IS_THERE):
        raise SessionNotFound(f"There is no session {session_id} any more.")
