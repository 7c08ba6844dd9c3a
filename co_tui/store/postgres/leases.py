"""The right to write a session, as a row with a number and an expiry by the server's clock.

Taking a session over raises the number. Every change checks in its own transaction that the number still
holds, so a laptop that wakes up late cannot write.
"""

import contextlib
import hashlib
import os
import uuid
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from co_tui.store.store_errors import SessionBusy, SessionTakenOver

LEASE_S: Final = 60
"""Without a word from its owner, a session can be taken over after this time."""
RENEW_S: Final = LEASE_S / 3
_IN_A_MINUTE: Final = f"now() + interval '{LEASE_S} seconds'"
_TAKE: Final = (
    "INSERT INTO leases(session_id, number, writer, host, machine, process, expires)"
    f" VALUES(%(session_id)s, nextval('lease_numbers'), %(writer)s, %(host)s, %(machine)s, %(process)s, {_IN_A_MINUTE})"
    " ON CONFLICT (session_id) DO UPDATE SET number = excluded.number, writer = excluded.writer,"
    " host = excluded.host, machine = excluded.machine, process = excluded.process, expires = excluded.expires"
    # Its own row that it does not hold: the answer to an earlier request was lost.
    " WHERE leases.expires < now() OR (leases.writer = %(writer)s AND leases.number <> ALL(%(held)s::bigint[]))"
    " OR leases.number = %(abandoned)s RETURNING number"
)
_FIND: Final = "SELECT number, writer, host, machine, process, expires > now() FROM leases WHERE session_id = %s"
_LIVE: Final = "SELECT session_id, number, writer, host, machine, process, true FROM leases WHERE expires > now()"
_RENEW: Final = f"UPDATE leases SET expires = {_IN_A_MINUTE} WHERE writer = %s AND number = ANY(%s::bigint[])"


FORGET_LEASES: Final = (
    "DELETE FROM leases WHERE expires < now() - interval '1 day'"
    " AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = leases.session_id)"
)


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

    def take(self, connection: psycopg.Connection[Any], session_id: str) -> int:
        """Take a session that no live process has; returns the lease's number. Raises `SessionBusy`."""
        held = [*self._held.values(), *self._taken.values()]
        asked = {"session_id": session_id, **self.owner._asdict(), "held": held, "abandoned": -1}
        taken = connection.execute(_TAKE, asked).fetchone()
        if taken is None:
            lease = Lease(*connection.execute(_FIND, (session_id,)).fetchone() or _UNKNOWN)
            if _is_dead(lease):
                taken = connection.execute(_TAKE, {**asked, "abandoned": lease.number}).fetchone()
        if taken is None:
            raise SessionBusy(
                f"Session {session_id} is open in another co-tui ({_where(lease)}). "
                "Close it there, or start a new session.",
                str(lease.process),
            )
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


def _where(lease: Lease) -> str:
    return f"process {lease.process} on {lease.host}" if lease.host else "unknown"


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


_UNKNOWN: Final = (0, "", "", "", 0, True)
"""Of a lease that was released in this very moment."""


@cache
def _machine() -> str:
    """Differs between machines, after a restart, and between containers, whose processes have the same numbers."""
    seen = [f"{uuid.getnode()}"]
    for file in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        with contextlib.suppress(OSError):
            seen.append(Path(file).read_text())
    with contextlib.suppress(OSError):
        seen.append(f"{Path('/proc/self/ns/pid').stat().st_ino}")
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()[:16]
