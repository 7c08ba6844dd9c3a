"""Questions about sessions in memory; a thread may ask while another writes."""

from collections.abc import Iterator, Sequence
from typing import Self

from co_tui.events import Event, UsageInfo
from co_tui.store.in_memory.kept_session import KeptSession
from co_tui.store.search.case_folding import folded
from co_tui.store.search.message_search import Candidate, FoundCount, NextPage, Search, SearchPage, counted, hits_of
from co_tui.store.search.search_words import SearchWords
from co_tui.store.search.searchable_text import SAID
from co_tui.store.search.session_filter import filter_text, filter_words
from co_tui.store.search.session_words import holds
from co_tui.store.stored_values import (
    FoundMessages,
    Health,
    Preview,
    PreviewLine,
    SessionRow,
    messages_with_most_words,
    only_one,
)


class InMemoryReader:
    """All questions; each is answered from what is there at that moment."""

    def __init__(self, sessions: dict[str, KeptSession]) -> None:
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
        once_per_session: bool = False,
        in_trash: bool = False,
    ) -> SearchPage:
        asked = Search(SearchWords(typed), by_relevance, limit, page, once_per_session)
        before = asked.before
        found = self._candidates(session_id, in_trash=in_trash)
        chosen, more = asked.chosen((each for each in found if before is None or each.id < before), asked.seen())
        rows = {each.session_id: self._sessions[each.session_id].row for each in chosen}
        times = {(each.session_id, each.seq): self._events(each.session_id)[each.seq - 1].timestamp for each in chosen}
        return SearchPage(hits_of(asked, chosen, rows, times), more)

    def count_found(self, typed: str, *, most: int = 1000, session_id: str = "", in_trash: bool = False) -> FoundCount:
        return counted(SearchWords(typed), self._candidates(session_id, in_trash=in_trash), most)

    def preview(self, session_id: str, count: int = 6, chars: int = 1000) -> Preview:
        session = self._sessions.get(session_id)
        texts = [
            PreviewLine(event.seq or 0, part.role, part.text[:chars])
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

    def messages_with(self, session_id: str, words: Sequence[str], *, except_tool: str | None = None) -> FoundMessages:
        session = self._sessions.get(session_id)
        texts = [
            (event.seq or 0, part.tool, part.text)
            for event, part in (session.texts() if session else ())
            if part.tool != except_tool
        ]
        return messages_with_most_words(
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

    def partial_reply(self, session_id: str) -> list[str]:
        return self._sessions[session_id].partial_reply if session_id in self._sessions else []

    def health(self) -> Health:
        sessions = list(self._sessions.values())
        return Health(exists=True, sessions=len(sessions), events=sum(len(each.events) for each in sessions))

    def _events(self, session_id: str) -> list[Event]:
        return self._sessions[session_id].events if session_id in self._sessions else []

    def _newest_first(self, in_trash: bool) -> list[KeptSession]:
        kept = [each for each in list(self._sessions.values()) if bool(each.counters.trashed) == in_trash]
        return sorted(kept, key=lambda session: session.counters.updated, reverse=True)


def _passes(session: KeptSession, words: Sequence[str]) -> bool:
    text = filter_text(session.counters.title, session.counters.cwd)
    return all(word in text for word in words)
