"""Screens of the tests are drawn when they are looked at.

Without a terminal Textual draws every change and throws the result away, which took half of the time of the tests of
the screen. Each screen above the chat is still drawn once as it opens, without those below it; every screen is drawn
whenever a test looks at it (`screen_text`, a picture), and before the app is left if it never did. A long run draws
every change.
"""

from collections.abc import Callable
from typing import Any
from unittest import mock

from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack
from textual.app import App
from textual.cache import FIFOCache
from textual.renderables.background_screen import BackgroundScreen
from textual.strip import Strip
from textual.widget import Widget

from tests.support.long_run import LONG_RUN

_DRAWN, _LOOKED_AT = "_drawn_once", "_looked_at"
_draw = Compositor.render_update
_draw_lines = Compositor.render_strips
_changes = [0]

_CACHES = {
    "_divide_cache": 4,
    "_crop_cache": 16,
    "_style_cache": 16,
    "_filter_cache": 4,
    "_line_length_cache": 4,
    "_crop_extend_cache": 4,
    "_offsets_cache": 4,
}
"""Of each line, with their sizes: making them takes longer than the line, and few are ever used."""


def draw_when_looked_at() -> None:
    Strip.__init__ = _with_caches_later
    Strip.__getattr__ = _cache_of
    Widget._set_dirty = _counted(Widget._set_dirty)
    Compositor.reflow = _counted(Compositor.reflow)
    Compositor.reflow_visible = _counted(Compositor.reflow_visible)
    if not LONG_RUN:
        Compositor.render_update = _draw_first
        Compositor.render_strips = _draw_over_other_screens


def draw_every_change(monkeypatch: Any) -> None:
    """For a test of what drawing does."""
    monkeypatch.setattr(Compositor, "render_update", _draw)


def changes() -> int:
    """How often anything changed that can be seen, in all apps of the process."""
    return _changes[0]


def was_looked_at(app: App[Any]) -> bool:
    return hasattr(app, _LOOKED_AT)


def text_lines(app: App[Any]) -> list[str]:
    """The words of the screen; drawn again only if something changed."""
    screen, state = app.screen, (changes(), app.size)
    known = getattr(app, _LOOKED_AT, None)
    if known is None or known[:2] != (screen, state):
        strips = _in_any_colours(app, lambda: screen._compositor.render_strips(app.size))
        known = screen, state, [strip.text.rstrip() for strip in strips]
        setattr(app, _LOOKED_AT, known)
    lines: list[str] = known[2]
    return lines


def _in_any_colours(app: App[Any], draw: Callable[[], Any]) -> Any:
    """Screens below are not dimmed and no colour is changed, which takes longer than the words."""
    with (
        mock.patch.object(app, "get_line_filters", list),
        mock.patch.object(BackgroundScreen, "process_segments", lambda _, segments, color: segments),
    ):
        drawn = draw()
    if len(app.screen_stack) > 1:
        app.screen._set_dirty()  # the next look may be at colours
        _changes[0] -= 1
    return drawn


def _counted(change: Callable[..., Any]) -> Callable[..., Any]:
    def counting(*arguments: Any, **more: Any) -> Any:
        _changes[0] += 1
        return change(*arguments, **more)

    return counting


def _draw_first(self: Compositor, full: bool = False, screen_stack: Any = None, simplify: bool = False) -> Any:
    app = active_app.get()
    if full or not app.is_headless:
        setattr(self, _DRAWN, True)
        return _draw(self, full, screen_stack, simplify)
    if self.root is not getattr(app, "chat", None) and not hasattr(self, _DRAWN):
        setattr(self, _DRAWN, True)
        visible_screen_stack.set([])
        _in_any_colours(app, lambda: _draw_lines(self))
    self._dirty_regions.clear()
    return None


def _draw_over_other_screens(self: Compositor, size: Any = None) -> Any:
    """A dialog shows the screens below it, which only the drawing of a change knows."""
    if self.root is not None:
        visible_screen_stack.set(self.root.app._background_screens)
    return _draw_lines(self, size)


def _with_caches_later(self: Strip, segments: Any, cell_length: int | None = None) -> None:
    self._segments = list(segments)
    self._cell_length = cell_length
    self._render_cache = self._link_ids = self._cell_count = None


def _cache_of(self: Strip, name: str) -> Any:
    if name not in _CACHES:
        raise AttributeError(name)
    made: FIFOCache[Any, Any] = FIFOCache(_CACHES[name])
    setattr(self, name, made)
    return made
