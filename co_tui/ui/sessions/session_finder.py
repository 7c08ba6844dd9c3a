"""What the session browser asks of the store; searches and previews run beside the screen, each on its own view."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from co_tui.events import Message
from co_tui.events.stored_messages import prompt_of
from co_tui.store.port import Reading, Store
from co_tui.store.search.message_search import Hit
from co_tui.store.stored_values import Preview, SessionRow

T = TypeVar("T")
FIRST_PAGE: Final = 100
MOST_HITS: Final = 100
PREVIEW_HITS: Final = 6


class Listed(NamedTuple):
    """Sessions by a filter, how many it lets through, and how many there are."""

    rows: list[SessionRow]
    matching: int
    of: int
    last: Sequence[SessionRow] = ()
    """The ones at the end, where not all before them are loaded."""

    @property
    def missing(self) -> int:
        """How many are not loaded."""
        return max(0, self.matching - len(self.rows) - len(self.last))


class Found(NamedTuple):
    """Sessions in which something was said, each once; there may be more of them."""

    hits: tuple[Hit, ...] = ()
    is_more: bool = False


class Previewed(NamedTuple):
    """How a session began and ended, and where it holds what is searched for."""

    preview: Preview = Preview()
    hits: tuple[Hit, ...] = ()


class Prompted(NamedTuple):
    """A prompt of a session, by its place in the log."""

    seq: int
    turn: int
    text: str


class SessionFinder:
    """Raises `StoreError` where the store cannot be read."""

    def __init__(self, store: Store, cwd: str) -> None:
        self._store = store
        self._reading = store.reading()
        self.cwd = cwd

    def close(self) -> None:
        self._reading.close()

    def listed(self, typed: str, *, in_trash: bool, limit: int = FIRST_PAGE, last: int = 0) -> Listed:
        """At once: the indexes answer it. `limit` from the beginning, and `last` from the end."""
        reading = self._reading
        rows = reading.browse(typed, self.cwd, limit, in_trash=in_trash)
        of = reading.count(in_trash=in_trash)
        matching = reading.count(typed, in_trash=in_trash) if typed.strip() else of
        last = min(last, matching - len(rows))
        at_end = reading.browse(typed, self.cwd, last, in_trash=in_trash, from_end=True) if last > 0 else []
        return Listed(rows, matching, of, at_end)

    async def found(self, typed: str, *, by_relevance: bool, in_trash: bool) -> Found:
        """Over all messages ever said, also those compacted away."""

        def search(reading: Reading) -> Found:
            page = reading.search(
                typed, by_relevance=by_relevance, limit=MOST_HITS, once_per_session=True, in_trash=in_trash
            )
            return Found(page.hits, page.next is not None)

        return await self._beside(search)

    async def previewed(self, session_id: str, typed: str) -> Previewed:
        def look(reading: Reading) -> Previewed:
            hits = reading.search(typed, session_id=session_id, limit=PREVIEW_HITS).hits if typed.strip() else ()
            return Previewed(reading.preview(session_id), hits)

        return await self._beside(look)

    async def prompts(self, session_id: str) -> list[Prompted]:
        """All of the user's in a session, oldest first."""

        def read(reading: Reading) -> list[Prompted]:
            said = ((event.seq or 0, event.fact) for event in reading.events(session_id))
            return [
                Prompted(seq, fact.turn, prompt)
                for seq, fact in said
                if isinstance(fact, Message) and not fact.agent and (prompt := prompt_of(fact.message)) is not None
            ]

        return await self._beside(read)

    async def _beside(self, work: Callable[[Reading], T]) -> T:
        def read() -> T:
            with self._store.reading() as reading:
                return work(reading)

        return await asyncio.to_thread(read)

    def is_open_elsewhere(self, session_id: str) -> bool:
        return session_id in self._store.claimed()
