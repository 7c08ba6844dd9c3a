"""A search over all messages: which candidates are hits, and where the next page begins."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from co_tui.events.stored_messages import Role
from co_tui.events.tool_wording import argument_lines
from co_tui.store.search.search_words import SearchWords, Snippet
from co_tui.store.stored_values import SessionRow

MAX_RANKED = 1_000
"""The newest matches that are ranked by relevance; ranking all would be slow."""


class Candidate(NamedTuple):
    """One text of a message that may contain the words."""

    id: int
    """Higher is newer."""
    session_id: str
    seq: int
    role: Role
    tool: str
    text: str

    def holds(self, words: SearchWords) -> bool:
        # No phrase begins in the tool's name and ends in the text.
        return words.are_in(f"{self.tool}\0{self.text}" if self.tool else self.text)


class NextPage(NamedTuple):
    """Where a search continues."""

    before: int
    """Only candidates with a lower id."""
    shown: int = 0
    """By relevance: how many were shown already."""
    seen: frozenset[str] = frozenset()
    """Sessions already shown, when each is shown once."""


class Hit(NamedTuple):
    """A message that contains all words of a search."""

    session: SessionRow
    seq: int
    role: Role
    tool: str
    timestamp: str
    snippet: Snippet
    """As stored; the arguments of a call are JSON."""
    readable: Snippet
    """For people; the arguments of a call are one per line."""


class SearchPage(NamedTuple):
    """Some hits, and the next page; None at the end."""

    hits: tuple[Hit, ...] = ()
    next: NextPage | None = None
    is_incomplete: bool = False
    """Whether older messages cannot be found yet, after an upgrade."""


class FoundCount(NamedTuple):
    """How many messages of how many sessions contain the words."""

    messages: int = 0
    sessions: int = 0
    is_more: bool = False
    """Counting stopped at the maximum."""


class Search(NamedTuple):
    """A search request."""

    words: SearchWords
    by_relevance: bool = False
    limit: int = 50
    page: NextPage | None = None
    once_per_session: bool = False

    @property
    def before(self) -> int | None:
        """Only candidates with a lower id are needed."""
        return self.page.before if self.page and not self.by_relevance else None

    def seen(self) -> set[str]:
        """The sessions that need no more candidates; `chosen` adds to them."""
        return set(self.page.seen if self.page and not self.by_relevance else ())

    def chosen(self, candidates: Iterable[Candidate], seen: set[str]) -> tuple[list[Candidate], NextPage | None]:
        """The hits among candidates, which come newest first; no more are read than needed."""
        hits = self._hits(candidates, seen)
        if self.by_relevance:
            return self._most_relevant(hits)
        found = list(islice(hits, self.limit))
        if len(found) < self.limit:
            return found, None
        return found, NextPage(before=found[-1].id, seen=frozenset(seen))

    def _most_relevant(self, hits: Iterator[Candidate]) -> tuple[list[Candidate], NextPage | None]:
        words, shown = self.words, self.page.shown if self.page else 0
        best = sorted(islice(hits, MAX_RANKED), key=lambda hit: words.relevance(hit.text, hit.role), reverse=True)
        if self.once_per_session:
            best = list({hit.session_id: hit for hit in reversed(best)}.values())[::-1]
        more = NextPage(before=0, shown=shown + self.limit) if len(best) > shown + self.limit else None
        return best[shown : shown + self.limit], more

    def _hits(self, candidates: Iterable[Candidate], seen: set[str]) -> Iterator[Candidate]:
        once = self.once_per_session and not self.by_relevance
        for candidate in candidates:
            if not (once and candidate.session_id in seen) and candidate.holds(self.words):
                if once:
                    seen.add(candidate.session_id)
                yield candidate


def counted(words: SearchWords, candidates: Iterable[Candidate], most: int) -> FoundCount:
    """The messages among candidates that hold the words; a message of several parts is one."""
    found: dict[tuple[str, int], None] = {}
    for candidate in candidates:
        if (candidate.session_id, candidate.seq) not in found and candidate.holds(words):
            if len(found) == most:
                return FoundCount(most, len({session_id for session_id, _ in found}), is_more=True)
            found[candidate.session_id, candidate.seq] = None
    return FoundCount(len(found), len({session_id for session_id, _ in found}))


def hits_of(
    search: Search,
    chosen: Iterable[Candidate],
    rows: Mapping[str, SessionRow],
    times: Mapping[tuple[str, int], str],
) -> tuple[Hit, ...]:
    """Hits with their sessions and times; hits of sessions deleted since are left out."""
    return tuple(
        Hit(
            session=rows[each.session_id],
            seq=each.seq,
            role=each.role,
            tool=each.tool,
            timestamp=times.get((each.session_id, each.seq), ""),
            snippet=search.words.snippet(each.text),
            readable=search.words.snippet(argument_lines(each.text) if each.role == "tool_call" else each.text),
        )
        for each in chosen
        if each.session_id in rows
    )
