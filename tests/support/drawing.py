"""Screens of the tests are drawn when they are looked at.

Without a terminal Textual draws every change and throws the result away, which took half of the time of the tests of
the screen. Each screen is still drawn once as it opens and whenever a test looks at it (`screen_text`, a picture), and
an app that no test looked at before it is left; a long run draws every change.
"""

from typing import Any

from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack

from tests.support.long_run import LONG_RUN

_DRAWN = "_drawn_once"
_LOOKED_AT = "_looked_at_by_a_test"
_draw = Compositor.render_update
_draw_lines = Compositor.render_strips
_changes = 0


def draw_when_looked_at() -> None:
    if not LONG_RUN:
        Compositor.render_update = _draw_first
        Compositor.render_strips = _draw_over_other_screens


def draw_every_change(monkeypatch: Any) -> None:
    """For a test of what drawing does."""
    monkeypatch.setattr(Compositor, "render_update", _draw)


def was_looked_at(app: Any) -> bool:
    """Whether a test has looked at a screen of this app."""
    return hasattr(app, _LOOKED_AT)


def changes_so_far(screen: Any) -> object:
    """Equal to an earlier one of the same screen only if nothing of it changed between."""
    waits = screen._layout_required or screen._scroll_required or screen._repaint_required or screen._dirty_widgets
    return object() if waits or Compositor.render_update is not _draw_first else (screen, screen.size, _changes)


def _draw_first(self: Compositor, full: bool = False, screen_stack: Any = None, simplify: bool = False) -> Any:
    global _changes
    _changes += 1
    if full or not active_app.get().is_headless or not hasattr(self, _DRAWN):
        setattr(self, _DRAWN, True)
        return _draw(self, full, screen_stack, simplify)
    self._dirty_regions.clear()
    return None


def _draw_over_other_screens(self: Compositor, size: Any = None) -> Any:
    """A dialog shows the screens below it, which only the drawing of a change knows."""
    if self.root is not None:
        visible_screen_stack.set(self.root.app._background_screens)
        setattr(self.root.app, _LOOKED_AT, True)
    return _draw_lines(self, size)
