"""Changes to sessions in memory."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TypeVar

from co_tui.events import Event, Fact, SessionFork, SessionTrashed, is_durable
from co_tui.store.first_event import check_first_event
from co_tui.store.in_memory.kept_session import KeptSession
from co_tui.store.recovered_reply import recovered
from co_tui.store.store_errors import SessionNotFound, StoreError
from co_tui.store.stored_values import ImportOutcome
from co_tui.store.timestamps import now

T = TypeVar("T")


class InMemoryWriter:
    """All changes, one at a time."""

    def __init__(self, sessions: dict[str, KeptSession], changing: threading.Lock) -> None:
        self._sessions = sessions
        self._changing = changing
        self.closed = False

    def append(self, session_id: str, facts: Iterable[Fact], *, ends_draft: bool = False) -> Future[tuple[Event, ...]]:
        return self._done(lambda: self._append(session_id, tuple(facts), ends_draft))

    def save_reply(self, session_id: str, number: int, body: str) -> Future[None]:
        def save() -> None:
            session = self._known(session_id)
            session.partial_reply = [*session.partial_reply, body] if number else [body]

        return self._done(save)

    def recover(self, session_id: str) -> Future[tuple[Event, ...]]:
        def recover() -> tuple[Event, ...]:
            session = self._sessions.get(session_id)
            facts = recovered(session.partial_reply) if session else ()
            if session:
                session.partial_reply = []
            return self._append(session_id, facts) if facts else ()

        return self._done(recover)

    def fork(self, source: str, target: str, upto: int | None, fact: SessionFork) -> Future[tuple[Event, ...]]:
        def fork() -> tuple[Event, ...]:
            events = self._known(source).events[:upto]
            if not events:
                raise SessionNotFound(f"There is no session {source}.")
            copy = self._sessions[target] = KeptSession(target)
            for event in events:
                copy.add(event.but(session_id=target))
            return self._append(target, (fact,))

        return self._done(fork)

    def import_log(self, events: Sequence[Event], *, keeps_age: bool = False) -> Future[ImportOutcome]:
        def import_log() -> ImportOutcome:
            session_id = events[0].session_id
            session = self._sessions.get(session_id)
            outcome = ImportOutcome.NEW
            if session is None:
                session = self._sessions[session_id] = KeptSession(
                    session_id, events[0].timestamp, "" if keeps_age else now()
                )
                for event in events:
                    session.add(event)
            else:
                outcome = ImportOutcome.RESTORED if session.counters.trashed else ImportOutcome.KNOWN
            if session.counters.trashed:
                self._append(session_id, [SessionTrashed(trashed=False)])
            return outcome

        return self._done(import_log)

    def delete(self, session_id: str) -> Future[None]:
        def delete() -> None:
            del self._sessions[self._known(session_id).id]

        return self._done(delete)

    def upkeep_steps(self) -> Iterator[Future[bool]]:
        return iter(())

    def _append(self, session_id: str, facts: Sequence[Fact], ends_draft: bool = False) -> tuple[Event, ...]:
        for fact in facts:
            if not is_durable(fact):
                raise ValueError(f"{fact.TYPE} is announced, never logged")
        if session_id not in self._sessions:
            check_first_event(session_id, facts)
        session = self._sessions.setdefault(session_id, KeptSession(session_id))
        timestamp = now()
        first = len(session.events) + 1
        for seq, fact in enumerate(facts, first):
            session.add(Event(session_id=session_id, seq=seq, timestamp=timestamp, fact=fact))
        if ends_draft:
            session.partial_reply = []
        return tuple(session.events[first - 1 :])

    def _known(self, session_id: str) -> KeptSession:
        if session_id not in self._sessions:
            raise SessionNotFound(f"There is no session {session_id}.")
        return self._sessions[session_id]

    def _done(self, change: Callable[[], T]) -> Future[T]:
        done: Future[T] = Future()
        try:
            with self._changing:
                if self.closed:
                    raise StoreError("The store in memory is closed already.")
                done.set_result(change())
        except Exception as error:
            done.set_exception(error)
        return done
