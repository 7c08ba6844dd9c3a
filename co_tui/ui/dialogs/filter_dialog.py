"""Dialogs with a filter: the arrow keys move in the list while the field keeps the focus."""

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList

from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.line_list import LineList

T = TypeVar("T")


class FilteringDialog(Dialog[T], Generic[T]):
    """Has one `Input` and one list, of the class `-filling`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
    ]

    def __init__(self) -> None:
        super().__init__(wide=True)
        self.add_class("-typing")

    @property
    def _list(self) -> OptionList | LineList:
        found = self.query_one(".-filling")
        assert isinstance(found, OptionList | LineList)
        return found

    @on(Input.Changed)
    def _keep_height(self) -> None:
        """Keep the height of the box while typing."""
        self._list.styles.min_height = self._list.size.height

    def action_move(self, step: int) -> None:
        lines = self._list
        if isinstance(lines, LineList):
            lines.action_choose(step)
        elif step > 0:
            lines.action_cursor_down()
        else:
            lines.action_cursor_up()

    def action_page(self, direction: int) -> None:
        lines = self._list
        if isinstance(lines, LineList):
            lines.action_page(direction)
        else:
            turn = lines.action_page_down if direction > 0 else lines.action_page_up
            turn()  # type: ignore[no-untyped-call] # the library's has no types


class ChoosingDialog(FilteringDialog[T | None], Generic[T]):
    """Answers with the value of the chosen line, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    def __init__(self) -> None:
        super().__init__()
        self._choices: Sequence[T] = ()
        """The values of the lines."""

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.take_chosen(event.value)

    def take_chosen(self, typed: str) -> None:
        """Answer with the chosen line of those for the typed text."""
        lines = self._list
        self._choose(lines.chosen if isinstance(lines, LineList) else lines.highlighted)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option_index)

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        self._choose(event.place)

    def _choose(self, index: int | None) -> None:
        """Ignores a line that was filtered out right after the key or click."""
        if index is not None and index < len(self._choices):
            self.answer(self._choices[index])
