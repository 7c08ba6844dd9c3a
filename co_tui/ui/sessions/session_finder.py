"""Reads the store for the session browser; searches and previews run in threads, each with its own reading."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from co_tui.events import Message
from co_tui.events.stored_messages import prompt_of
from co_tui.session.repository_identity import same_folders
from co_tui.store.port import Reading, Store
from co_tui.store.search.message_search import Hit
from co_tui.store.stored_values import Preview, SessionRow

T = TypeVar("T")
FIRST_PAGE: Final = 100
MOST_HITS: Final = 100
PREVIEW_HITS: Final = 6


class Listed(NamedTuple):
    """The loaded sessions, how many match the filter, and how many there are."""

    rows: list[SessionRow]
    matching: int
    of: int
    last: Sequence[SessionRow] = ()
    """The ones at the end, if not all before them are loaded."""

    @property
    def missing(self) -> int:
        """How many are not loaded."""
        return max(0, self.matching - len(self.rows) - len(self.last))


class Found(NamedTuple):
    """Sessions whose messages match, each once; there may be more."""

    hits: tuple[Hit, ...] = ()
    is_more: bool = False
    not_searched: int = 0
    """How many sessions of others were not searched, since their text is not here."""
    is_incomplete: bool = False
    """Whether older messages cannot be found yet."""


class Previewed(NamedTuple):
    """The first and latest messages of a session, and its search hits."""

    preview: Preview = Preview()
    hits: tuple[Hit, ...] = ()
    is_claimed: bool = False
    """Whether any process has it open."""
    is_fetched: bool = True
    """Whether its text is here."""


class StoredPrompt(NamedTuple):
    """A prompt of a session, by its seq in the log."""

    seq: int
    turn: int
    text: str


class SessionFinder:
    """Raises `StoreError` where the store cannot be read."""

    def __init__(self, store: Store, cwd: str) -> None:
        self._store = store
        self._reading = store.reading()
        self.cwd = cwd
        self.folders: tuple[str, ...] = ()
        """This folder, and what it is called on other machines; known once something was listed."""

    def close(self) -> None:
        self._reading.close()

    def listed(self, typed: str, *, in_trash: bool, limit: int = FIRST_PAGE, last: int = 0) -> Listed:
        """`limit` sessions from the start and `last` from the end. Fast: the indexes answer it."""
        reading = self._reading
        if not self.folders:
            self.folders = (self.cwd, *same_folders(reading, Path(self.cwd)))
        also = self.folders[1:]
        rows = reading.browse(typed, self.cwd, limit, also=also, in_trash=in_trash)
        of = reading.count(in_trash=in_trash)
        matching = reading.count(typed, in_trash=in_trash) if typed.strip() else of
        last = min(last, matching - len(rows))
        at_end = reading.browse(typed, self.cwd, last, also=also, in_trash=in_trash, from_end=True) if last > 0 else []
        return Listed(rows, matching, of, at_end)

    async def found(self, typed: str, *, by_relevance: bool, in_trash: bool) -> Found:
        """Search all messages, also those compacted away."""

        def search(reading: Reading) -> Found:
            page = reading.search(
                typed, by_relevance=by_relevance, limit=MOST_HITS, once_per_session=True, in_trash=in_trash
            )
            not_searched = 0 if in_trash else len(reading.not_fetched())
            return Found(page.hits, page.next is not None, not_searched, page.is_incomplete)

        return await self._in_thread(search)

    async def previewed(self, session_id: str, typed: str) -> Previewed:
        def read(reading: Reading) -> Previewed:
            is_claimed = session_id in self._store.claimed()
            hits = reading.search(typed, session_id=session_id, limit=PREVIEW_HITS).hits if typed.strip() else ()
            return Previewed(reading.preview(session_id), hits, is_claimed, session_id not in reading.not_fetched())

        return await self._in_thread(read)

    async def prompts(self, session_id: str) -> list[StoredPrompt]:
        """The user's prompts in a session, oldest first."""

        def read(reading: Reading) -> list[StoredPrompt]:
            facts = ((event.seq or 0, event.fact) for event in reading.events(session_id))
            return [
                StoredPrompt(seq, fact.turn, prompt)
                for seq, fact in facts
                if isinstance(fact, Message) and not fact.agent and (prompt := prompt_of(fact.message)) is not None
            ]

        return await self._in_thread(read)

    async def _in_thread(self, work: Callable[[Reading], T]) -> T:
        """Cancelling the task stops the query, too."""
        opened: list[Reading] = []
        is_cancelled = False

        def read() -> T:
            with self._store.reading() as reading:
                opened.append(reading)
                if is_cancelled:
                    reading.cancel()
                return work(reading)

        try:
            return await asyncio.to_thread(read)
        except asyncio.CancelledError:
            is_cancelled = True
            for reading in opened:
                reading.cancel()
            raise
