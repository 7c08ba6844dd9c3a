"""Hand over what was kept here: each event once, in order, to its session or to a fork of it.

One transaction a session. It can be repeated: events that are there are recognised, and a fork has a name from before.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from co_tui.events import Event, SessionFork, SessionRename
from co_tui.store.postgres import bulk, log
from co_tui.store.postgres.away.journal import Journal, KeptReply, KeptSession
from co_tui.store.postgres.change_listener import notify
from co_tui.store.postgres.leases import Leases
from co_tui.store.postgres.log import Connection, Known
from co_tui.store.session_counts import SessionCounters
from co_tui.store.store_errors import StoreError
from co_tui.store.timestamps import now

_THERE: Final = "SELECT seq, type, timestamp FROM events WHERE session_id = %s AND seq > %s AND seq <= %s ORDER BY seq"
_COPY_REPLY: Final = (
    "INSERT INTO drafts(session_id, number, body) SELECT %s, number, body FROM drafts"
    " WHERE session_id = %s ON CONFLICT (session_id, number) DO NOTHING"
)
_FACTS_OF_FORK: Final = 2
"""Logged at the end of a fork: where it is from, and its title."""


class Kept(NamedTuple):
    """A session's part that is only here, as read from its file."""

    session: KeptSession
    events: Sequence[Event]
    reply: Sequence[KeptReply]

    @classmethod
    def read(cls, journal: Journal, session: KeptSession) -> "Kept":
        return cls(session, journal.events(session.session_id), journal.reply(session.session_id))


class HandedOver(NamedTuple):
    """Where it is now."""

    session_id: str
    last_seq: int
    title: str
    """Of a fork; empty when it went to its own session."""


def hand_over(connection: Connection, kept: Kept, leases: Leases, is_open: bool) -> HandedOver:
    """Write what the server does not have. The session `is_open` here: then this process goes on with its lease."""
    session = kept.session
    lease = leases.find(connection, session.session_id).fetchone()
    known = log.row_of(connection, session.session_id, locked=True)
    there = _already_there(connection, kept, session.session_id)
    last = known.counters.last_seq if known is not None else 0
    if there == len(kept.events) and last > session.base + there:
        return HandedOver(session.session_id, session.base + there, "")  # it came in before others went on
    if last != session.base + there or not _may_write(connection, session, leases, lease, is_open):
        return _forked(connection, kept, leases, is_open)
    if known is None:
        if not kept.events:
            return HandedOver(session.session_id, 0, "")
        log.create(connection, session.session_id, kept.events[0].timestamp)
        known = Known(SessionCounters(updated=kept.events[0].timestamp), 0)
    log.save(connection, session.session_id, log.write(connection, kept.events[there:], known))
    notify(connection, session.session_id, known.counters.last_seq)
    _save_reply(connection, kept, session.session_id)
    return HandedOver(session.session_id, known.counters.last_seq, "")


def _already_there(connection: Connection, kept: Kept, session_id: str) -> int:
    """How many of the events a session on the server has: those whose commit it did not get to confirm."""
    if not kept.events:
        return 0
    # To the microsecond; the payload may be stored in another form.
    ours = [(event.seq, event.type, event.timestamp) for event in kept.events]
    found = connection.execute(_THERE, (session_id, kept.session.base, ours[-1][0])).fetchall()
    count = 0
    while count < len(found) and tuple(found[count]) == ours[count]:
        count += 1
    return count


def _may_write(
    connection: Connection, session: KeptSession, leases: Leases, lease: "tuple[object, ...] | None", is_open: bool
) -> bool:
    """Whether no other process has the session: the lease still holds, or can be taken for a session that is open."""
    is_ours = lease is not None and lease[0] == session.lease
    if is_ours and is_open and leases.number_of(session.session_id) == session.lease:
        return True
    leases.forget(session.session_id, session.lease)
    try:
        if not is_ours:
            leases.check(session.session_id, lease)
        leases.release(connection, session.session_id, session.lease)
        if is_open:
            leases.take(connection, session.session_id)
    except StoreError:
        return False
    return True


def _forked(connection: Connection, kept: Kept, leases: Leases, is_open: bool) -> HandedOver:
    """The session was continued elsewhere: make another of all that was here, under the same seqs."""
    session, timestamp = kept.session, now()
    leases.forget(session.session_id, session.lease)
    leases.release(connection, session.session_id, session.lease)
    if is_open:
        leases.take(connection, session.fork_id)
    if (made := log.row_of(connection, session.fork_id, locked=True)) is not None:
        there = _already_there(connection, kept, session.fork_id)
        if made.counters.last_seq != session.base + there + _FACTS_OF_FORK:  # another machine goes on with it already
            log.add(connection, session.fork_id, [event.fact for event in kept.events[there:]], made, timestamp)
            there = len(kept.events)
        if there == len(kept.events):
            return HandedOver(session.fork_id, made.counters.last_seq, made.counters.title)
        bulk.remove(connection, session.fork_id)  # made by an earlier try; more was said since
    known = bulk.copied(connection, session.session_id, session.fork_id, session.base, timestamp)
    if not known.counters.last_seq:
        log.create(connection, session.fork_id, timestamp)
    ours = [event.but(session_id=session.fork_id) for event in kept.events]
    known = log.write(connection, ours, known)
    counters = known.counters
    title = f"{counters.title} (from {leases.owner.host})".strip()
    origin = {name: getattr(counters, name) for name in ("model", "policy", "cwd", "repository", "branch")}
    fork = SessionFork(source_session_id=session.session_id, source_seq=session.base, **origin)
    log.add(connection, session.fork_id, (fork, SessionRename(title=title, **origin)), known, timestamp)
    if kept.reply and kept.reply[0].number:
        connection.execute(_COPY_REPLY, (session.fork_id, session.session_id))
    _save_reply(connection, kept, session.fork_id)
    return HandedOver(session.fork_id, counters.last_seq, title)


def _save_reply(connection: Connection, kept: Kept, session_id: str) -> None:
    if kept.session.ends_reply:
        log.drop_reply(connection, session_id)
    for number, body in kept.reply:
        log.put_reply(connection, session_id, number, body)
