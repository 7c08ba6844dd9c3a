"""A stored session on the screen: its end at once, older pages as the reader scrolls up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final

from textual.app import App

from co_tui.events import Event, Message, SessionEnd
from co_tui.events.replaced import NOTHING_REPLACED, without_replaced
from co_tui.events.stored_messages import prompt_of
from co_tui.inert import one_line
from co_tui.session.state.derive import apply, replay
from co_tui.session.state.session_state import SessionState
from co_tui.store.store_errors import StoreError
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.keys.command_table import ShortcutFor, shortcut_for
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.blocks import BlockBuilder

if TYPE_CHECKING:
    from co_tui.store.port import Reading, Store

PAGE_EVENTS = 60
LARGEST_PAGE_EVENTS = 600
PROGRAM_CHARS: Final = 40
POLL_S: Final = 0.5
"""How often the store is read for what another process appends."""


class StoredTranscript:
    """Reads a session's log backwards, page by page."""

    def __init__(self, store: "Store", session_id: str, shortcut_for: ShortcutFor = shortcut_for) -> None:
        """Raises `StoreError` for an unknown session or a store that cannot be read."""
        self.store = store
        self._way_to = shortcut_for
        self._program = ""
        """The program that wrote what is before the pages built so far, if that was imported."""
        self._counts_upto = NOTHING_REPLACED
        """Of what is before them, only this much was not read again by an import."""
        with store.reading() as reading:
            self._row = reading.session(session_id)
            self._usage = reading.usage(self._row.id)
            self._newest = self._page(reading)
            self._first_seq = self._newest[0].seq or 1 if self._newest else 1
            self._last_seq = self._newest[-1].seq or 0 if self._newest else 0
            reads_all = self._first_seq > 1 and self._row.compactions and self._row.last_seq <= LARGEST_PAGE_EVENTS
            self._known = list(reading.events(self._row.id)) if reads_all else self._newest

    def preview_state(self) -> SessionState:
        """The state from the session's row and its last events, without reading a long log.

        What the model sees is known only of a short one: the engine replays the others later.
        """
        row, recent = self._row, replay(self._known)
        is_whole = not self._known or self._known[0].seq == 1
        by_row = SessionState(cost=row.cost - row.summary_cost, summary_cost=row.summary_cost)
        counted = recent if is_whole else by_row  # a row has fewer figures
        seen = recent if is_whole else SessionState()
        return SessionState(
            session_id=row.id,
            seq=self._last_seq,
            title=row.title,
            model=row.model,
            policy=row.policy,
            cwd=row.cwd,
            repository=row.repository,
            repository_id=row.repository_id,
            branch=row.branch,
            turn=row.turns,
            usage=self._usage,
            pace=recent.pace,
            cost=counted.cost,
            summary_cost=counted.summary_cost,
            cached_tokens=counted.cached_tokens,
            cache_saved=counted.cache_saved,
            timeline=recent.timeline,
            history=seen.history,
            transcript=seen.transcript,
            rewrites=seen.rewrites,
            compactions=seen.compactions,
            pins=seen.pins,
            held_out=seen.held_out,
            started=True,
        )

    def replayed(self) -> SessionState:
        """The state from the whole log. Slow for a long one."""
        with self.store.reading() as reading:
            return replay(reading.events(self._row.id))

    async def new_events(
        self, state: SessionState, keep_reading: Callable[[], bool]
    ) -> AsyncIterator[tuple[Event, SessionState]]:
        """Yield the events another process appends to this session, each with the state after it, for as long as
        `keep_reading()`."""
        seq = self._last_seq
        while keep_reading():
            for event in await asyncio.to_thread(self._after, seq):
                seq = event.seq or seq
                state = apply(state, event) if seq > state.seq else state
                yield event, state
            await asyncio.sleep(POLL_S)

    def _after(self, seq: int) -> list[Event]:
        with self.store.reading() as reading:
            return list(reading.events(self._row.id, after=seq))

    def is_replaced(self) -> bool:
        """Whether the log has another event where it ended when it was read: the server had other ones."""
        with self.store.reading() as reading:
            return list(reading.events(self._row.id, self._last_seq - 1, self._last_seq)) != self._newest[-1:]

    def newest(self) -> BlockBuilder:
        """The blocks of the last page."""
        self._program, self._counts_upto = "", NOTHING_REPLACED
        return self._built(self._newest)

    def older(self) -> list[Block]:
        """The blocks of the page before the loaded ones; empty at the beginning."""
        if self._first_seq <= 1:
            return []
        with self.store.reading() as reading:
            events = self._page(reading, min(self._first_seq, self._counts_upto + 1))
        self._first_seq = events[0].seq or 1 if events else 1
        return self._built(events).blocks

    def back_to(self, seq: int) -> list[Block]:
        """The blocks of all pages not loaded yet, back to the one with this event."""
        events: list[Event] = []
        first = self._first_seq
        with self.store.reading() as reading:
            while first > max(1, seq):
                page = self._page(reading, first)
                first = page[0].seq or 1 if page else 1
                events[:0] = page
        self._first_seq = first
        return self._built(events).blocks if events else []

    def _built(self, events: list[Event]) -> BlockBuilder:
        """The blocks of a page; pages come newest first. All that is before the end of an import was imported."""
        builder, later = BlockBuilder(self._way_to), self._program
        events, self._counts_upto = without_replaced(events, self._counts_upto)
        ends = ((n, event.fact.program) for n, event in enumerate(events) if isinstance(event.fact, SessionEnd))
        for upto, program in reversed([*ends]):
            if program:
                self._program = builder.program = one_line(program, PROGRAM_CHARS)
                builder.add_all(events[:upto])
                events = events[upto:]
                break
        builder.program = later
        builder.add_all(events)
        return builder

    def _page(self, reading: "Reading", before: int | None = None) -> list[Event]:
        """Events back to the start of a turn: a call and its result stay on one page."""
        events = reading.last_events(self._row.id, PAGE_EVENTS, before)
        while events and (events[0].seq or 1) > 1 and len(events) < LARGEST_PAGE_EVENTS and not _opens_turn(events[0]):
            more = reading.last_events(self._row.id, PAGE_EVENTS // 4, events[0].seq)
            events = [*more, *events]
        return events


def _opens_turn(event: Event) -> bool:
    return isinstance(event.fact, Message) and prompt_of(event.fact.message) is not None


class OlderMessages:
    """Brings older messages of the shown session into the chat."""

    def __init__(self, host: App[Any], chat: ChatScreen) -> None:
        self._host, self._chat = host, chat
        self.stored: StoredTranscript | None = None
        self._reading = asyncio.Lock()
        """Held while older events are read in a thread: each page is loaded once."""

    def open(self, store: "Store", session_id: str) -> tuple[SessionState, str]:
        """Read the end of a session; returns its state, and why it cannot be read. An empty id closes it."""
        self.stored = None
        if not session_id:
            return SessionState(), ""
        try:
            self.stored = StoredTranscript(store, session_id, self._chat.shortcut_for)
        except StoreError as error:
            return SessionState(), str(error)
        return self.stored.preview_state(), ""

    def load(self) -> None:
        """Load one more page, when the reader scrolls near the first loaded block."""
        if (stored := self.stored) is None or self._reading.locked():
            return
        try:
            self._show(stored, stored.older())
        except StoreError as error:
            self._cannot_load(error)

    async def load_back_to(self, seq: int) -> None:
        """Load everything from an event on, in a thread; a load under way finishes first."""
        async with self._reading:
            if (stored := self.stored) is None:
                return
            try:
                self._show(stored, await asyncio.to_thread(stored.back_to, seq))
            except StoreError as error:
                self._cannot_load(error)

    def _show(self, stored: StoredTranscript, blocks: list[Block]) -> None:
        if blocks and stored is self.stored:
            self._chat.show_older(blocks)

    def _cannot_load(self, error: StoreError) -> None:
        self.stored = None
        self._host.notify(str(error), severity="error", markup=False)
