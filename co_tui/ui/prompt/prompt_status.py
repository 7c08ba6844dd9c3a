"""The status shown on the prompt's border."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer

from co_tui.ui.approvals.modes import mode_label
from co_tui.ui.formatting import KEY_STYLE
from co_tui.ui.keys.command_table import ShortcutFor
from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.themes.themes import has_reduced_motion

if TYPE_CHECKING:
    from co_tui.events import Fact
    from co_tui.ui.prompt.activity import Activity

BORDER, BORDER_CELLS = "─", 6
"""The border's character, and its cells that no title can use: corners, a dash each, and spaces."""
MIN_BORDER = 3
"""Shortest piece of border between two texts."""
LINE_CELLS = 44
"""Room for what the turn does, with hints on the same border."""
ASKING = "◔ waiting for your answer"
SKIPPED = 5
"""Of so many frames of the spinner, one is drawn while a reply arrives: each costs as much as one of the chat."""
MODE_LINE_S = 4.0
"""How long the line about a new mode is shown."""


class PromptStatus:
    """Shows the running turn on the upper border, and the keys and the mode on the lower one."""

    def __init__(
        self, prompt: Prompt, shortcut_for: ShortcutFor, esc_stops: Callable[[], bool], can_move: Callable[[], bool]
    ) -> None:
        """`esc_stops` says whether Esc would stop the turn now, `can_move` whether a command could go to the
        background."""
        self._prompt = prompt
        self._esc_stops, self._can_move = esc_stops, can_move
        self._way_to = shortcut_for
        self._skipped = 0
        """Frames of the spinner since the last that was drawn."""
        self._streams = False
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
        """The provider's name."""

    @cached_property
    def _activity(self) -> "Activity":
        from co_tui.ui.prompt.activity import Activity  # an empty chat has none

        return Activity()

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._busy

    @property
    def busy_s(self) -> float:
        """How long turns have been running without a pause."""
        return time.monotonic() - self._busy_since if self._busy else 0.0

    def set_busy(self, busy: bool, waited_for: str = "") -> None:
        """Whether a turn runs; `waited_for` is shown while none does."""
        if busy and not self._busy:
            self._busy_since = time.monotonic()
            self._activity.begin(self._busy_since)
        self._busy, self._waited_for = busy, waited_for
        self._prompt.set_class(busy, "-busy")
        if busy and self._timer is None:
            from co_tui.ui.prompt.activity import FRAME_S

            self._timer = self._prompt.set_interval(FRAME_S, self._tick)
        elif not busy and self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._draw()

    def apply(self, fact: "Fact") -> None:
        self._activity.apply(fact, time.monotonic())

    def show_stopping(self) -> None:
        """The turn was asked to stop."""
        self._activity.stop()
        self._draw()

    def show_compacting(self, compacting: bool) -> None:
        """Hide the activity while the compaction indicator shows."""
        self._compacting = compacting
        self._draw()

    def show_asking(self, asking: bool) -> None:
        """Whether the turn waits for the user's answer."""
        self._asking = asking
        self._draw()

    def show_mode(self, mode: str) -> None:
        """Show the permission mode."""
        if mode != self._mode:
            self._mode = mode
            self._draw()

    def show_mode_line(self, line: str) -> None:
        """Show a line about the new mode for a few seconds."""
        self._mode_line = line
        if self._mode_timer is not None:
            self._mode_timer.stop()
        self._mode_timer = self._prompt.set_timer(MODE_LINE_S, lambda: self.show_mode_line("")) if line else None
        self._draw()

    def show_pasting(self, chars: int) -> None:
        """Show how many characters of a long paste have arrived; 0 when it is complete."""
        self._pasting = chars
        self._draw()

    def show_waiting(self, waiting: int, held: int) -> None:
        """Show how many prompts wait, and how many of them are on hold."""
        self._waiting, self._held = waiting, held
        self._prompt.up_opens_queue = waiting > 0
        self._draw()

    def _tick(self) -> None:
        """Draw the next frame of the spinner; two a second while a reply arrives, which moves by itself."""
        streamed, self._streams = self._streams, self._activity.is_streaming(time.monotonic())
        self._skipped = (self._skipped + 1) % SKIPPED if streamed and self._streams else 0  # the first one is drawn
        if not self._skipped:
            self._draw()

    def _draw(self) -> None:
        """Activity at the left of the upper border, hints at its right if there is room, else below."""
        running = self._busy and not self._compacting
        room = self._prompt.outer_size.width - BORDER_CELLS
        hints = self._hints(running=running)
        # The line's own length changes every second, and must not move the hints.
        left = room - hints.cell_length - MIN_BORDER - 2
        has_room = running and left >= max(LINE_CELLS, len(self._mode_line))
        line = self._line(left if has_room else room) if running else Content("")
        if self._mode_line:
            line = Content(self._mode_line)
        line = line.truncate(max(1, left if has_room else room), ellipsis=True)
        above = at_both_ends(line, hints, room) if has_room else None
        self._prompt.border_title = above if above is not None else line
        self._prompt.border_subtitle = self._below(Content("") if above is not None else hints, room)

    def _below(self, hints: Content, room: int) -> Content:
        """The lower border: hints, then always the mode."""
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
        line = self._activity.line(now, self.provider, still=has_reduced_motion(self._prompt), room=room)
        return Content.styled(line, "$warning" if self._activity.is_held_up(now) else "$primary")

    def _hints(self, *, running: bool) -> Content:
        hints = [Content.styled(self._waited_for, "$warning")] if self._waited_for else []
        if running and not hints:
            steer, background = self._way_to("steer"), self._way_to("background")
            hints = [
                *([_key("Esc", "stop")] if self._esc_stops() else []),
                *([_key(background, "background")] if self._can_move() and background[0] != "/" else []),
                *([_key(steer, "adds" if self._waiting else "adds to this turn")] if steer else []),
            ]
        if self._pasting:
            hints.insert(0, Content.styled(f"reading your paste, {self._pasting:,} characters…", "$warning"))
        if self._held:
            hints.append(Content.assemble(f"{self._held} on hold: ", _key("Enter", "sends"), ", ", _key("↑", "shows")))
        elif self._waiting:
            hints.append(Content.assemble((f"{self._waiting} queued ", "$foreground"), ("↑", KEY_STYLE)))
            if self._waited_for:
                hints.append(_key("Esc", "drops the last"))
        return Content.styled(" · ", "$muted").join(hints)


def _key(key: str, does: str) -> Content:
    return Content.assemble((key, KEY_STYLE), (f" {does}", "$muted"))


def at_both_ends(left: Content, right: Content, width: int) -> Content | None:
    """Two texts at the ends of a border; None when they do not fit."""
    gap = width - left.cell_length - right.cell_length - 2
    return Content.assemble(left, f" {BORDER * gap} ", right) if gap >= MIN_BORDER else None
