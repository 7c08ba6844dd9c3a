"""The indicator above the prompt while a turn waits for a compaction."""

import time

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from co_tui.events.triggers import trigger_label
from co_tui.ui.formatting import elapsed
from co_tui.ui.prompt.activity import FRAME_S, spinner
from co_tui.ui.themes.themes import has_reduced_motion
from co_tui.ui.widgets.key_hints import hint_text

TITLE = "Compacting conversation history"
LONGEST_REST = len(f"⠋ {TITLE}   10 min 10 s ·   Esc Cancel")
"""Cells of the line besides the reason, even after a long wait."""


class CompactingIndicator(Widget):
    """Elapsed time, the reason, and how to cancel. Hidden while nothing waits."""

    DEFAULT_CSS = """
    CompactingIndicator {
        height: 3;
        padding: 0 1;
        border: round $warning;
        border-title-color: $warning;
        display: none;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._reason = ""
        self._began = 0.0
        self._timer: Timer | None = None

    def begin(self, trigger: str, share: float) -> None:
        """Show the indicator; `share` is how full the context is."""
        full = f"{share * 100:.0f} % of the window"
        self._reason = trigger_label(trigger) or full
        if not self.display:
            self._began = time.monotonic()
            self.display = True
            self._timer = self.set_interval(FRAME_S, self.refresh)
        self._show_reason()
        self.refresh()

    def end(self) -> None:
        self.display = False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def render(self) -> Content:
        """The reason moves to the border if it does not fit the line."""
        took = max(0.0, time.monotonic() - self._began)
        what = f"{spinner(took, still=has_reduced_motion(self))} {TITLE}   {elapsed(took)}"
        hint = hint_text("escape", "cancel")
        room = self.size.width - hint.cell_length - 2
        whole = f"{what} · {self._reason}"
        left = Content(what if self.border_title else whole).truncate(max(0, room), ellipsis=True)
        gap = " " * max(1, self.size.width - left.cell_length - hint.cell_length)
        return Content.assemble(left, gap, hint)

    def _show_reason(self) -> None:
        room = self.size.width - LONGEST_REST
        self.border_title = Content(self._reason if len(self._reason) > room else "")

    def on_resize(self) -> None:
        self._show_reason()
