"""The right to write a session, as a row with a number and an expiry by the server's clock.

Taking a session over raises the number. Every change checks in its own transaction that the number still
holds, so a laptop that wakes up late cannot write.
"""

import contextlib
import hashlib
import os
import uuid
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from co_tui.inert import one_line
from co_tui.store.sync.server.policies import OWN
from co_tui.store.store_errors import SessionAbandoned, SessionBusy, SessionOfAnother, SessionTakenOver

LEASE_S: Final = 60
"""Without a word from its writer, a session can be taken over after this time."""
RENEW_S: Final = LEASE_S / 3
_IN_A_MINUTE: Final = f"now() + interval '{LEASE_S} seconds'"
_OF_ANOTHER: Final = f"SELECT s.owner FROM sessions s WHERE s.id = %(session_id)s AND NOT {OWN}"
_TAKE: Final = (
    "INSERT INTO leases(session_id, number, writer, host, machine, process, expires)"
    " SELECT %(session_id)s::text, nextval('lease_numbers'), %(writer)s::text, %(host)s::text, %(machine)s::text,"
    f" %(process)s::bigint, {_IN_A_MINUTE} WHERE NOT EXISTS ({_OF_ANOTHER})"
    " ON CONFLICT (session_id) DO UPDATE SET number = excluded.number, writer = excluded.writer,"
    " host = excluded.host, machine = excluded.machine, process = excluded.process, expires = excluded.expires"
    # Its own row that it does not hold: the answer to an earlier request was lost.
    " WHERE (leases.writer = %(writer)s AND leases.number <> ALL(%(held)s::bigint[]))"
    # From before a restart of this computer.
    " OR (leases.expires < now() AND leases.machine <> %(machine)s AND leases.host = %(host)s"
    " AND split_part(leases.machine, '.', 2) = %(computer)s)"
    " OR (leases.expires < now() AND %(take_over)s) OR leases.number = %(abandoned)s RETURNING number"
)
_LEASE: Final = "number, writer, host, machine, process, expires > now(), expires"
_FIND: Final = f"SELECT {_LEASE} FROM leases WHERE session_id = %s"
_LIVE: Final = f"SELECT session_id, {_LEASE} FROM leases WHERE expires > now()"
_RENEW: Final = f"UPDATE leases SET expires = {_IN_A_MINUTE} WHERE writer = %s AND number = ANY(%s::bigint[])"


FORGET_LEASES: Final = (
    "DELETE FROM leases WHERE expires < now() - interval '30 days' OR (expires < now() - interval '1 day'"
    " AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = leases.session_id))"
)
"""Those of a machine that never came back, and of sessions that are deleted."""


class Owner(NamedTuple):
    """A process that writes."""

    writer: str
    """Made anew each time a store is opened."""
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
    """Those that this process holds. Only the writer's thread changes them."""

    def __init__(self, host: str) -> None:
        self.owner = Owner(uuid.uuid4().hex, host, _machine(), os.getpid())
        self._held: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        """Not yet committed."""

    def __bool__(self) -> bool:
        return bool(self._held)

    def number_of(self, session_id: str) -> int:
        """0 for a session that this process does not hold."""
        return self._held.get(session_id, 0)

    def begin(self) -> None:
        """Before each try of a transaction."""
        self._taken = {}

    def commit(self) -> None:
        self._held |= self._taken

    def take(self, connection: psycopg.Connection[Any], session_id: str, *, take_over: bool = False) -> int:
        """Take a session of this user that no process has; returns the lease's number. Raises `SessionBusy`.

        One that another machine had and did not release is taken only with `take_over`, once that lease has run out.
        """
        held = [*self._held.values(), *self._taken.values()]
        asked = {"session_id": session_id, **self.owner._asdict(), "held": held, "abandoned": -1}
        asked |= {"take_over": take_over, "computer": _machine().partition(".")[2]}
        taken = connection.execute(_TAKE, asked).fetchone()
        if taken is None:
            of_another = connection.execute(_OF_ANOTHER, asked)
            found = connection.execute(_FIND, (session_id,))
            if (owner := of_another.fetchone()) is not None:
                check_own(session_id, owner[0], is_own=False)
            lease = Lease(*row) if (row := found.fetchone()) else None
            if lease is not None and _is_dead(lease):
                taken = connection.execute(_TAKE, {**asked, "abandoned": lease.number}).fetchone()
        if taken is None:
            raise _refusal(session_id, lease)
        self._taken[session_id] = int(taken[0])
        return int(taken[0])

    def release(self, connection: psycopg.Connection[Any], session_id: str, number: int) -> None:
        connection.execute("DELETE FROM leases WHERE session_id = %s AND number = %s", (session_id, number))

    def forget(self, session_id: str, number: int) -> None:
        if self._held.get(session_id) == number:
            del self._held[session_id]

    def renew(self, connection: psycopg.Connection[Any]) -> None:
        """One that was taken over is not renewed; the next change of that session says so."""
        connection.execute(_RENEW, (self.owner.writer, list(self._held.values())))

    def release_all(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute("DELETE FROM leases WHERE writer = %s", (self.owner.writer,))
        self._held.clear()

    def find(self, connection: psycopg.Connection[Any], session_id: str) -> psycopg.Cursor[Any]:
        """The lease of a session, locked until the end of the transaction; for `check`."""
        return connection.execute(f"{_FIND} FOR UPDATE", (session_id,))

    def check(self, session_id: str, row: tuple[Any, ...] | None) -> None:
        """Raises `SessionBusy` when another process has it, `SessionTakenOver` when it was taken from this one."""
        held, lease = self._held.get(session_id), Lease(*row) if row else None
        if held is not None and (lease is None or lease.number != held):
            by = f" by another co-tui ({_where(lease)})" if lease else ""
            raise SessionTakenOver(
                f"Session {session_id} was taken over{by} while this one was away. "
                "Nothing more is saved here: fork it to go on, or continue there."
            )
        if held is None and lease and lease.is_live and lease.writer != self.owner.writer and not _is_dead(lease):
            raise SessionBusy(
                f"Session {session_id} is open in another co-tui ({_where(lease)}). Close it there first.",
                str(lease.process),
            )


def live_sessions(connection: psycopg.Connection[Any]) -> frozenset[str]:
    """The sessions that any process holds now."""
    rows = connection.execute(_LIVE).fetchall()
    return frozenset(session_id for session_id, *lease in rows if not _is_dead(Lease(*lease)))


def check_own(session_id: str, owner: str, is_own: bool) -> None:
    """Raises `SessionOfAnother` unless the session is this user's."""
    if not is_own:
        raise SessionOfAnother(
            f"Session {session_id} belongs to {one_line(owner, 60)}: it can be read, not changed. "
            f"Continue in a copy: `co-tui sessions --fork {session_id}`.",
            owner,
        )


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


def _is_dead(lease: Lease) -> bool:
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
