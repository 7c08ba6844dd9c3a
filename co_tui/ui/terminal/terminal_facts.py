"""Facts about the terminal: dark or light, its size and which sizes can be drawn, job control."""

import contextlib
import os
from collections.abc import Mapping
from typing import Any, Final

from textual.events import Resize
from textual.geometry import Size
from textual.timer import Timer

from co_tui.kept_file import kept_table
from co_tui.paths import Paths
from co_tui.ui.textual_internals import AnyApp, terminal_size

MAX_KNOWN: Final = 20
_IDENTIFYING: Final = ("TERM_PROGRAM", "TERM", "COLORTERM", "SSH_TTY")
"""Variables that identify a terminal; of the last, only whether it is set."""


class KnownTerminals:
    """Remembers which terminals are dark, for the first paint of the next start; file errors are ignored."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        self._file = kept_table(paths.state / "terminals.json")
        values = (environ.get(name, "") for name in _IDENTIFYING[:-1])
        self._name = " ".join((*values, "ssh" if environ.get(_IDENTIFYING[-1]) else "here"))[:200]

    def is_dark(self) -> bool | None:
        """Whether this terminal was dark the last time; None when unknown."""
        known = self._file.read_or_empty().get(self._name)
        return known if isinstance(known, bool) else None

    def note(self, dark: bool) -> None:
        def noted(known: dict[str, Any]) -> dict[str, Any]:
            others = [(name, was_dark) for name, was_dark in known.items() if name != self._name]
            return {**dict(others[-(MAX_KNOWN - 1) :]), self._name: dark}

        if self.is_dark() is not dark:
            with contextlib.suppress(OSError):
                self._file.change(noted)


def is_job() -> bool:
    """Whether we run under job control: a shell then gives each job its own process group."""
    return os.getpgrp() != os.getsid(0)


MIN_COLUMNS, MIN_ROWS = 20, 5
"""Below this, borders leave no room for content, and Textual fails."""
MAX_CELLS: Final = 4000
"""Most columns and rows, whatever a terminal reports."""


def clamped_resize(resized: Resize) -> Resize:
    """The event with its size limited to what can be drawn; the terminal cuts off the rest."""
    size = Size(_clamped(MIN_COLUMNS, resized.size.width), _clamped(MIN_ROWS, resized.size.height))
    return resized if size == resized.size else Resize(size, size, size, resized.pixel_size)


def _clamped(minimum: int, cells: int) -> int:
    return max(minimum, min(cells, MAX_CELLS))


LONGEST_WAIT_S: Final = 0.5
"""How long frames wait for a Resize; some terminals may never report what the system knows."""

REPORTS_AT_START: Final = 2
"""Textual reports the size as it starts, and again with the terminal; the second comes after the first paint."""


class Resizes:
    """Leaves frames out while the terminal has a size that the screen has not adapted to, then draws all again."""

    def __init__(self, app: AnyApp) -> None:
        self._app = app
        self._known: Size | None = None
        """The terminal's size as last reported."""
        self._pending: Size | None = None
        """The size that the screen will adapt to."""
        self._reports = 0
        self._has_drawn = False
        self._giving_up: Timer | None = None
        """Runs while frames are left out."""

    def heard(self, size: Size, drawn: Size) -> None:
        """The terminal has this size; the screen will have the other. Even one that is known is drawn again: the
        terminal may have had another in between."""
        is_start = self._reports < REPORTS_AT_START and size == self._known
        self._reports += 1
        self._known = size
        self._pending = drawn if self._has_drawn and not is_start else None
        if self._giving_up is not None:
            self._giving_up.reset()

    def may_draw(self) -> bool:
        """Whether a frame fits. If not, leave it out: a later one shows all."""
        now = terminal_size(self._app)
        if self._pending is None and now in (None, self._known):
            self._has_drawn = True
            return True
        if self._has_drawn and self._giving_up is None:
            self._giving_up = self._app.set_timer(LONGEST_WAIT_S, self._give_up)
        return not self._has_drawn

    def adapted(self, size: Size) -> bool:
        """The current screen adapts to a size: whether it has to draw all, even what did not change."""
        if size != self._pending:
            return False
        self._arrived()
        return True

    def _arrived(self) -> None:
        self._pending = None
        if self._giving_up is not None:
            self._giving_up.stop()
            self._giving_up = None

    def _give_up(self) -> None:
        """No Resize comes, or it went to a screen that is gone: draw all at the size that the app has."""
        self._arrived()
        self._known = terminal_size(self._app)
        self._app.screen.refresh()
