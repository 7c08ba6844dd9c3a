"""What is being done, on the prompt's border."""

import time

from textual.content import Content
from textual.timer import Timer

from co_tui.events import Fact
from co_tui.ui.approvals.modes import mode_label
from co_tui.ui.keys.command_table import WayTo
from co_tui.ui.prompt.activity import FRAME_S, Activity
from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.themes.motion import stands_still
from co_tui.ui.widgets.key_hints import KEY_STYLE

BORDER, BORDER_CELLS = "─", 6
"""What the border is drawn with, and how many cells of it no title takes: corners, a dash each, and spaces."""
LEAST_BORDER = 3
"""Of it between two texts, so that they are seen as two."""
ASKING = "◔ waiting for your answer"
MODE_LINE_S = 4.0
"""How long a line about a new mode is shown."""


class PromptStatus:
    """What runs above the prompt, and below it what can be done about it."""

    def __init__(self, prompt: Prompt, way_to: WayTo) -> None:
        self._prompt = prompt
        self._way_to = way_to
        self._activity = Activity()
        self._timer: Timer | None = None
        self._busy = False
        self._busy_since = 0.0
        self._waited_for = ""
        self._waiting = self._held = 0
        self._pasting = 0
        self._compacting = False
        self._asking = False
        self._mode = ""
        self._mode_line = ""
        self._mode_timer: Timer | None = None
        self.provider = ""
        """Who answers."""

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._busy

    @property
    def busy_s(self) -> float:
        """How long something has been running, one turn or several."""
        return time.monotonic() - self._busy_since if self._busy else 0.0

    def set_busy(self, busy: bool, waited_for: str = "") -> None:
        """`waited_for` is shown while no turn runs."""
        if busy and not self._busy:
            self._busy_since = time.monotonic()
            self._activity.begin(self._busy_since)
        self._busy, self._waited_for = busy, waited_for
        self._prompt.set_class(busy, "-busy")
        if busy and self._timer is None:
            self._timer = self._prompt.set_interval(FRAME_S, self._draw)
        elif not busy and self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._draw()

    def hear(self, fact: Fact) -> None:
        self._activity.hear(fact, time.monotonic())

    def show_stopping(self) -> None:
        """The turn is asked to end."""
        self._activity.stop()
        self._draw()

    def show_compacting(self, compacting: bool) -> None:
        """While a compaction is waited for, its own indicator tells."""
        self._compacting = compacting
        self._draw()

    def show_asking(self, asking: bool) -> None:
        """Nothing goes on before the user has answered."""
        self._asking = asking
        self._draw()

    def show_mode(self, mode: str) -> None:
        """What runs without a question, by its name."""
        if mode != self._mode:
            self._mode = mode
            self._draw()

    def show_mode_line(self, line: str) -> None:
        """A line about a new mode, for a moment."""
        self._mode_line = line
        if self._mode_timer is not None:
            self._mode_timer.stop()
        self._mode_timer = self._prompt.set_timer(MODE_LINE_S, lambda: self.show_mode_line("")) if line else None
        self._draw()

    def show_pasting(self, chars: int) -> None:
        """What was pasted is still coming: so much is here, 0 when all of it is."""
        self._pasting = chars
        self._draw()

    def show_waiting(self, waiting: int, held: int) -> None:
        """How many prompts wait, and how many of them for the user."""
        self._waiting, self._held = waiting, held
        self._prompt.up_opens_queue = waiting > 0
        self._draw()

    def _draw(self) -> None:
        """What runs at the left of the upper border, and what can be done about it at its right, if there is room."""
        running = self._busy and not self._compacting
        room = self._prompt.outer_size.width - BORDER_CELLS
        line, hints = self._line(room) if running else Content(""), self._hints(running=running)
        if self._mode_line:
            line = Content(self._mode_line).truncate(max(1, room), ellipsis=True)
        above = at_both_ends(line, hints, room) if running else None
        self._prompt.border_title = above if above is not None else line
        self._prompt.border_subtitle = self._below(Content("") if above is not None else hints, room)

    def _below(self, hints: Content, room: int) -> Content:
        """The mode is always the last, whatever comes before it."""
        mode = mode_label(self._mode)
        if not hints or not mode:
            return hints or mode
        separator = Content.styled(" · ", "$muted")
        kept = hints.truncate(max(1, room - mode.cell_length - separator.cell_length), ellipsis=True)
        return Content.assemble(kept, separator, mode)

    def _line(self, room: int) -> Content:
        now = time.monotonic()
        if self._asking:
            return Content.styled(ASKING, "$warning")
        line = self._activity.line(now, self.provider, still=stands_still(self._prompt), room=room)
        return Content.styled(line, "$warning" if self._activity.is_held_up(now) else "$primary")

    def _hints(self, *, running: bool) -> Content:
        hints = [Content.styled(self._waited_for, "$warning")] if self._waited_for else []
        if running and not hints:
            steer = self._way_to("steer").lower()
            hints = [_key("esc", "stop"), *([_key(steer, "steers")] if steer else [])]
        if self._pasting:
            hints.insert(0, Content.styled(f"taking in what you pasted, {self._pasting:,} characters…", "$warning"))
        if self._held:
            hints.append(Content.assemble(f"{self._held} on hold: ", _key("enter", "sends"), ", ", _key("↑", "shows")))
        elif self._waiting:
            hints.append(Content.assemble((f"{self._waiting} waiting ", "$foreground"), ("↑", KEY_STYLE)))
            if self._waited_for:
                hints.append(_key("esc", "takes back"))
        return Content.styled(" · ", "$muted").join(hints)


def _key(key: str, does: str) -> Content:
    return Content.assemble((key, KEY_STYLE), (f" {does}", "$muted"))


def at_both_ends(left: Content, right: Content, width: int) -> Content | None:
    """Two texts at both ends of a border; None when there is no room for both."""
    gap = width - left.cell_length - right.cell_length - 2
    return Content.assemble(left, f" {BORDER * gap} ", right) if gap >= LEAST_BORDER else None
