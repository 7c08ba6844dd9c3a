"""Search the conversation as you type: highlight and count all matches."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.await_remove import AwaitRemove
from textual.screen import Screen

from co_tui.inert import inert
from co_tui.ui.background import run_in_background
from co_tui.ui.transcript.matches import with_single_spaces
from co_tui.ui.transcript.transcript import Transcript
from co_tui.ui.widgets.find_bar import FindBar

if TYPE_CHECKING:
    from co_tui.ui.chat.chat_host import ChatHost

BLOCKS_AT_ONCE = 200
"""Blocks searched before control returns to the event loop."""


class ChatSearch:
    """One search at a time; older blocks are loaded in the background and counted as they arrive."""

    def __init__(self, screen: Screen[Any], transcript: Transcript, host: "ChatHost") -> None:
        self._screen, self._transcript, self._host = screen, transcript, host

    async def open(self, text: str) -> FindBar:
        bars = self._screen.query(FindBar)
        bar = bars.first() if bars else FindBar()
        if not bars:
            await self._screen.mount(bar, before="#prompt")
        bar.focus()
        bar.value = inert(text) or bar.value
        bar.action_select_all()
        return bar

    def close(self) -> AwaitRemove:
        self._transcript.find("")
        return self._screen.query(FindBar).remove()

    def search_for(self, text: str) -> None:
        """Highlight all matches, go to the nearest one above, and count the rest in slices."""
        self._transcript.find(text)
        self._show_count(done=False)
        run_in_background(self._screen, "Finding", partial(self._count, text), group="finding")

    def step(self, step: int) -> None:
        self._transcript.find(self._transcript.search.needle, back=step > 0)
        self._show_count(done=True)

    async def _count(self, text: str) -> None:
        """Count the loaded blocks, then load and count the rest."""
        search = self._transcript.search
        await self._count_loaded(text)
        self._show_count(done=not text)
        is_all = True
        if text and search.needle == with_single_spaces(text):
            is_all = await self._host.controller.older.load_back_to(0)
            await self._count_loaded(text)
        if search.needle == with_single_spaces(text):
            if search.match is None and search.total:  # all matches are in the blocks just loaded
                self._transcript.find(text)
            self._show_count(done=is_all)

    async def _count_loaded(self, text: str) -> None:
        search, blocks = self._transcript.search, list(self._transcript.blocks)
        for start in range(len(blocks), 0, -BLOCKS_AT_ONCE):
            if search.needle != with_single_spaces(text):
                return  # the search text has changed
            search.count(blocks[max(0, start - BLOCKS_AT_ONCE) : start])
            await asyncio.sleep(0)

    def _show_count(self, *, done: bool) -> None:
        search = self._transcript.search
        for bar in self._screen.query(FindBar):
            bar.show_count(
                search.needle, search.match_number(self._transcript.layout_of_blocks), search.total, done=done
            )
