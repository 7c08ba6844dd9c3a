"""A pager for long texts."""

import asyncio
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from co_tui.inert import inert
from co_tui.ui.background import run_in_background
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.terminal.clipboard import copy
from co_tui.ui.text.long_text import Pager
from co_tui.ui.widgets.find_bar import FindBar
from co_tui.ui.widgets.key_hints import KeyHint, KeyHints

_SCROLLING: tuple[KeyHint, ...] = (("up down space b", "scroll"), ("home end", "to its ends"))
_OTHERS: tuple[KeyHint, ...] = (("c", "copy"), ("esc", "back"))
READING: tuple[KeyHint, ...] = (*_SCROLLING, ("/", "search"), *_OTHERS)
SEARCHING: tuple[KeyHint, ...] = (
    ("n N", "next, previous"),
    ("/", "search"),
    *_SCROLLING[:1],
    ("esc", "end the search"),
)


class PagerFind(FindBar):
    """The search field; Enter returns to the text, where n and N continue."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "done", show=False)]

    class Done(Message):
        """Enter was pressed: back to the text."""

    def __init__(self) -> None:
        super().__init__("Search in this text", "↑ previous · ↓ next · Enter to the text · Esc closes")

    def action_done(self) -> None:
        self.post_message(self.Done())


class PagerScreen(Dialog[None]):
    """Shows a text to read, search and copy; the text is already inert."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("q,v", "close", "Back"),
        Binding("slash,ctrl+f", "find", "Search"),
        Binding("n", "step(1)", show=False),
        Binding("N", "step(-1)", show=False),
        Binding("c", "copy", "Copy"),
        Binding("space", "page(1)", show=False),
        Binding("b", "page(-1)", show=False),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__(tall=True)
        self.add_class("-full")
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        lines = self._text.count("\n") + 1
        with Vertical() as box:
            box.border_title = Text(self._title)  # a tool's name is not ours
            box.border_subtitle = f"{lines:,} lines" if lines > 1 else f"{len(self._text):,} characters"
            yield Pager(self._text)
            yield KeyHints(*READING)

    def on_mount(self) -> None:
        self.query_one(Pager).focus()

    def action_page(self, step: int) -> None:
        pager = self.query_one(Pager)
        pager.scroll_relative(y=step * max(1, pager.size.height - 1), animate=False)

    def action_copy(self) -> None:
        copy(self.app, self._text, "text")

    async def action_back(self) -> None:
        """Leave the search first, then the text."""
        if not self.query(PagerFind):
            self.action_close()
            return
        self.query_one(Pager).focus()
        await self.query(PagerFind).remove()
        self.query_one(KeyHints).show(*READING)
        self._search_for("")

    # Searching

    async def action_find(self) -> None:
        if not self.query(PagerFind):
            await self.query_one(Vertical).mount(PagerFind(), before=self.query_one(KeyHints))
            self.query_one(KeyHints).show(*SEARCHING)
        self.query_one(PagerFind).focus()
        self.query_one(PagerFind).action_select_all()

    @on(PagerFind.Changed)
    def _typed(self, event: PagerFind.Changed) -> None:
        self._search_for(inert(event.value))

    @on(PagerFind.Done)
    def _done(self) -> None:
        self.query_one(Pager).focus()

    @on(FindBar.Stepped)
    def _stepped(self, event: FindBar.Stepped) -> None:
        self.action_step(event.step)

    def action_step(self, step: int) -> None:
        pager = self.query_one(Pager)
        pager.search.step(step)
        pager.see_found()
        self._show_count()

    def _search_for(self, text: str) -> None:
        self.query_one(Pager).search.set_needle(text)
        run_in_background(self, "Finding", self._search_all, group="finding", latest=True)

    async def _search_all(self) -> None:
        """Search slice by slice, so that keys are handled in between; shows the first match as soon as it is found."""
        pager = self.query_one(Pager)
        seen = None
        for _ in pager.search.search_from(pager.top) if pager.search.needle else ():
            if pager.search.found is not seen:
                seen = pager.search.found
                pager.see_found()
            self._show_count()
            await asyncio.sleep(0)
        pager.see_found()
        self._show_count()

    def _show_count(self) -> None:
        search = self.query_one(Pager).search
        for bar in self.query(PagerFind):
            bar.show_count(search.needle, search.match_number, search.total, done=search.is_done)
