"""Search earlier prompts as you type, of this folder or of all sessions."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

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
from co_tui.ui.widgets.safe_list import SafeList

if TYPE_CHECKING:
    from co_tui.store.port import Store

MAX_SHOWN = 200
LINE_CHARS = 200
PAUSE_S = 0.05
"""Debounce time for the search."""


class _Search(NamedTuple):
    text: str
    here: bool = True
    """In this folder only."""


class EarlierPromptsScreen(ChoosingDialog[str]):
    """Returns the chosen prompt. Newest first; the store is read in a thread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "widen", "This folder or all", priority=True),
    ]

    def __init__(self, store: "Store", cwd: str) -> None:
        super().__init__()
        self._store, self._cwd = store, cwd
        self._here = True
        self._wanted = self._shown = _Search("\n")
        """The latest search, and the one whose result is shown."""
        self._waiting: list[tuple[str, Callable[[], None]]] = []
        """What keys do once the result for the text typed before them is shown."""
        self._is_taking = False
        """Whether Enter was pressed; what is typed after it is not searched for."""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Earlier prompts"
            yield Field(placeholder="Type to search")
            yield SafeList(classes="-filling")
            yield KeyHints(("enter", "take"), ("ctrl+r", "this folder or all"), ("escape", "back"))

    def on_mount(self) -> None:
        self._start_search("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if not self._is_taking:
            self._start_search(event.value)

    def action_widen(self) -> None:
        self._here = not self._here
        self._start_search(self.query_one(Input).value)

    def action_move(self, step: int) -> None:
        field, move = self.query_one(Input), partial(super().action_move, step)
        field.call_later(lambda: self._once_shown(field.value, move))  # after the letters typed before it

    def take_chosen(self, typed: str) -> None:
        self._is_taking = self._shown != _Search(typed, self._here)
        self._once_shown(typed, partial(super().take_chosen, typed))

    def _once_shown(self, typed: str, act: Callable[[], None]) -> None:
        """Act on the result for the typed text: keys may come faster than it is found."""
        if self._shown == _Search(typed, self._here):
            act()
        else:
            self._waiting.append((typed, act))

    def _start_search(self, text: str) -> None:
        self._wanted = _Search(text, self._here)
        run_in_background(self, "Searching earlier prompts", partial(self._search, self._wanted), group="search")

    async def _search(self, wanted: _Search) -> None:
        await asyncio.sleep(PAUSE_S)
        if wanted != self._wanted:
            return
        try:
            found = await asyncio.to_thread(self._found, wanted.text, self._cwd if wanted.here else "")
        except StoreError as error:
            self._is_taking = False
            self.notify(str(error), severity="error", markup=False)
            return
        if wanted == self._wanted != self._shown:
            self._show(found)
            self._shown = wanted
            self._act()

    def _act(self) -> None:
        """Do what keys asked for while the result was not shown."""
        waiting, self._waiting = self._waiting, []
        for typed, act in waiting:
            if typed == self._shown.text:
                act()
        if self._is_taking:  # and there was nothing to take
            self._is_taking = False
            self._start_search(self.query_one(Input).value)

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
