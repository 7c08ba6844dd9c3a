"""The right to write a session, as a row with a number and an expiry by the server's clock. Each user has their own.

Taking a session over raises the number, so that a laptop that wakes up late knows that its lease is lost.
"""

import contextlib
import hashlib
import os
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.inert import one_line
from co_tui.store.store_errors import SessionAbandoned, SessionBusy, SessionOfAnother
from co_tui.store.sync.server.policies import OWN
from co_tui.store.sync.server.server import Connection

LEASE_S: Final = 60
"""Without a word from its writer, a session can be taken over after this time."""
RENEW_S: Final = LEASE_S / 3
_IN_A_MINUTE: Final = f"now() + interval '{LEASE_S} seconds'"
_MINE: Final = "leases.owner = current_user::text"
_LIVE: Final = f"(leases.expires > now() AND leases.expires <= now() + interval '{2 * LEASE_S} seconds')"
"""A later expiry is none that co-tui has written."""
_OF_ANOTHER: Final = f"SELECT left(s.owner, 100) FROM sessions s WHERE s.id = %(session_id)s AND NOT {OWN}"
_TAKE: Final = (
    "INSERT INTO leases(session_id, writer, host, machine, process, expires)"
    " SELECT %(session_id)s::text, %(writer)s::text, %(host)s::text, %(machine)s::text,"
    f" %(process)s::bigint, {_IN_A_MINUTE} WHERE NOT EXISTS ({_OF_ANOTHER})"
    " ON CONFLICT (owner, session_id) DO UPDATE SET number = excluded.number, writer = excluded.writer,"
    " host = excluded.host, machine = excluded.machine, process = excluded.process, expires = excluded.expires"
    # Its own row that it does not hold: the answer to an earlier request was lost.
    " WHERE (leases.writer = %(writer)s AND leases.number <> ALL(%(held)s::bigint[]))"
    # From before a restart of this computer.
    f" OR (NOT {_LIVE} AND leases.machine <> %(machine)s AND leases.host = %(host)s"
    " AND split_part(leases.machine, '.', 2) = %(computer)s)"
    f" OR (NOT {_LIVE} AND %(take_over)s) OR leases.number = %(abandoned)s RETURNING number"
)
_EXPIRES: Final = f"greatest(least(expires, {_IN_A_MINUTE}), 'epoch'::timestamptz)"
"""Python knows no infinity."""
_LEASE: Final = f"number, left(writer, 100), left(host, 100), left(machine, 100), process, {_LIVE}, {_EXPIRES}"
FIND_LEASE: Final = f"SELECT {_LEASE} FROM leases WHERE {_MINE} AND session_id = %s"
"""Of a session of this user, live or not; for `lease_in`."""
_ALL_LIVE: Final = f"SELECT session_id, {_LEASE} FROM leases WHERE {_MINE} AND {_LIVE}"
_RENEW: Final = (
    f"UPDATE leases SET expires = {_IN_A_MINUTE} WHERE {_MINE} AND writer = %s AND number = ANY(%s::bigint[])"
    " RETURNING session_id"
)
FORGET_LEASES: Final = f"DELETE FROM leases WHERE {_MINE} AND NOT {_LIVE} AND expires < now() - interval '30 days'"
"""Those of a machine that never came back."""


class Owner(NamedTuple):
    """A process that writes."""

    writer: str
    """New each time a store is opened."""
    host: str
    machine: str
    """Equal for processes that can see each other."""
    process: int


class Lease(NamedTuple):
    """Who has a session."""

    number: int
    writer: str
    host: str
    machine: str
    process: int
    is_live: bool
    """Not expired."""
    expires: datetime


class Leases:
    """Those that this process holds. Used by one thread."""

    def __init__(self, host: str) -> None:
        self.owner = Owner(uuid.uuid4().hex, host, _machine(), os.getpid())
        self._held: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def number_of(self, session_id: str) -> int:
        """0 for a session that this process does not hold."""
        return self._held.get(session_id, 0)

    def take(self, connection: Connection, session_id: str, *, take_over: bool = False) -> int:
        """Take a session of this user that no process has; returns the lease's number. Raises `SessionBusy`.

        One that another machine had and did not release is taken only with `take_over`, once that lease has run out.
        """
        asked = {"session_id": session_id, **self.owner._asdict(), "held": [*self._held.values()], "abandoned": -1}
        asked |= {"take_over": take_over, "computer": _machine().partition(".")[2]}
        taken = connection.execute(_TAKE, asked).fetchone()
        if taken is None:
            if (owner := connection.execute(_OF_ANOTHER, asked).fetchone()) is not None:
                raise SessionOfAnother.of(session_id, owner[0])
            lease = lease_in(connection.execute(FIND_LEASE, (session_id,)).fetchone())
            if lease is not None and is_dead(lease):
                taken = connection.execute(_TAKE, {**asked, "abandoned": lease.number}).fetchone()
        if taken is None:
            raise _refusal(session_id, lease)
        self._held[session_id] = int(taken[0])
        return int(taken[0])

    def release_all_but(self, connection: Connection, session_ids: Collection[str]) -> None:
        for session_id in self._held.keys() - set(session_ids):
            self.release(connection, session_id)

    def release(self, connection: Connection, session_id: str) -> None:
        """Nothing happens to a lease that another process has taken over."""
        number = self._held.pop(session_id, None)
        if number is not None:
            statement = f"DELETE FROM leases WHERE {_MINE} AND session_id = %s AND number = %s"
            connection.execute(statement.encode(), (session_id, number))

    def renew(self, connection: Connection) -> set[str]:
        """Returns the sessions that were taken over: their lease is lost."""
        if not self._held:
            return set()
        rows = connection.execute(_RENEW, (self.owner.writer, list(self._held.values()))).fetchall()
        lost = self._held.keys() - {session_id for (session_id,) in rows}
        self._held = {session_id: number for session_id, number in self._held.items() if session_id not in lost}
        return lost

    def release_all(self, connection: Connection) -> None:
        connection.execute(f"DELETE FROM leases WHERE {_MINE} AND writer = %s".encode(), (self.owner.writer,))
        self._held.clear()

    def live(self, connection: Connection) -> dict[str, Lease]:
        """The sessions of this user that are held now, with their holders."""
        rows = connection.execute(_ALL_LIVE).fetchall()
        leases = {session_id: Lease(*lease) for session_id, *lease in rows}
        return {session_id: lease for session_id, lease in leases.items() if not is_dead(lease)}


def lease_in(row: tuple[Any, ...] | None) -> Lease | None:
    """What `FIND_LEASE` found."""
    return Lease(*row) if row else None


def _refusal(session_id: str, lease: Lease | None) -> SessionBusy:
    if lease is None or lease.is_live:
        where = _where(lease) if lease else "unknown"  # taken in this very moment
        sentence = f"Session {session_id} is open in another co-tui ({where}). Close it there, or start a new session."
        return SessionBusy(sentence, str(lease.process) if lease else "")
    until = (lease.expires - timedelta(seconds=LEASE_S)).astimezone()
    host = one_line(lease.host, 60) or "another machine"
    return SessionAbandoned(
        f"Session {session_id} was being written on {host} until {until:%Y-%m-%d %H:%M} and was not closed there. "
        "Open it in the app, or add --take-over to `co-tui run`, to continue it here.",
        host,
        until,
    )


def _where(lease: Lease) -> str:
    return f"process {lease.process} on {one_line(lease.host, 60)}" if lease.host else "unknown"


def is_dead(lease: Lease) -> bool:
    """Whether its process was on this machine and has ended, as after a crash."""
    if lease.machine != _machine():
        return False
    try:
        os.kill(lease.process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@cache
def _machine() -> str:
    """Differs between machines, after a restart, and between containers, whose processes have the same numbers.

    What comes after the dot stays the same after a restart.
    """
    computer, now = [f"{uuid.getnode()}"], []
    with contextlib.suppress(OSError):
        computer.append(Path("/etc/machine-id").read_text())
    with contextlib.suppress(OSError):
        now.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with contextlib.suppress(OSError):
        now.append(f"{Path('/proc/self/ns/pid').stat().st_ino}")
    return f"{_hashed([*computer, *now])}.{_hashed(computer)}"


def _hashed(seen: list[str]) -> str:
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()[:16]
