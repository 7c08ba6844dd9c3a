"""A stored session on the screen: its end at once, older pages as the reader scrolls up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final

from textual.app import App

from co_tui.events import Event
from co_tui.session.state.derive import apply, replay
from co_tui.session.state.session_state import SessionState
from co_tui.store.store_errors import StoreError
from co_tui.ui.background import in_thread
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.older_pages import OlderPages, page_before
from co_tui.ui.keys.command_table import ShortcutFor, shortcut_for
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.blocks import BlockBuilder

if TYPE_CHECKING:
    from co_tui.store.port import Store

SHORT_LOG_EVENTS: Final = 600
"""A log with compactions that is no longer than this is read as a whole, so that what they replaced is set apart."""
POLL_S: Final = 0.5
"""How often the store is read for what another process appends."""


class StoredTranscript:
    """The end of a session's log, and the pages before it."""

    def __init__(self, store: "Store", session_id: str, shortcut_for: ShortcutFor = shortcut_for) -> None:
        """Raises `StoreError` for an unknown session or a store that cannot be read."""
        self.store = store
        with store.reading() as reading:
            self._row = reading.session(session_id)
            self._usage = reading.usage(self._row.id)
            self._newest = page_before(reading, self._row.id)
            first_seq = self._newest[0].seq or 1 if self._newest else 1
            self._last_seq = self._newest[-1].seq or 0 if self._newest else 0
            reads_all = first_seq > 1 and self._row.compactions and self._row.last_seq <= SHORT_LOG_EVENTS
            self._known = list(reading.events(self._row.id)) if reads_all else self._newest
        self.pages = OlderPages(store, self._row.id, self._last_seq + 1, shortcut_for)

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
        return self.pages.built(self._newest)


class OlderMessages:
    """Brings older messages of the shown session into the chat, and unloads those that are far above the view."""

    def __init__(self, host: App[Any], chat: ChatScreen) -> None:
        self._host, self._chat = host, chat
        self.stored: StoredTranscript | None = None
        self._pages: OlderPages | None = None
        """None while all of the session is loaded."""
        self._opened = 0
        """How many sessions were opened."""
        self._reading = asyncio.Lock()
        """Held while older events are read in a thread: each page is loaded once."""
        self._trouble = ""
        """Why the last page could not be read."""

    def open(self, store: "Store", session_id: str) -> tuple[SessionState, str]:
        """Read the end of a session; returns its state, and why it cannot be read. An empty id closes it."""
        self.stored = self._pages = None
        self._opened += 1
        if not session_id:
            return SessionState(), ""
        try:
            self.stored = StoredTranscript(store, session_id, self._chat.shortcut_for)
        except StoreError as error:
            return SessionState(), str(error)
        self._pages = self.stored.pages
        return self.stored.preview_state(), ""

    def load(self) -> None:
        """Load one more page, when the reader scrolls near the first loaded block."""
        if (pages := self._pages) is None or self._reading.locked():
            return
        try:
            blocks = pages.older()
            while not blocks and not pages.are_all_read:  # those of a delegation have none
                blocks = pages.older()
            self._show(pages, blocks)
        except StoreError as error:
            self._cannot_load(error)

    async def load_back_to(self, seq: int) -> bool:
        """Load everything from an event on, in a thread; a load under way finishes first. False if it cannot be
        read, or another session is shown by then."""
        opened = self._opened
        async with self._reading:
            if opened != self._opened:
                return False
            if (pages := self._pages) is None:
                return True
            try:
                self._show(pages, await in_thread(pages.back_to, seq))
            except StoreError as error:
                self._trouble = ""
                self._cannot_load(error)
                return False
            return opened == self._opened

    def unload(self, store: "Store", session_id: str) -> None:
        """Unload what is far above the view of a session in this store, unless it is being read."""
        if self._reading.locked():
            return
        pages = self._pages
        if seq := self._chat.unload_older(pages.can_begin_at if pages is not None else lambda _: True):
            self._pages = pages or OlderPages(store, session_id, seq, self._chat.shortcut_for)
            self._pages.unload(seq)

    def _show(self, pages: OlderPages, blocks: list[Block]) -> None:
        self._trouble = ""
        if blocks and pages is self._pages:
            self._chat.show_older(blocks)

    def _cannot_load(self, error: StoreError) -> None:
        """Say so, once while the reader scrolls; the next scroll tries again."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            self._host.notify(self._trouble, severity="error", markup=False)
