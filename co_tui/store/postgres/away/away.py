"""The writer's other half: what it does while the server is away, and once it is back. Used by the writer's thread."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from co_tui.events import Event, Fact
from co_tui.inert import one_line
from co_tui.store.event_rows import check_first_event
from co_tui.store.postgres.away.hand_over import HandedOver, Kept, hand_over
from co_tui.store.postgres.away.journal import Journal, KeptSession
from co_tui.store.postgres.away.kept_here import KeptHere
from co_tui.store.postgres.away.reconnect import Reconnect
from co_tui.store.postgres.jobs import Job
from co_tui.store.postgres.leases import Leases
from co_tui.store.postgres.log import Connection
from co_tui.store.postgres.postgres_failures import DatabaseUnreachable
from co_tui.store.postgres.server import Server
from co_tui.store.session_ids import new_session_id
from co_tui.store.store_errors import SessionBusy, SessionNotFound, StoreError

T = TypeVar("T")
SHOWN_CHARS: Final = 80
_LAST_SEQ: Final = "SELECT last_seq FROM sessions WHERE id = %s"


class MakeChange(Protocol):
    """Makes a change on the server, exactly once. Raises `StoreError`."""

    def __call__(self, work: Callable[[Connection], T], /) -> T: ...


class Away:
    """Whether the server is away, the sessions that are open here, and what of them is kept here."""

    def __init__(
        self,
        server: Server,
        kept: KeptHere,
        leases: Leases,
        report: Callable[[str], None],
        carry_files: Callable[[str, str], None],
    ) -> None:
        """`report` gets sentences for people; `carry_files` copies a session's files to its fork."""
        self.is_away = False
        self._location = server.location
        self._kept, self._leases, self._report, self._carry_files = kept, leases, report, carry_files
        self._reason = ""
        self._open: set[str] = set()
        self._seqs: dict[str, int] = {}
        """The last event that the server is known to have, by session."""
        self._server = server
        self._reconnect: Reconnect | None = None

    def watch(self, found: Callable[[], None]) -> None:
        """Call `found` in a thread whenever the server answers again."""
        self._reconnect = Reconnect(self._server, found)

    def leave(self, error: StoreError) -> None:
        """The server cannot be used: from now on changes are kept here."""
        self._reason = str(error).removesuffix(" Try again later.")
        if not self.is_away:
            self.is_away = True
            self._report(f"{self._reason} What is said meanwhile is kept on this machine and handed over later.")
        if self._reconnect is not None:
            self._reconnect.begin()

    def stop_trying(self) -> None:
        if self._reconnect is not None:
            self._reconnect.close()

    def close(self) -> None:
        self._kept.close()

    # Sessions that are open here

    def present_id(self, session_id: str) -> str:
        return self._kept.present_id(session_id)

    def saw(self, events: Sequence[Event]) -> None:
        """The server has them."""
        if events:
            self._seqs[events[-1].session_id] = events[-1].seq or 0

    def take(self, session_id: str, connection: Connection, *, take_over: bool = False) -> None:
        last = connection.execute(_LAST_SEQ, (session_id,))  # asked first: so it takes no round trip of its own
        self._leases.take(connection, session_id, take_over=take_over)
        row = last.fetchone()
        self._seqs[session_id] = row[0] if row else 0
        self._open.add(session_id)

    def take_later(self, job: Job[None]) -> None:
        """What cannot be known now, is found out when it is handed over."""
        is_tried = job.is_tried and job.error is None
        if job.session_id in self._open and not is_tried:
            raise SessionBusy(f"Session {job.session_id} is already open. Close it there first.")
        self._open.add(job.session_id)

    def release(self, session_id: str, connection: Connection) -> None:
        name = self.present_id(session_id)
        self._leases.release(connection, name, self._leases.number_of(name))

    def forget(self, session_id: str) -> None:
        name = self.present_id(session_id)
        if name != session_id:
            self._carry_files(session_id, name)  # those since it moved
        self._leases.forget(name, self._leases.number_of(name))
        self._open.discard(session_id)
        self._kept.forget_move(session_id)

    # While it is away

    def keep(self, batch: Sequence[Job[Any]]) -> None:
        """Make changes here; they are durable at the end. Raises `StoreError` when that fails, with nothing kept."""
        journal, outcomes = self._kept.own(), list[Any]()
        with self._kept.changing():
            for job in batch:
                try:
                    outcomes.append(job.keep(job) if job.keep else self._refused())
                except StoreError as refused:
                    outcomes.append(refused)
        self._kept.publish(journal)
        for job, outcome in zip(batch, outcomes, strict=True):
            job.error = outcome if isinstance(outcome, StoreError) else None
            job.result = outcome

    def _refused(self) -> StoreError:
        return DatabaseUnreachable(f"{self._reason} This needs the database: try again when it is back.")

    def append(self, job: Job[tuple[Event, ...]], *, facts: Sequence[Fact], ends_draft: bool) -> tuple[Event, ...]:
        name = self.present_id(job.session_id)
        journal, tried = self._journal(name, job.events, facts), job.events
        if journal is None:
            return ()
        if tried:
            journal.put(name, tried)
        events = tried or journal.append(name, facts)
        if ends_draft:
            journal.end_reply(name)
        return events

    def _journal(self, session_id: str, tried: Sequence[Event], facts: Sequence[Fact]) -> Journal | None:
        """The file for a session, begun if needed; None when there is nothing to write in it."""
        if (journal := self._kept.journal_of(session_id)) is not None:
            return journal
        if not facts:
            return None
        base = (tried[0].seq or 1) - 1 if tried else self._seqs.get(session_id)
        if not base:
            try:
                check_first_event(session_id, facts)
            except SessionNotFound as unknown:
                raise (self._refused() if base is None else unknown) from None
        return self._begun(session_id, base or 0)

    def _begun(self, session_id: str, base: int) -> Journal:
        journal = self._kept.own()
        journal.begin(session_id, base, self._leases.number_of(session_id), new_session_id())
        return journal

    def save_reply(self, job: Job[None], *, number: int, body: str) -> None:
        name = self.present_id(job.session_id)
        journal = self._kept.journal_of(name)
        if journal is None:
            if (base := self._seqs.get(name)) is None:
                raise self._refused()
            if not base:
                raise SessionNotFound(f"Session {name} no longer exists.")
            journal = self._begun(name, base)
        journal.save_reply(name, number, body)

    def recover(self, job: Job[tuple[Event, ...]]) -> tuple[Event, ...]:
        name = job.session_id
        journal = self._kept.journal_of(name)
        if journal is not None and (kept := journal.find(name)) is not None and kept.base == 0:
            return journal.recover(name)
        raise DatabaseUnreachable(f"{self._reason} Session {name} can be opened when it is back.")

    # Once it is back

    def adopt(self) -> bool:
        """Take what ended processes left here; returns whether there is something to hand over."""
        try:
            return self._kept.adopt()
        except StoreError as error:
            self._report(str(error))
            return False

    def come_back(self, make: MakeChange) -> None:
        """Hand over all that is kept here. What fails is tried again later."""
        count = 0
        try:
            for journal, session in self._kept.sessions():
                count += self._handed_over(make, journal, session)
            self._take_leases(make)
            self._kept.drop_empty()
        except StoreError as error:
            self.leave(error)
            return
        was_away, self.is_away = self.is_away, False
        if count:
            self._report(f"Database {self._location} {'is back and ' if was_away else ''}has what was kept here.")
        elif was_away:
            self._report(f"Database {self._location} is back.")

    def _handed_over(self, make: MakeChange, journal: Journal, session: KeptSession) -> bool:
        kept, name = Kept.read(journal, session), session.session_id
        opened = next((each for each in tuple(self._open) if self.present_id(each) == name), None)
        try:
            done: HandedOver = make(partial(hand_over, kept=kept, leases=self._leases, is_open=opened is not None))
        except DatabaseUnreachable:
            raise
        except StoreError as error:
            if opened is not None:
                raise
            self._report(f"Session {name} could not be handed over: {error}")
            self._kept.leave(journal)
            return False
        self._seqs[done.session_id] = done.last_seq
        if done.session_id != name:
            self._moved(name, opened, done)
        journal.remove(name)
        self._kept.publish(journal)
        return True

    def _moved(self, name: str, opened: str | None, done: HandedOver) -> None:
        self._carry_files(name, done.session_id)
        if opened is not None:
            self._kept.move(opened, done.session_id)
        self._report(
            f"Session {name} was continued elsewhere meanwhile. What was said here is in session {done.session_id} "
            f"(“{one_line(done.title, SHOWN_CHARS)}”)."
        )

    def _take_leases(self, make: MakeChange) -> None:
        """Of sessions that were opened while the server was away, and not written since."""
        for session_id in [each for each in tuple(self._open) if not self._leases.number_of(self.present_id(each))]:
            with suppress(SessionBusy):  # its next change says so
                make(partial(self._leases.take, session_id=self.present_id(session_id)))
