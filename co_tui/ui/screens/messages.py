"""Choosing one of many messages: for pinning, and for going back to a turn."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from co_tui.events import Json, Ref
from co_tui.events.messages import STANDS_FOR, pieces
from co_tui.inert import one_line
from co_tui.session.state.session_state import Entry
from co_tui.ui.screens.dialog import show_rows
from co_tui.ui.screens.filtering import FilteringDialog
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints

LINE_CHARS = 200
_SIGNS = {
    "user": "you",
    "assistant": "co-tui",
    "thinking": "thought",
    "tool_call": "call",
    "tool_result": "result",
    "system": "system",
    "attached": "file",
    "command": "you ran",
}


class Row(NamedTuple):
    """A message in one line."""

    ref: Ref
    turn: int
    role: str
    text: str
    mark: str = ""


def row_of(entry: Entry, mark: str = "") -> Row:
    """What an entry's first piece says; a message without one says what kind it is."""
    role, text = first_words(entry.message)
    return Row(entry.ref, entry.turn, role, text, mark)


def first_words(message: Json) -> tuple[str, str]:
    if STANDS_FOR in (message.get("metadata") or {}):
        return "summary", one_line(text_of_all(message), LINE_CHARS)
    for role, text, part in pieces(message):
        name = part.get("tool_name")
        return _SIGNS[role], one_line(f"{name} {text}" if name else text, LINE_CHARS)
    return str(message.get("kind", "")), ""


def text_of_all(message: Json) -> str:
    """Everything readable in a message."""
    return "\n\n".join(text for _, text, _ in pieces(message))


def option(row: Row) -> Option:
    line = Text(no_wrap=True, overflow="ellipsis")
    turn = f"{row.turn}" if row.turn else "–"
    line.append(f"{turn:>4} ", "dim")
    line.append(f"{row.role:<8}", "bold")
    if row.mark:
        line.append(f"{row.mark} ")
    line.append(row.text)
    return Option(line)


class ChooseMessageScreen(FilteringDialog[Ref | None]):
    """Type to filter; Enter chooses."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Back"),
    ]

    def __init__(self, title: str, rows: Sequence[Row], verb: str) -> None:
        super().__init__()
        self._title, self._rows, self._verb = title, list(rows), verb
        self._shown: list[Row] = []

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            yield Field(placeholder="Filter")
            yield OptionList(classes="-filling")
            yield KeyHints(("enter", self._verb), ("esc", "back"))

    def on_mount(self) -> None:
        self._fill("")

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._fill(event.value)

    def _fill(self, wanted: str) -> None:
        words = wanted.lower().split()
        self._shown = [row for row in self._rows if all(word in row.text.lower() for word in words)]
        options = self.query_one(OptionList)
        show_rows(options, [option(row) for row in self._shown], "No message has these words.")
        options.highlighted = len(self._shown) - 1 if self._shown else None  # the newest is the likeliest

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self._choose(self.query_one(OptionList).highlighted)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option_index)

    def _choose(self, index: int | None) -> None:
        if index is not None and index < len(self._shown):
            self.answer(self._shown[index].ref)

    def action_cancel(self) -> None:
        self.answer(None)
