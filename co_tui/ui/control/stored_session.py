"""A stored session as the screen first shows it: its end at once, the rest as one scrolls."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from co_tui.events import Event, Message
from co_tui.events.stored_messages import prompt_of
from co_tui.session.state.derive import replay
from co_tui.session.state.session_state import SessionState
from co_tui.ui.keys.command_table import ShortcutFor, shortcut_for
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.blocks import BlockBuilder

if TYPE_CHECKING:
    from co_tui.store.port import Reading, Store

PAGE_EVENTS = 60
LARGEST_PAGE_EVENTS = 600
LOOK_AGAIN_S = 0.5
"""How often a session that another process writes is looked at."""


class StoredSession:
    """Reads a session's log backwards, page by page."""

    def __init__(self, store: "Store", session_id: str, shortcut_for: ShortcutFor = shortcut_for) -> None:
        """Raises `StoreError` for an unknown session or a store that cannot be read."""
        self._store = store
        self._way_to = shortcut_for
        with store.reading() as reading:
            self._row = reading.session(session_id)
            self._usage = reading.usage(self._row.id)
            self._newest = self._page(reading)
        self._first_seq = self._newest[0].seq or 1 if self._newest else 1

    def glimpse(self) -> SessionState:
        """What the session's row and its last events tell, without reading the whole log.

        History and transcript are left empty: the engine will replay them.
        """
        row, recent = self._row, replay(self._newest)
        by_row = SessionState(cost=row.cost - row.summary_cost, summary_cost=row.summary_cost)
        counted = recent if self._first_seq <= 1 else by_row  # a row does not tell all
        return SessionState(
            session_id=row.id,
            seq=row.last_seq,
            title=row.title,
            model=row.model,
            policy=row.policy,
            cwd=row.cwd,
            repository=row.repository,
            branch=row.branch,
            turn=row.turns,
            usage=self._usage,
            pace=recent.pace,
            cost=counted.cost,
            summary_cost=counted.summary_cost,
            cached_tokens=counted.cached_tokens,
            cache_saved=counted.cache_saved,
            timeline=recent.timeline,
            started=True,
        )

    async def to_come(self, is_wanted: Callable[[], bool]) -> AsyncIterator[Event]:
        """What another process says in this session from now on, as long as that is wanted."""
        seq = max(self._row.last_seq, self._newest[-1].seq or 0 if self._newest else 0)
        while is_wanted():
            for event in await asyncio.to_thread(self._after, seq):
                seq = event.seq or seq
                yield event
            await asyncio.sleep(LOOK_AGAIN_S)

    def _after(self, seq: int) -> list[Event]:
        with self._store.reading() as reading:
            return list(reading.events(self._row.id, after=seq))

    def newest(self) -> BlockBuilder:
        """The blocks of the last page."""
        builder = BlockBuilder(self._way_to)
        builder.add_all(self._newest)
        return builder

    def older(self) -> list[Block]:
        """The blocks of the page before what is loaded; empty at the beginning."""
        if self._first_seq <= 1:
            return []
        with self._store.reading() as reading:
            events = self._page(reading, self._first_seq)
        self._first_seq = events[0].seq or 1 if events else 1
        return BlockBuilder(self._way_to).add_all(events)

    def back_to(self, seq: int) -> list[Block]:
        """The blocks of all pages that are not loaded, back to the one that holds an event."""
        events: list[Event] = []
        first = self._first_seq
        with self._store.reading() as reading:
            while first > max(1, seq):
                page = self._page(reading, first)
                first = page[0].seq or 1 if page else 1
                events[:0] = page
        self._first_seq = first
        return BlockBuilder(self._way_to).add_all(events) if events else []

    def _page(self, reading: "Reading", before: int | None = None) -> list[Event]:
        """Events back to the beginning of a turn, so that no call is parted from its result."""
        events = reading.last_events(self._row.id, PAGE_EVENTS, before)
        while events and (events[0].seq or 1) > 1 and len(events) < LARGEST_PAGE_EVENTS and not _opens_turn(events[0]):
            more = reading.last_events(self._row.id, PAGE_EVENTS // 4, events[0].seq)
            events = [*more, *events]
        return events


def _opens_turn(event: Event) -> bool:
    return isinstance(event.fact, Message) and prompt_of(event.fact.message) is not None
