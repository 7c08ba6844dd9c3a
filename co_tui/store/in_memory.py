"""A store without any file: for the lab and for tests. What it holds ends with it."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Self, TypeVar

from co_tui.events import Event, Fact, Message, SessionFork, SessionTrashed, UsageInfo, is_durable
from co_tui.store.beginning import check_beginning
from co_tui.store.counters import SessionCounters
from co_tui.store.errors import SessionBusy, SessionNotFound, StoreError
from co_tui.store.folding import folded
from co_tui.store.half_reply import recovered
from co_tui.store.message_search import Candidate, FoundCount, NextPage, Search, SearchPage, counted, told
from co_tui.store.search_words import SearchWords
from co_tui.store.searchable import SAID, SearchableText, searchable
from co_tui.store.session_filter import filter_text, filter_words
from co_tui.store.timestamps import now
from co_tui.store.values import (
    BroughtIn,
    FoundMessages,
    Health,
    Preview,
    SaidText,
    SessionRow,
    only_one,
    with_most_words,
)
from co_tui.store.words import holds

T = TypeVar("T")


@dataclass(slots=True)
class _KeptSession:
    """All of one session. The event of seq n stands at place n - 1."""

    id: str
    created: str = field(default_factory=now)
    came_in: str = ""
    """When it came from elsewhere; empty when it began here."""
    counters: SessionCounters = field(default_factory=SessionCounters)
    events: list[Event] = field(default_factory=list)
    half_reply: list[str] = field(default_factory=list)

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.counters.count(event)

    @property
    def row(self) -> SessionRow:
        told = {name: getattr(self.counters, name) for name in SessionRow._fields if hasattr(self.counters, name)}
        return SessionRow(id=self.id, created=self.created, **told)

    def texts(self) -> Iterator[tuple[Event, SearchableText]]:
        """What a search looks at."""
        for event in list(self.events):
            if isinstance(event.fact, Message):
                for part in searchable(event.fact):
                    yield event, part


class InMemoryStore:
    """Every change is done when it is asked for, so its future is resolved already."""

    place = "memory"

    def __init__(self) -> None:
        self._sessions: dict[str, _KeptSession] = {}
        self._claimed: set[str] = set()
        self._changing = threading.Lock()
        self._writer = InMemoryWriter(self._sessions, self._changing)
        self.prompt_drafts = InMemoryPromptDrafts()

    def reading(self) -> "InMemoryReader":
        return InMemoryReader(self._sessions)

    def writing(self) -> "InMemoryWriter":
        return self._writer

    def claim(self, session_id: str) -> "InMemoryLock":
        with self._changing:
            if session_id in self._claimed:
                raise SessionBusy(f"Session {session_id} is open already. Close it there first.")
            self._claimed.add(session_id)
        return InMemoryLock(self._claimed, session_id)

    def delete(self, session_id: str) -> None:
        self._writer.delete(session_id).result()
        self.prompt_drafts.write(session_id, "")

    def claimed(self) -> frozenset[str]:
        return frozenset(self._claimed)

    def close(self) -> None:
        self._writer.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class InMemoryLock:
    """The right to write one session."""

    def __init__(self, claimed: set[str], session_id: str) -> None:
        self._claimed = claimed
        self._held = {session_id}

    def release(self) -> None:
        self._claimed -= self._held
        self._held = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.release()


class InMemoryPromptDrafts:
    """Prompts that were being written, by session."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def read(self, session_id: str) -> str:
        return self._texts.get(session_id, "")

    def write(self, session_id: str, text: str) -> None:
        self._texts[session_id] = text if text.strip() else ""


class InMemoryWriter:
    """All changes, one at a time."""

    def __init__(self, sessions: dict[str, _KeptSession], changing: threading.Lock) -> None:
        self._sessions = sessions
        self._changing = changing
        self.closed = False

    def append(self, session_id: str, facts: Iterable[Fact], *, ends_draft: bool = False) -> Future[tuple[Event, ...]]:
        return self._done(lambda: self._append(session_id, tuple(facts), ends_draft))

    def save_reply(self, session_id: str, number: int, body: str) -> Future[None]:
        def save() -> None:
            session = self._known(session_id)
            session.half_reply = [*session.half_reply, body] if number else [body]

        return self._done(save)

    def recover(self, session_id: str) -> Future[tuple[Event, ...]]:
        def recover() -> tuple[Event, ...]:
            session = self._sessions.get(session_id)
            facts = recovered(session.half_reply) if session else ()
            if session:
                session.half_reply = []
            return self._append(session_id, facts) if facts else ()

        return self._done(recover)

    def fork(self, source: str, target: str, upto: int | None, fact: SessionFork) -> Future[tuple[Event, ...]]:
        def fork() -> tuple[Event, ...]:
            events = self._known(source).events[:upto]
            if not events:
                raise SessionNotFound(f"There is no session {source}.")
            copy = self._sessions[target] = _KeptSession(target)
            for event in events:
                copy.add(event.but(session_id=target))
            return self._append(target, (fact,))

        return self._done(fork)

    def bring_in(self, events: Sequence[Event], *, keeps_age: bool = False) -> Future[BroughtIn]:
        def bring_in() -> BroughtIn:
            session_id = events[0].session_id
            session = self._sessions.get(session_id)
            came_of_it = BroughtIn.NEW
            if session is None:
                session = self._sessions[session_id] = _KeptSession(
                    session_id, events[0].timestamp, "" if keeps_age else now()
                )
                for event in events:
                    session.add(event)
            else:
                came_of_it = BroughtIn.RESTORED if session.counters.trashed else BroughtIn.KNOWN
            if session.counters.trashed:
                self._append(session_id, [SessionTrashed(trashed=False)])
            return came_of_it

        return self._done(bring_in)

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
            check_beginning(session_id, facts)
        session = self._sessions.setdefault(session_id, _KeptSession(session_id))
        timestamp = now()
        first = len(session.events) + 1
        for seq, fact in enumerate(facts, first):
            session.add(Event(session_id=session_id, seq=seq, timestamp=timestamp, fact=fact))
        if ends_draft:
            session.half_reply = []
        return tuple(session.events[first - 1 :])

    def _known(self, session_id: str) -> _KeptSession:
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


class InMemoryReader:
    """All questions; each is answered from what is there at that moment."""

    def __init__(self, sessions: dict[str, _KeptSession]) -> None:
        self._sessions = sessions

    def close(self) -> None:
        """There is nothing to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def sessions(self, limit: int = 50, search: str = "", cwd: str = "", *, in_trash: bool = False) -> list[SessionRow]:
        rows = [each.row for each in self._newest_first(in_trash) if not cwd or each.counters.cwd == cwd]
        if not search.strip():
            return rows[:limit]
        words, text = SearchWords(search), folded(search).strip()
        said_in = {each.session_id for each in self._candidates(in_trash=in_trash) if each.holds(words)}
        return [row for row in rows if row.id in said_in or text in folded(row.title)][:limit]

    def browse(
        self, typed: str, cwd: str, limit: int = 200, *, in_trash: bool = False, from_end: bool = False
    ) -> list[SessionRow]:
        rows = [each.row for each in self._newest_first(in_trash) if _passes(each, filter_words(typed))]
        if in_trash:
            rows.sort(key=lambda row: row.trashed, reverse=True)
        else:
            rows.sort(key=lambda row: (not row.pinned, not row.pinned and row.cwd != cwd))
        return rows[max(0, len(rows) - limit) :] if from_end else rows[:limit]

    def count(self, typed: str = "", *, in_trash: bool = False) -> int:
        return sum(_passes(each, filter_words(typed)) for each in self._newest_first(in_trash))

    def search(
        self,
        typed: str,
        *,
        by_relevance: bool = False,
        limit: int = 50,
        page: NextPage | None = None,
        session_id: str = "",
        once_a_session: bool = False,
        in_trash: bool = False,
    ) -> SearchPage:
        asked = Search(SearchWords(typed), by_relevance, limit, page, once_a_session)
        before = asked.before
        found = self._candidates(session_id, in_trash=in_trash)
        chosen, more = asked.chosen((each for each in found if before is None or each.place < before), asked.seen())
        rows = {each.session_id: self._sessions[each.session_id].row for each in chosen}
        times = {(each.session_id, each.seq): self._events(each.session_id)[each.seq - 1].timestamp for each in chosen}
        return SearchPage(told(asked, chosen, rows, times), more)

    def count_found(self, typed: str, *, most: int = 1000, session_id: str = "", in_trash: bool = False) -> FoundCount:
        return counted(SearchWords(typed), self._candidates(session_id, in_trash=in_trash), most)

    def preview(self, session_id: str, count: int = 6, chars: int = 1000) -> Preview:
        session = self._sessions.get(session_id)
        texts = [
            SaidText(event.seq or 0, part.role, part.text[:chars])
            for event, part in (session.texts() if session else ())
            if part.role in ("user", "assistant")
        ]
        first = next((each.text for each in texts if each.role == "user"), "")
        return Preview(first, tuple(texts[max(0, len(texts) - count) :]))

    def _candidates(self, session_id: str = "", *, in_trash: bool = False) -> Iterator[Candidate]:
        """Every text, newest first."""
        texts = sorted(
            (event.timestamp, session.id, event.seq or 0, nth, part)
            for session in list(self._sessions.values())
            if (session.id == session_id if session_id else bool(session.counters.trashed) == in_trash)
            for nth, (event, part) in enumerate(session.texts())
            if part.role in SAID
        )
        for place in range(len(texts) - 1, -1, -1):
            _, name, seq, _, part = texts[place]
            yield Candidate(place, name, seq, *part)

    def session(self, name: str) -> SessionRow:
        if name in self._sessions:
            return self._sessions[name].row
        part = name.lower()
        ids = [each for each in list(self._sessions) if each.lower().startswith(part) or each.lower().endswith(part)]
        return only_one([self._sessions[each].row for each in ids] if name else [], name)

    def unused_since(self, time: str) -> list[SessionRow]:
        rows = [each.row for each in reversed(self._newest_first(in_trash=False)) if each.came_in < time]
        return [row for row in rows if row.updated < time and not row.pinned]

    def trashed_before(self, time: str) -> list[SessionRow]:
        rows = [each.row for each in self._newest_first(in_trash=True)]
        return sorted((row for row in rows if row.trashed < time and not row.pinned), key=lambda row: row.trashed)

    def latest(self, cwd: str) -> SessionRow | None:
        found = self.sessions(limit=1, cwd=cwd) or self.sessions(limit=1)
        return found[0] if found else None

    def events(self, session_id: str, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        return iter(self._events(session_id)[after:upto])

    def last_events(self, session_id: str, count: int, before: int | None = None) -> list[Event]:
        events = self._events(session_id)[: before - 1 if before is not None else None]
        return events[max(0, len(events) - count) :]

    def messages_with(self, session_id: str, words: Sequence[str], *, but_of_tool: str | None = None) -> FoundMessages:
        session = self._sessions.get(session_id)
        texts = [
            (event.seq or 0, part.tool, part.text)
            for event, part in (session.texts() if session else ())
            if part.tool != but_of_tool
        ]
        return with_most_words(
            [seq for seq, tool, text in texts if holds(text, word) or holds(tool, word)] for word in words
        )

    def usage(self, session_id: str) -> UsageInfo | None:
        for event in reversed(self._events(session_id)):
            if isinstance(event.fact, UsageInfo) and not event.fact.agent:
                return event.fact
        return None

    def prompts(self, limit: int, search: str = "", cwd: str = "") -> list[str]:
        said = [
            (event.timestamp, event.seq or 0, part.text)
            for session in list(self._sessions.values())
            if not session.counters.trashed
            for event, part in session.texts()
            if part.role == "user" and search.lower() in part.text.lower() and part.text.strip()
            if not cwd or session.counters.cwd == cwd
        ]
        return list(dict.fromkeys(text for *_, text in sorted(said, reverse=True)[:limit]))[::-1]

    def half_reply(self, session_id: str) -> list[str]:
        return self._sessions[session_id].half_reply if session_id in self._sessions else []

    def health(self) -> Health:
        sessions = list(self._sessions.values())
        return Health(exists=True, sessions=len(sessions), events=sum(len(each.events) for each in sessions))

    def _events(self, session_id: str) -> list[Event]:
        return self._sessions[session_id].events if session_id in self._sessions else []

    def _newest_first(self, in_trash: bool) -> list[_KeptSession]:
        kept = [each for each in self._sessions.values() if bool(each.counters.trashed) == in_trash]
        return sorted(kept, key=lambda session: session.counters.updated, reverse=True)


def _passes(session: _KeptSession, words: Sequence[str]) -> bool:
    text = filter_text(session.counters.title, session.counters.cwd)
    return all(word in text for word in words)
