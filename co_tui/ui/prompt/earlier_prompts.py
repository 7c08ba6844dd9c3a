"""Search earlier prompts as you type, of this folder or of all sessions."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from co_tui.inert import one_line
from co_tui.store.store_errors import StoreError
from co_tui.ui.background import run_in_background
from co_tui.ui.dialogs.dialog import show_rows
from co_tui.ui.dialogs.filter_dialog import ChoosingDialog
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.steady_list import SteadyList

if TYPE_CHECKING:
    from co_tui.store.port import Store

MAX_SHOWN = 200
LINE_CHARS = 200
PAUSE_S = 0.05
"""Debounce time for the search."""


class EarlierPromptsScreen(ChoosingDialog[str]):
    """Returns the chosen prompt. Newest first; the store is read in a thread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "widen", "This folder or all", priority=True),
    ]

    def __init__(self, store: "Store", cwd: str) -> None:
        super().__init__()
        self._store, self._cwd = store, cwd
        self._here = True
        self._asked = 0
        """Number of searches started; only the latest one's result is shown."""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Earlier prompts"
            yield Field(placeholder="Type to search")
            yield SteadyList(classes="-filling")
            yield KeyHints(("enter", "take"), ("ctrl+r", "this folder or all"), ("escape", "back"))

    def on_mount(self) -> None:
        self._start_search()

    @on(Input.Changed)
    def _typed(self) -> None:
        self._start_search()

    def action_widen(self) -> None:
        self._here = not self._here
        self._start_search()

    def _start_search(self) -> None:
        self._asked += 1
        search = partial(self._search, self.query_one(Input).value, self._asked)
        run_in_background(self, "Searching earlier prompts", search, group="search")

    async def _search(self, text: str, asked: int) -> None:
        await asyncio.sleep(PAUSE_S)
        if asked != self._asked:
            return
        cwd = self._cwd if self._here else ""
        try:
            found = await asyncio.to_thread(self._found, text, cwd)
        except StoreError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        if asked == self._asked:
            self._show(found)

    def _found(self, text: str, cwd: str) -> list[str]:
        with self._store.reading() as reading:
            return reading.prompts(MAX_SHOWN, search=text.strip(), cwd=cwd)[::-1]

    def _show(self, found: list[str]) -> None:
        self._choices = found
        options = self.query_one(OptionList)
        rows = [Option(Text(one_line(each, LINE_CHARS), no_wrap=True)) for each in found]
        show_rows(options, rows, self._empty_text, at=0)
        count = f"the newest {MAX_SHOWN}" if len(found) == MAX_SHOWN else f"{len(found)}"
        self.query_one(Vertical).border_subtitle = f"{count} {self._where}, newest first" if found else self._where

    @property
    def _where(self) -> str:
        return "in this folder" if self._here else "in all sessions"

    @property
    def _empty_text(self) -> str:
        words = "matches" if self.query_one(Input).value.strip() else "yet"
        return f"No prompt {self._where} {words}." + (" Ctrl+R searches all sessions." if self._here else "")
