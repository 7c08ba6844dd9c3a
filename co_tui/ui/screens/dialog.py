"""What all dialogs share: they answer once."""

from typing import ClassVar, Generic, TypeVar

from textual.screen import ModalScreen
from textual.types import CSSPathType

T = TypeVar("T")
LEAST_ROWS, AROUND_ROWS = 3, 5
"""Of what scrolls in a box, and of all that stands around it: the border, and the keys in up to two lines."""


class Dialog(ModalScreen[T], Generic[T]):
    """A modal screen in a box: as high as its content, unless `tall`, where what is shown changes as one types.

    `wide` is for longer texts.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = "dialogs.tcss"

    def __init__(self, *, tall: bool = False, wide: bool = False) -> None:
        super().__init__(classes=" ".join(("dialog", *(["-tall"] if tall else []), *(["-wide"] if wide else []))))
        self._answered = False

    def on_resize(self) -> None:
        """What scrolls grows with its content, as far as border and keys leave room."""
        if not self.has_class("-tall"):
            for growing in self.query("VerticalScroll, OptionList.-filling"):
                growing.styles.max_height = max(LEAST_ROWS, int(self.size.height * 0.95) - AROUND_ROWS)

    def answer(self, result: T) -> None:
        """Close with a result. A second Enter that was already on its way finds the dialog answered."""
        if not self._answered:
            self._answered = True
            self.dismiss(result)

    def withdraw(self) -> None:
        """Close without an answer: nobody waits for it any more."""
        if not self._answered:
            self._answered = True
            self.dismiss()
