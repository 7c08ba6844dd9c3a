"""Screens of the tests are drawn when they are looked at.

Without a terminal Textual draws every change and throws the result away, which took half of the time of the tests of
the screen. Each screen is still drawn once as it opens, whenever a test looks at it (`screen_text`, a picture), and
before the app is left; a long run draws every change.
"""

from typing import Any

from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack

from tests.support.long_run import LONG_RUN

_DRAWN = "_drawn_once"
_draw = Compositor.render_update
_draw_lines = Compositor.render_strips


def draw_when_looked_at() -> None:
    if not LONG_RUN:
        Compositor.render_update = _draw_first
        Compositor.render_strips = _draw_over_other_screens


def draw_every_change(monkeypatch: Any) -> None:
    """For a test of what drawing does."""
    monkeypatch.setattr(Compositor, "render_update", _draw)


def _draw_first(self: Compositor, full: bool = False, screen_stack: Any = None, simplify: bool = False) -> Any:
    if full or not active_app.get().is_headless or not hasattr(self, _DRAWN):
        setattr(self, _DRAWN, True)
        return _draw(self, full, screen_stack, simplify)
    self._dirty_regions.clear()
    return None


def _draw_over_other_screens(self: Compositor, size: Any = None) -> Any:
    """A dialog shows the screens below it, which only the drawing of a change knows."""
    if self.root is not None:
        visible_screen_stack.set(self.root.app._background_screens)
    return _draw_lines(self, size)
