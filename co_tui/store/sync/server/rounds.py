"""What the sync does with a connection: find out what differs, push, pull, fork where both sides went on."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Final

import psycopg

from co_tui.events import Event
from co_tui.inert import one_line
from co_tui.store.sqlite import synced_rows
from co_tui.store.store_errors import SessionBusy, StoreError
from co_tui.store.stored_values import Deletion
from co_tui.store.sync.placing import Outcome, delete_elsewhere, place
from co_tui.store.sync.server import server_rows
from co_tui.store.sync.server.checked_rows import BadRows
from co_tui.store.sync.server.kept_journals import KeptSession, whole_log
from co_tui.store.sync.server.leases import FORGET_LEASES, Leases
from co_tui.store.sync.server.others_sessions import OthersSessions
from co_tui.store.sync.server.server import Connection
from co_tui.store.sync.server.server_failures import explained, is_lost
from co_tui.store.sync.server.server_rows import Push

if TYPE_CHECKING:
    from co_tui.store.sqlite.reader import Reader
    from co_tui.store.sqlite.store import SqliteStore

EVENTS_AT_ONCE: Final = 500
SHOWN_CHARS: Final = 80


class Rounds:
    """Used by the sync's thread. Each method may be cut off anywhere, and is then made again."""

    def __init__(
        self,
        store: "SqliteStore",
        key: str,
        leases: Leases,
        opened: dict[str, int],
        report: Callable[[str], None],
        carry: Callable[[str, str], None],
    ) -> None:
        """`opened` are the sessions that this process has open, with the number of their lease; 0 without one.

        `report` gets sentences for people, `carry` copies a session's files to a fork.
        """
        self._store, self._key, self._leases, self.open = store, key, leases, opened
        self._report, self._carry = report, carry
        self.refresh_files: Callable[[str], None] = lambda session_id: None
        self.leased = frozenset[str]()
        """Those that other machines write."""
        self.problems: dict[str, str] = {}
        """Why a session could not be pushed or pulled."""
        self.others = OthersSessions(store, self._report_once)
        self._replies: set[str] | None = None
        self._reported: set[str] = set()

    # Rounds over many sessions

    def full(self, connection: Connection) -> Iterator[None]:
        """Bring everything up to date, a session at a time, the newest first."""
        self.note_leases(connection)
        self._merge_deletions(connection)
        listing = server_rows.listing(connection)
        for sentence in listing.bad:
            self._report_once(sentence)
        self.others.note(listing)
        yield
        with self._store.reading() as reading:
            here, pushed, there = reading.last_events_of_all(), reading.pushed_seqs(self._key), listing.own
        differing = [
            each
            for each in here.keys() | there.keys()
            if here.get(each) != (there.get(each), listing.times.get(each)) or there.get(each) != pushed.get(each)
        ]
        for session_id in sorted(differing, reverse=True):
            self.one(connection, session_id, there.get(session_id))
            yield
        yield from self.others.fetch_some(connection)

    def push_changed(self, connection: Connection, session_ids: Iterable[str]) -> None:
        """Push what was written or deleted here; what is not as it was left on the server is looked at whole."""
        with self._store.reading() as reading:
            own = [each for each in session_ids if not reading.owner(each)]
        left = [each for each in own if not self._is_pushed(connection, each)]
        with self._store.reading() as reading:
            is_any_deleted = any(reading.last_seq(each) is None for each in left)
        if is_any_deleted:
            self._merge_deletions(connection)
        self.some(connection, left)

    def _is_pushed(self, connection: Connection, session_id: str) -> bool:
        """Push behind what is known to be on the server, without asking first; False if that is not possible."""
        with self._store.reading() as reading:
            here, after = reading.last_seq(session_id), reading.pushed_seq(self._key, session_id)
            tip, is_other = _tip(reading, session_id, after), bool(reading.owner(session_id))
        if is_other:
            return True  # only its text was fetched
        if here is None or tip is None or session_id in self.problems or self.open.get(session_id) == 0:
            return False
        try:
            return here == after or self._push(connection, session_id, after, is_a_try=True)
        except Exception as error:
            if is_lost(error, connection):
                raise
            return False

    def some(self, connection: Connection, session_ids: Iterable[str]) -> None:
        """Bring these sessions up to date, the user's own and those of others."""
        if not (ids := list(session_ids)):
            return
        listing = server_rows.listing(connection, ids)
        with self._store.reading() as reading:
            own = [each for each in ids if each in listing.own or reading.owner(each) == ""]
            is_any_gone = any(each not in listing.own and reading.pushed_seq(self._key, each) for each in own)
        if is_any_gone:
            self._merge_deletions(connection)
        for session_id in own:
            self.one(connection, session_id, listing.own.get(session_id))
        self.others.note(listing, among=ids)
        self.others.fetch_these(connection, [row.id for row in listing.others])

    def one(self, connection: Connection, session_id: str, last: int | None) -> None:
        """Bring one session up to date; `last` is the server's last event. What fails is noted, others go on."""
        self.problems.pop(session_id, None)
        try:
            if session_id in self.open:
                self._push_open(connection, session_id, last)
                return
            with self._store.lock(session_id, for_sync=True):
                self._level(connection, session_id, last)
        except SessionBusy:
            pass  # another process has it open, and pushes it
        except (StoreError, BadRows) as error:
            self._note(session_id, str(error))
        except psycopg.Error as error:
            if is_lost(error, connection):
                raise
            self._note(session_id, str(explained(error, self._store.sync.server)))
        except Exception as error:  # as from data that is nested too deeply: the other sessions go on
            self._note(session_id, f"Session {session_id} is not synced: {type(error).__name__}: {error}.")

    # One session

    def lease(self, connection: Connection, session_id: str, *, take_over: bool) -> None:
        """Take the lease of a session that this process opens, and level it. The caller has its lock."""
        number = self._taken(connection, session_id, take_over=take_over)
        if not self._is_pulled(connection, session_id):
            self._merge_deletions(connection, held=session_id)
            self._level(connection, session_id, _last(connection, session_id))
        self.open[session_id] = number

    def _taken(self, connection: Connection, session_id: str, *, take_over: bool = False) -> int:
        """Take a lease; one that is left from an opening or closing that was cut off is replaced."""
        self._leases.release(connection, session_id)
        return self._leases.take(connection, session_id, take_over=take_over)

    def _is_pulled(self, connection: Connection, session_id: str) -> bool:
        """Pull what follows the last shared event, with one question; False if that is not the whole story."""
        with self._store.reading() as reading:
            here, known = reading.last_seq(session_id), reading.pushed_seq(self._key, session_id)
            tip = _tip(reading, session_id, known)
        found = server_rows.events(connection, session_id, known - 1) if known else []
        if not found or (found[0].type, found[0].timestamp) != tip or (len(found) > 1 and here != known):
            return False
        self._import(connection, session_id, found[1:])
        return True

    def release(self, connection: Connection, session_id: str) -> None:
        """Push the rest of a session that was closed; a fork is made now, if it needs one."""
        self.open.pop(session_id, None)
        self.push_changed(connection, [session_id])
        self._leases.release(connection, session_id)

    def release_closed(self, connection: Connection) -> None:
        """Let go of sessions that were closed while the server was away."""
        self._leases.release_all_but(connection, self.open)

    def release_all(self, connection: Connection) -> None:
        self._leases.release_all(connection)

    def renew(self, connection: Connection) -> None:
        for session_id in self._leases.renew(connection):
            if session_id in self.open:
                self.open[session_id] = 0
        self.note_leases(connection)

    def note_leases(self, connection: Connection) -> None:
        connection.execute(FORGET_LEASES)
        own = self._leases.owner.writer
        self.leased = frozenset(name for name, lease in self._leases.live(connection).items() if lease.writer != own)

    def _push_open(self, connection: Connection, session_id: str, last: int | None) -> None:
        """A session that is open here is only pushed: what is new elsewhere becomes a matter of its end."""
        if not self.open[session_id]:
            try:
                self.open[session_id] = self._taken(connection, session_id)
            except SessionBusy as busy:
                self._note(session_id, str(busy))
                return
        with self._store.reading() as reading:
            here, shared = reading.last_seq(session_id) or 0, self._shared(connection, reading, session_id, last)
        if last is not None and shared < last:
            self._note(session_id, f"Session {session_id} was continued elsewhere. Closing it forks what you say here.")
            return
        if here > shared:
            self._push(connection, session_id, shared)

    def _level(self, connection: Connection, session_id: str, last: int | None) -> None:
        """Push or pull a session, or fork what was said here. The caller has its lock."""
        with self._store.reading() as reading:
            here = reading.last_seq(session_id)
            is_other = bool(reading.owner(session_id))
            shared = self._shared(connection, reading, session_id, last) if here and last and not is_other else 0
            deletion = reading.deletion(session_id) if here is None else None
        if is_other or (deletion is not None and deletion.is_deleted) or (here is None and last is None):
            return
        if here is None:
            self._pull(connection, session_id, 0)
        elif last is None or shared == last:
            self._push(connection, session_id, shared)
        elif shared == here:
            self._pull(connection, session_id, shared)
        else:
            self._reconcile(connection, session_id)

    def _shared(self, connection: Connection, reading: "Reader", session_id: str, last: int | None) -> int:
        """The last seq up to which the server and this machine have the same events."""
        if not last:
            return 0
        known = min(reading.pushed_seq(self._key, session_id), last)
        mine = list(reading.events(session_id, known - 1, known)) if known else []
        is_known = bool(mine) and server_rows.tip(connection, session_id, known) == (mine[0].type, mine[0].timestamp)
        after = known if is_known else 0
        tips = server_rows.tips(connection, session_id, after)
        events = reading.events(session_id, after, after + len(tips))
        pairs = zip(tips, ((each.seq, each.type, each.timestamp) for each in events), strict=False)
        return after + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _push(self, connection: Connection, session_id: str, after: int, *, is_a_try: bool = False) -> bool:
        """Push what follows a shared event; whether all of it is there. Why not is noted, unless it `is_a_try`."""
        with self._store.reading() as reading:
            row, tip = reading.session(session_id), _tip(reading, session_id, after)
            while events := list(reading.events(session_id, after, after + EVENTS_AT_ONCE)):
                upto = events[-1].seq or 0
                lease = self._leases.number_of(session_id)
                done = server_rows.push(connection, row._replace(last_seq=upto), after, tip, events, lease)
                if done is not Push.DONE:
                    if not is_a_try:
                        self._refused(session_id, done)
                    return False
                after, tip = upto, (events[-1].type, events[-1].timestamp)
                self._record(session_id, after)
            if reading.pushed_seq(self._key, session_id) != after:
                self._record(session_id, after)
        return True

    def _refused(self, session_id: str, done: Push) -> None:
        match done:
            case Push.TAKEN:
                self._note(session_id, f"Session {session_id} is not pushed: another user has one with this ID.")
            case Push.LEASED:
                self._note(session_id, f"Session {session_id} is not pushed: another machine is writing it.")
            case _:
                pass  # it changed in this moment: the next round looks again

    def _pull(self, connection: Connection, session_id: str, after: int) -> None:
        self._import(connection, session_id, server_rows.events(connection, session_id, after))

    def _import(self, connection: Connection, session_id: str, events: Sequence[Event]) -> None:
        if not events:
            return
        self._store.writing().import_log(events, keeps_age=True, keeps_trash=True).result()
        self._record(session_id, events[-1].seq or 0, pulled=True)
        self._pull_reply(connection, session_id)
        self.refresh_files(session_id)

    def _pull_reply(self, connection: Connection, session_id: str) -> None:
        """A reply that was being written when an earlier version stopped."""
        if self._replies is None:
            self._replies = server_rows.partial_replies(connection)
        if session_id in self._replies:
            for number, piece in enumerate(server_rows.partial_reply(connection, session_id)):
                self._store.writing().save_reply(session_id, number, piece).result()
            server_rows.drop_partial_reply(connection, session_id)
            self._replies.discard(session_id)

    def _reconcile(self, connection: Connection, session_id: str) -> None:
        """Both sides went on: the server's side keeps the ID."""
        self.take_branch(server_rows.events(connection, session_id, 0), keeps_id=True, held=session_id)
        self.refresh_files(session_id)
        with self._store.reading() as reading:
            shared = self._shared(connection, reading, session_id, _last(connection, session_id))
        self._record(session_id, shared, pulled=True)
        self._push(connection, session_id, shared)

    def take_branch(self, log: Sequence[Event], *, keeps_id: bool, held: str = "") -> str:
        """Store a log from elsewhere; returns its session. A fork that this takes is reported."""
        placed = place(self._store, log, keeps_id=keeps_id, claim=partial(self._locked, held), carry=self._carry)
        if placed.outcome is Outcome.FORKED:
            with self._store.reading() as reading:
                title = one_line(reading.session(placed.fork_id).title, SHOWN_CHARS)
            self._report(f"Session {log[0].session_id} was continued twice: see also {placed.fork_id} (“{title}”).")
        return placed.session_id

    def take_kept(self, connection: Connection, kept: Iterable[KeptSession]) -> None:
        """Take what an earlier version could not push, behind what the server has of it."""
        for each in kept:
            if log := whole_log(connection, each):
                placed = self.take_branch(log, keeps_id=False)
                self._record(placed, 0, pulled=True)
                self._take_reply(connection, each, placed, log[-1])

    def _take_reply(self, connection: Connection, kept: KeptSession, placed: str, last: Event) -> None:
        """Save the reply that was being written after an event, unless more was said since."""
        with self._store.reading() as reading:
            end = reading.last_events(placed, 1)
            here = reading.partial_reply(placed)
        if not end or (end[0].type, end[0].timestamp) != (last.type, last.timestamp):
            return
        begun = [] if kept.ends_reply else server_rows.partial_reply(connection, kept.session_id) or here
        pieces = {**dict(enumerate(begun)), **kept.reply}
        for number, (_, piece) in enumerate(sorted(pieces.items())):
            self._store.writing().save_reply(placed, number, piece).result()
        if placed == kept.session_id:
            server_rows.drop_partial_reply(connection, placed)

    def _locked(self, held: str, session_id: str) -> AbstractContextManager[object]:
        return nullcontext() if session_id == held else self._store.lock(session_id, for_sync=True)

    # Deletions

    def _merge_deletions(self, connection: Connection, held: str = "") -> None:
        """The latest decision about each session counts on both sides."""
        there = {each.session_id: each for each in server_rows.deletions(connection)}
        with self._store.reading() as reading:
            here = {each.session_id: each for each in reading.deletions()}
        for session_id in there.keys() | here.keys():
            mine, theirs = here.get(session_id), there.get(session_id)
            if session_id in self.open or mine == theirs:
                continue
            try:
                if theirs is not None and (mine is None or mine.age < theirs.age):
                    self._delete(theirs, held)
                elif mine is not None:
                    self._push_deletion(connection, mine)
            except SessionBusy:
                pass  # it is open: later
            except (StoreError, BadRows) as error:
                self._note(session_id, str(error))

    def _delete(self, deletion: Deletion, held: str) -> None:
        with self._store.reading() as reading:
            shared = reading.pushed_seq(self._key, deletion.session_id)
        claim = partial(self._locked, held)
        delete_elsewhere(self._store, deletion, claim=claim, carry=self._carry, shared=shared)

    def _push_deletion(self, connection: Connection, deletion: Deletion) -> None:
        if server_rows.put_deletion(connection, deletion) is Push.DIFFERS:
            # Words that this machine never saw come back as a fork.
            log = server_rows.events(connection, deletion.session_id, 0)
            self.take_branch(log, keeps_id=True)
            server_rows.put_deletion(connection, deletion, log[-1].seq or 0)

    # Notes

    def _record(self, session_id: str, seq: int, *, pulled: bool = False) -> None:
        self._change(
            partial(synced_rows.record_pushed, server=self._key, session_id=session_id, seq=seq, pulled=pulled)
        )

    def _change(self, work: "Callable[..., None]") -> None:
        self._store.writing().change(work).result()

    def _note(self, session_id: str, sentence: str) -> None:
        self.problems[session_id] = sentence
        self._report_once(sentence)

    def _report_once(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._report(sentence)


def _tip(reading: "Reader", session_id: str, seq: int) -> tuple[str, str] | None:
    found = list(reading.events(session_id, seq - 1, seq)) if seq else []
    return (found[0].type, found[0].timestamp) if found else None


def _last(connection: Connection, session_id: str) -> int | None:
    return server_rows.listing(connection, [session_id]).own.get(session_id)
