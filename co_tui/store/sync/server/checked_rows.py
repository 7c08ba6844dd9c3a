"""Checks of what a server returns. A row that no co-tui would have written is refused with a sentence."""

import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from co_tui.events import Event
from co_tui.events.event import build, stored
from co_tui.events.storable import storable, storable_text
from co_tui.inert import one_line
from co_tui.store.stored_values import Deletion, SessionRow
from co_tui.store.sync.deleted_words import MOST_CHARS

MOST_TEXT_CHARS: Final = 1_000
"""Of a title, a folder, or another column that is listed."""
_MOST: Final = 10**12
"""Larger numbers are not counted by anyone."""
_MOST_SEQ: Final = 1 << 62
_MOST_VERSION: Final = 10_000
_MOST_TYPE_CHARS: Final = 100
_CLOCK_DIFFERENCE: Final = timedelta(days=1)
_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:@+~=-]{0,127}")
_SHOWN_CHARS: Final = 60


class BadRows(Exception):
    """What the server returned cannot be used; the text is a sentence for people."""


def is_session_id(value: object) -> bool:
    """Whether it can be a session's ID: short and of harmless characters, as it also names files."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def checked_own(row: Sequence[Any]) -> tuple[str, int, bool]:
    """ID, last seq, and whether it is shared. Raises `BadRows`."""
    session_id, last_seq, shared = row
    if not is_session_id(session_id) or not _is_count(last_seq):
        raise BadRows(f"Session {_shown(session_id)} on the server is left out: its row is damaged.")
    return session_id, last_seq, shared is True


def checked_other(row: SessionRow) -> SessionRow:
    """A session that another user shares, with texts that can be shown. Raises `BadRows`."""
    problem = _problem(row)
    if problem:
        raise BadRows(f"Session {_shown(row.id)}, shared by {_shown(row.owner)}, is left out of the list: {problem}.")
    values: dict[str, Any] = {
        name: one_line(storable_text(value), MOST_TEXT_CHARS) if isinstance(value, str) else value
        for name, value in row._asdict().items()
    }
    return SessionRow(**{**values, "pinned": False, "trashed": "", "shared": True})


def _problem(row: SessionRow) -> str:
    """Why a row cannot be used; empty if it can."""
    texts = (row.title, row.model, row.policy, row.cwd, row.repository, row.branch, row.repository_id, row.owner)
    counts = (row.last_seq, row.turns, row.messages, row.compactions, row.tokens or 0, row.token_limit or 0)
    if not is_session_id(row.id):
        return "its ID is not valid"
    if not all(isinstance(text, str) for text in texts) or not row.owner:
        return "a text is missing"
    if not _is_time(row.created) or not _is_time(row.updated):
        return "its time is not valid"
    if not all(map(_is_count, counts)) or not all(map(_is_amount, (row.cost, row.summary_cost))):
        return "a number is not valid"
    return ""


def checked_event(session_id: str, seq: int, row: Sequence[Any]) -> Event:
    """The event of a row, which must have this seq. Raises `BadRows`."""
    found, kind, timestamp, version, payload = row
    if found != seq:
        raise BadRows(f"The server lacks event {seq} of session {session_id}.")
    is_valid = isinstance(kind, str) and 0 < len(kind) <= _MOST_TYPE_CHARS and isinstance(payload, str)
    is_valid = is_valid and isinstance(version, int) and 0 < version <= _MOST_VERSION
    if not is_valid or not _is_time(timestamp, latest=None):
        raise BadRows(f"Event {seq} of session {session_id} on the server is damaged.")
    try:
        read = json.loads(payload)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        return stored(session_id, seq, kind, timestamp, version, payload)
    return build(session_id, seq, kind, timestamp, version, storable(read))


def checked_deletion(row: Sequence[Any]) -> Deletion | None:
    """None for one that cannot be used."""
    session_id, at, seq, deleted, said = row
    # A decision right after another has the same time and a mark behind it.
    is_valid = is_session_id(session_id) and isinstance(at, str) and _is_time(at.rstrip("+"), latest=None)
    is_valid = is_valid and _is_count(seq, _MOST_SEQ) and isinstance(deleted, bool)
    is_valid = is_valid and isinstance(said, str) and len(said) <= MOST_CHARS
    return Deletion(session_id, at, seq, deleted, said) if is_valid else None


def _is_time(value: object, latest: timedelta | None = _CLOCK_DIFFERENCE) -> bool:
    if not isinstance(value, str) or len(value) > _MOST_TYPE_CHARS:
        return False
    try:
        time = datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return latest is None or time < datetime.now(UTC) + latest


def _is_count(value: object, most: int = _MOST) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_amount(value: object) -> bool:
    return isinstance(value, float | int) and math.isfinite(value) and 0 <= value <= _MOST


def _shown(value: object) -> str:
    return one_line(str(value), _SHOWN_CHARS) or "without a name"
