"""The key hints at the bottom of a dialog; a click presses the key."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from textual.content import Content
from textual.geometry import Size
from textual.style import Style
from textual.widget import Widget

KeyHint: TypeAlias = tuple[str, str]
"""A key as people write it, and what it does."""
KEY_STYLE = "bold $footer-key-foreground"
GAP = "  "
SCROLL_AND_BACK: tuple[KeyHint, ...] = (("↑ ↓", "scroll"), ("esc", "back"))


_NAMED: Final = {"esc": "escape", "enter": "enter", "space": "space", "tab": "tab", "/": "slash"}


def key_named(hint: str) -> str:
    """The key that a hint names; empty for several keys, or for a symbol that is no key."""
    if hint.startswith(("^", "ctrl+")):
        return f"ctrl+{hint.removeprefix('^').removeprefix('ctrl+')}"
    return _NAMED.get(hint, hint if len(hint) == 1 and hint.isascii() and hint.isalnum() else "")


class KeyHints(Widget):
    """Key hints, wrapped between hints only."""

    DEFAULT_CSS = """
    KeyHints { height: auto; width: 1fr; }
    """

    def __init__(self, *hints: KeyHint) -> None:
        super().__init__(classes="keys")
        self._hints = hints

    def on_mount(self) -> None:
        self.auto_links = False  # do not style clickable keys as links

    def show(self, *hints: KeyHint) -> None:
        """Replace the hints."""
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
            if pressed := key_named(key):
                hint = hint.stylize(Style.from_meta({"@click": f"app.simulate_key({pressed!r})"}))
            if line and line.cell_length + len(GAP) + hint.cell_length > width:
                yield line
                line = Content("")
            line = Content.assemble(line, GAP, hint) if line else hint
        yield line
