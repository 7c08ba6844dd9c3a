"""Whether things may move on the screen: the one place to ask."""

from typing import Any, Final

from textual.app import App
from textual.dom import DOMNode

STILL: Final = "-still"
"""The app's class while the user wants nothing to move; style sheets may ask for it, too."""


def stands_still(node: DOMNode) -> bool:
    """Whether the setting `reduced_motion` is on: no spinner turns, no mark moves, no cursor blinks."""
    return node.app.has_class(STILL)


def set_still(app: App[Any], still: bool) -> None:
    app.set_class(still, STILL, update=False)
    if app.is_running:
        for screen in app.screen_stack:
            for node in screen.query("Input, TextArea"):
                let_cursor_blink(node)


def let_cursor_blink(node: DOMNode) -> None:
    """Or not, as the user wants it; for whatever has a cursor."""
    if hasattr(node, "cursor_blink"):
        node.cursor_blink = not stands_still(node)
