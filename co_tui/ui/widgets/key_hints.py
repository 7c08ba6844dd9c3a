"""The key hints at the bottom of a dialog; a click presses the key."""

from collections.abc import Iterator
from typing import TypeAlias

from textual.content import Content
from textual.geometry import Size
from textual.style import Style
from textual.widget import Widget

from co_tui.key_names import key_name, key_pressed
from co_tui.ui.formatting import KEY_STYLE

KeyHint: TypeAlias = tuple[str, str]
"""A key as in bindings, or several separated by spaces, and what it does."""
GAP = "  "
SCROLL_AND_BACK: tuple[KeyHint, ...] = (("up down", "scroll"), ("escape", "back"))


def hint_text(key: str, words: str) -> Content:
    """A key and what it does; a click presses the key, where there is one."""
    hint = Content.assemble((key_name(key), KEY_STYLE), f" {words[:1].upper()}{words[1:]}")
    pressed = key_pressed(key)
    return hint.stylize(Style.from_meta({"@click": f"app.simulate_key({pressed!r})"})) if pressed else hint


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
            hint = hint_text(key, words)
            if line and line.cell_length + len(GAP) + hint.cell_length > width:
                yield line
                line = Content("")
            line = Content.assemble(line, GAP, hint) if line else hint
        yield line
