"""Screens of the tests are drawn when they are looked at.

Without a terminal Textual draws every change and throws the result away, which took half of the time of the tests of
the screen. Each screen above the chat is still drawn once as it opens; every screen is drawn whenever a test looks at
it (`screen_text`, a picture), and before the app is left if it never did. A long run draws every change.
"""

from typing import Any

from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack
from textual.cache import FIFOCache
from textual.strip import Strip

from tests.support.long_run import LONG_RUN

_DRAWN = "_drawn_once"
_draw = Compositor.render_update
_draw_lines = Compositor.render_strips


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
    if not LONG_RUN:
        Compositor.render_update = _draw_first
        Compositor.render_strips = _draw_over_other_screens


def draw_every_change(monkeypatch: Any) -> None:
    """For a test of what drawing does."""
    monkeypatch.setattr(Compositor, "render_update", _draw)


def _draw_first(self: Compositor, full: bool = False, screen_stack: Any = None, simplify: bool = False) -> Any:
    app = active_app.get()
    is_drawn_later = self.root is getattr(app, "chat", None) or hasattr(self, _DRAWN)
    if full or not app.is_headless or not is_drawn_later:
        setattr(self, _DRAWN, True)
        return _draw(self, full, screen_stack, simplify)
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
