"""The base of all dialogs: they answer once, and are as high as their content."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from rich.text import Text
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from co_tui.ui.dialogs.safe_screen import SafeScreen

if TYPE_CHECKING:
    from textual.types import CSSPathType

T = TypeVar("T")
LOW_ROWS: Final = 22
"""In fewer rows there is no room for borders around fields and space above the keys."""
LEAST_ROWS, AROUND_ROWS = 3, 5
"""Minimum rows of the scrolling content, and rows around it: the border, and up to two lines of keys."""


class Dialog(SafeScreen, ModalScreen[T], Generic[T]):
    """A modal screen in a box: as high as its content, unless `tall`, where the content fills the screen.

    `wide` is for longer texts.
    """

    # Absolute: Textual resolves a relative path against the module of the subclass.
    CSS_PATH: ClassVar["CSSPathType | None"] = Path(__file__).parent / "dialogs.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (LOW_ROWS, "-high")]

    def __init__(self, *, tall: bool = False, wide: bool = False) -> None:
        super().__init__(classes=" ".join(("dialog", *(["-tall"] if tall else []), *(["-wide"] if wide else []))))
        self._answered = False

    def on_resize(self) -> None:
        """Scrolling parts grow with their content, as far as border and keys leave room."""
        if not self.has_class("-tall"):
            for growing in self.query("VerticalScroll, .-filling"):
                growing.styles.max_height = self.rows_for_content
                growing.styles.min_height = None

    @property
    def rows_for_content(self) -> int:
        """The rows left by border, keys and a field."""
        field_rows = len(self.query(Input)) * (1 if self.size.height < LOW_ROWS else 3)
        return max(LEAST_ROWS, int(self.size.height * 0.95) - AROUND_ROWS - field_rows)

    def answer(self, result: T) -> None:
        """Close with a result. A second Enter already on its way has no effect."""
        if not self._answered:
            self._answered = True
            self.dismiss(result)

    def withdraw(self) -> None:
        """Close without an answer."""
        if not self._answered:
            self._answered = True
            self.dismiss()

    def action_close(self) -> None:
        """The user goes back."""
        self.withdraw()


def show_rows(options: OptionList, rows: Sequence[Option], nothing: str, at: int | None = None) -> None:
    """Show rows, or the sentence `nothing` if there are none; `at` is the row to highlight."""
    options.set_class(not rows, "-telling")
    options.set_options(rows or [Option(Text(nothing), disabled=True)])
    if at is not None:
        options.highlighted = min(at, len(rows) - 1) if rows else None
