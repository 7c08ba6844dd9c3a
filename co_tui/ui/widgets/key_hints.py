"""The keys of a dialog, in its last lines: each key stands out from what it does."""

from collections.abc import Iterator
from typing import TypeAlias

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

KeyHint: TypeAlias = tuple[str, str]
"""A key as people name it, and what it does."""
KEY_STYLE = "bold $footer-key-foreground"
GAP = "  "
SCROLL_AND_BACK: tuple[KeyHint, ...] = (("up, down", "scroll"), ("esc", "back"))


class KeyHints(Widget):
    """What can be done here; a line breaks between two keys, never between a key and its words."""

    DEFAULT_CSS = """
    KeyHints { height: auto; width: 1fr; }
    """

    def __init__(self, *hints: KeyHint) -> None:
        super().__init__(classes="keys")
        self._hints = hints

    def show(self, *hints: KeyHint) -> None:
        """Others from now on."""
        self._hints = hints
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(list(self._lines(width)))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> Iterator[Content]:
        line = Content("")
        for key, words in self._hints:
            hint = Content.assemble((key, KEY_STYLE), f" {words}")
            if line and line.cell_length + len(GAP) + hint.cell_length > width:
                yield line
                line = Content("")
            line = Content.assemble(line, GAP, hint) if line else hint
        yield line
