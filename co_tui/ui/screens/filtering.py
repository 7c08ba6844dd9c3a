"""A dialog in which one types to filter a list: the arrow keys move in the list while the text keeps the focus."""

from typing import ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from co_tui.ui.screens.dialog import Dialog

T = TypeVar("T")


class FilteringDialog(Dialog[T], Generic[T]):
    """Has one `Input` and one `OptionList`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def action_move(self, step: int) -> None:
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()
