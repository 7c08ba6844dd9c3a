"""A dialog around a text of any length: it scrolls, and the choices and keys below it stay in sight."""

from typing import ClassVar, Final, Generic, TypeVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll

from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.key_hints import KeyHint, KeyHints

T = TypeVar("T")
BORDER_ROWS: Final = 2
SCROLL_HINT: Final[KeyHint] = ("pageup pagedown", "scroll")


class ScrollingDialog(Dialog[T], Generic[T]):
    """Its text is in a `VerticalScroll`. Where a list or choices have the focus, Up and Down are theirs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "line(1)", show=False),
        Binding("up", "line(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("home", "to_end(-1)", show=False),
        Binding("end", "to_end(1)", show=False),
    ]

    def on_resize(self) -> None:
        self.fit_text()

    def show_keys(self, *hints: KeyHint) -> None:
        """Replace the key hints, and fit the text to what they leave."""
        self.query_one(KeyHints).show(*hints)
        self.fit_text()

    def fit_text(self) -> None:
        """Give the text the rows that all else in the box leaves, once that is laid out."""
        self.call_after_refresh(self._fit_text)

    def _fit_text(self) -> None:
        if self.has_class("-tall"):
            return
        text, box = self.query_one(VerticalScroll), self.query_one(Vertical)
        others = [each for each in box.children if each.display and each is not text]
        taken = sum(each.outer_size.height + each.styles.margin.height for each in others)
        text.styles.max_height = max(1, int(self.size.height * 0.95) - BORDER_ROWS - taken)

    def action_line(self, step: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        text = self.query_one(VerticalScroll)
        text.scroll_relative(y=step * max(1, text.size.height - 1), animate=False)

    def action_to_end(self, step: int) -> None:
        text = self.query_one(VerticalScroll)
        text.scroll_to(y=0 if step < 0 else text.max_scroll_y, animate=False)
