"""Searching the conversation: everything that has the text is marked and counted while it is typed."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from co_tui.inert import inert
from co_tui.ui.background import run_in_background
from co_tui.ui.text.find_in_text import in_small_letters
from co_tui.ui.transcript.transcript import Transcript
from co_tui.ui.widgets.find_bar import FindBar

if TYPE_CHECKING:
    from co_tui.ui.chat.chat_host import ChatHost

BLOCKS_AT_ONCE = 200
"""Looked through before keys have their turn."""


class Finding:
    """One search at a time; what is not loaded yet is loaded beside the screen, and counts as it comes."""

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

    async def close(self) -> None:
        self._transcript.find("")
        await self._screen.query(FindBar).remove()

    def look(self, text: str) -> None:
        """Mark the text wherever it is, and go to the nearest place above; count the rest in slices."""
        self._transcript.find(text)
        self._tell(done=False)
        run_in_background(self._screen, "Finding", partial(self._count, text), group="finding")

    def step(self, step: int) -> None:
        self._transcript.find(self._transcript.search.needle, back=step > 0)
        self._tell(done=True)

    async def _count(self, text: str) -> None:
        """First what is there, then what had to be loaded."""
        search = self._transcript.search
        await self._count_loaded(text)
        self._tell(done=not text)
        if text and search.needle == in_small_letters(text):
            await self._host.controller.older.load_back_to(0)
            await self._count_loaded(text)
        if search.needle == in_small_letters(text):
            if search.match is None and search.total:  # only what was loaded just now has it
                self._transcript.find(text)
            self._tell(done=True)

    async def _count_loaded(self, text: str) -> None:
        search, blocks = self._transcript.search, list(self._transcript.blocks)
        for start in range(len(blocks), 0, -BLOCKS_AT_ONCE):
            if search.needle != in_small_letters(text):
                return  # something else is searched for by now
            search.count(blocks[max(0, start - BLOCKS_AT_ONCE) : start])
            await asyncio.sleep(0)

    def _tell(self, *, done: bool) -> None:
        search = self._transcript.search
        for bar in self._screen.query(FindBar):
            bar.show_count(search.needle, search.position(self._transcript.layout_of_blocks), search.total, done=done)
