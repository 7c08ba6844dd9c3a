"""Reduced motion: the one place that decides whether things may move."""

from typing import Any, Final

from textual.app import App
from textual.dom import DOMNode

REDUCED_MOTION: Final = "-still"
"""The app's CSS class while motion is reduced."""


def has_reduced_motion(node: DOMNode) -> bool:
    """Whether the setting `reduced_motion` is on: no spinners, no moving markers, no blinking cursor."""
    return node.app.has_class(REDUCED_MOTION)


def set_reduced_motion(app: App[Any], still: bool) -> None:
    if app.has_class(REDUCED_MOTION) == still:
        return
    app.set_class(still, REDUCED_MOTION, update=False)
    if app.is_running:
        for screen in app.screen_stack:
            for node in screen.query("Input, TextArea"):
                _set_blinking(node, not still)


def hold_cursor(node: DOMNode) -> None:
    """Stop a newly focused widget's cursor from blinking if motion is reduced."""
    if has_reduced_motion(node):
        _set_blinking(node, False)


def _set_blinking(node: DOMNode, blinks: bool) -> None:
    if hasattr(node, "cursor_blink"):
        node.cursor_blink = blinks
