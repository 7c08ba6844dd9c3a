"""A dialog in which one types to filter a list: the arrow keys move in the list while the text keeps the focus."""

from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList

from co_tui.ui.screens.dialog import Dialog

T = TypeVar("T")


class FilteringDialog(Dialog[T], Generic[T]):
    """Has one `Input` and one `OptionList`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
    ]

    def __init__(self) -> None:
        super().__init__(wide=True)
        self.add_class("-typing")

    @on(Input.Changed)
    def _keep_height(self) -> None:
        """The box does not jump while one types."""
        options = self.query_one(OptionList)
        options.styles.min_height = options.size.height

    def action_move(self, step: int) -> None:
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_page(self, direction: int) -> None:
        options = self.query_one(OptionList)
        turn = options.action_page_down if direction > 0 else options.action_page_up
        turn()  # type: ignore[no-untyped-call] # the library's has no types
