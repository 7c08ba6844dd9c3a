"""Pins, the trash, and what is cleaned up: changes to sessions that are not open.

A session in the trash can be restored for `TRASH_DAYS`; then it is deleted.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import NamedTuple

from co_tui.events import Fact, SessionPinned, SessionTrashed
from co_tui.store.port import Reading, Store
from co_tui.store.store_errors import SessionBusy, SessionNotFound
from co_tui.store.stored_values import SessionRow
from co_tui.store.timestamps import written

TRASH_DAYS = 30
RETENTION = "retention"
"""Reason recorded for sessions that retention moved to the trash."""
AT_ONCE = 100
"""Sessions changed per batch, so that thousands do not each wait for the disk."""


def pin(store: Store, session_id: str, *, pinned: bool = True) -> None:
    """Pin or unpin a session: pinned ones are listed first and never cleaned up. Raises `SessionBusy`."""
    _log(store, session_id, SessionPinned(pinned=pinned))


def move_to_trash(store: Store, session_id: str) -> None:
    """Raises `SessionBusy`."""
    _log(store, session_id, SessionTrashed())


def restore_from_trash(store: Store, session_id: str) -> None:
    """Raises `SessionBusy`."""
    _log(store, session_id, SessionTrashed(trashed=False))


def delete_forever(store: Store, session_id: str) -> None:
    """Delete a session with its messages and files, in the trash or not. Raises `SessionBusy`."""
    with store.claim(session_id):
        store.delete(session_id)


def delete_trash(store: Store, rows: Iterable[SessionRow]) -> Iterator[SessionRow]:
    """Delete trashed sessions one by one, and yield each; those opened or changed by then are left."""
    return (row for row in rows if _delete(store, row))


def _log(store: Store, session_id: str, fact: Fact) -> None:
    with store.claim(session_id):
        store.writing().append(session_id, [fact]).result()


class CleanUp(NamedTuple):
    """Sessions to move to the trash, and trashed ones to delete."""

    trashed: tuple[SessionRow, ...] = ()
    deleted: tuple[SessionRow, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.trashed or self.deleted)


def planned_clean_up(store: Store, *, retention_days: int, policy: str = "", now: datetime) -> CleanUp:
    """What a clean-up would do now; never touches a pinned or open session.

    `retention_days` of 0 keeps sessions forever; `policy` limits the clean-up to its sessions.
    """
    claimed = store.claimed()
    with store.reading() as reading:
        unused = reading.unused_since(written(now - timedelta(days=retention_days))) if retention_days else []
        forgotten = reading.trashed_before(written(now - timedelta(days=TRASH_DAYS)))
    return CleanUp(
        tuple(row for row in unused if row.id not in claimed and (not policy or row.policy == policy)),
        tuple(row for row in forgotten if row.id not in claimed),
    )


def clean_up(store: Store, what: CleanUp) -> CleanUp:
    """Carry out a plan and return what was done, skipping sessions that were opened or changed by then."""
    trashed: list[SessionRow] = []
    for start in range(0, len(what.trashed), AT_ONCE):
        trashed += _trash(store, what.trashed[start : start + AT_ONCE])
    return CleanUp(tuple(trashed), tuple(row for row in what.deleted if _delete(store, row)))


def _trash(store: Store, rows: tuple[SessionRow, ...]) -> list[SessionRow]:
    with ExitStack() as claims, store.reading() as reading:
        ours = [row for row in rows if _claimed_unchanged(store, reading, row, claims)]
        fact = SessionTrashed(reason=RETENTION)
        for done in [store.writing().append(row.id, [fact]) for row in ours]:
            done.result()
    return ours


def _delete(store: Store, row: SessionRow) -> bool:
    with ExitStack() as claims, store.reading() as reading:
        if not _claimed_unchanged(store, reading, row, claims):
            return False
        store.delete(row.id)
    return True


def _claimed_unchanged(store: Store, reading: Reading, row: SessionRow, claims: ExitStack) -> bool:
    try:
        claims.enter_context(store.claim(row.id))
        return reading.session(row.id) == row
    except (SessionBusy, SessionNotFound):
        return False
