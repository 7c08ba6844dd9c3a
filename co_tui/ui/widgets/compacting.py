"""What stands above the prompt while somebody waits for a compaction."""

import time

from rich.text import Text
from textual.timer import Timer
from textual.widget import Widget

from co_tui.events.triggers import words_for
from co_tui.ui.activity import FRAME_S, spinner
from co_tui.ui.motion import stands_still

TITLE = "Compacting conversation history"


class CompactingIndicator(Widget):
    """Elapsed time, the reason, and how to stop it. Hidden while nothing is waited for."""

    DEFAULT_CSS = """
    CompactingIndicator {
        height: 3;
        padding: 0 1;
        border: round $warning;
        display: none;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._reason = ""
        self._began = 0.0
        self._timer: Timer | None = None

    def begin(self, trigger: str, share: float) -> None:
        """Show up; `share` is how full the context is."""
        full = f"{share * 100:.0f} % of the window"
        self._reason = words_for(trigger) or full
        if not self.display:
            self._began = time.monotonic()
            self.display = True
            self._timer = self.set_interval(FRAME_S, self.refresh)
        self.refresh()

    def end(self) -> None:
        self.display = False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def render(self) -> Text:
        elapsed = max(0.0, time.monotonic() - self._began)
        left = Text(
            f"{spinner(elapsed, still=stands_still(self))} {TITLE}   {elapsed:.0f} s · {self._reason}", no_wrap=True
        )
        hint = "esc cancel"
        room = max(0, self.size.width - len(hint) - 2)
        left.truncate(room, overflow="ellipsis")
        left.append(" " * max(1, self.size.width - left.cell_len - len(hint)))
        left.append(hint, "bold")
        return left
