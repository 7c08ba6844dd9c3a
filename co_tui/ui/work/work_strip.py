"""The strip above the prompt: background commands and delegations under way, and the plan."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Final

from textual.binding import BindingType
from textual.content import Content
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from co_tui.events import BackgroundNews, Fact, Json, ToolActivity
from co_tui.events.tool_wording import plan_step
from co_tui.ui.approvals.choices import MARKER
from co_tui.ui.background import guarded_callback
from co_tui.ui.formatting import elapsed
from co_tui.ui.keys import command_table
from co_tui.ui.prompt.activity import spinner
from co_tui.ui.themes.themes import has_reduced_motion
from co_tui.ui.work.session_work import STARTS_OR_ENDS, FollowedDelegations, WorkRow

LOOK_S: Final = 0.5
MOST_LINES, LEAST_LINES = 3, 1
LOW_ROWS: Final = 22
"""A lower screen shows one line."""
KIND_CELLS, TIME_CELLS, LEAST_NAME = 7, 11, 12
NAME_SHARE: Final = 0.35
PLAN: Final = "plan"
"""The key of the plan's line."""


class WorkStrip(Widget, can_focus=True):
    """Hidden while nothing is under way; then it looks at the commands twice a second."""

    BINDINGS: ClassVar[list[BindingType]] = [*command_table.bindings("work")]
    DEFAULT_CSS = """
    WorkStrip { height: auto; padding: 0 1; display: none; color: $foreground; }
    """

    class Opened(Message):
        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Stopped(Message):
        """Request to stop the work in a line."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Emptied(Message):
        """It was hidden while it had the focus."""

    def __init__(self, commands: Callable[[], list[WorkRow]], *, id: str | None = None) -> None:
        """`commands` returns the background commands that run."""
        super().__init__(id=id)
        self._commands = commands
        self._delegations = FollowedDelegations()
        self._rows: Sequence[WorkRow] = ()
        self._steps: Sequence[Json] = ()
        self._plan = ""
        self._chosen = ""
        """The key of the line that the keys are about."""
        self._timer: Timer | None = None
        self._gives_way = False
        """Whether a question needs its room on a low screen."""

    # Content

    def show_session(self) -> None:
        """Forget the work of the session shown before."""
        self._delegations = FollowedDelegations()
        self.look()

    def show_plan(self, steps: Sequence[Json]) -> None:
        """Show how far the plan is, until all of it is done; nothing without steps."""
        if steps is not self._steps:
            self._steps, self._plan = steps, plan_step(steps)
            self._show()

    def apply(self, fact: Fact) -> None:
        """Look again after an event that starts or ends work."""
        changed = self._delegations.apply(fact, time.monotonic())
        match fact:
            case BackgroundNews():
                changed = True
            case ToolActivity(tool_name=name, stage=stage):
                changed = changed or (name in STARTS_OR_ENDS and stage != "started")
        if changed:
            self.look()

    def look(self) -> None:
        """Show what runs now, newest first."""
        rows = (*self._commands(), *self._delegations.rows(time.monotonic()))
        self._rows = sorted(rows, key=lambda row: row.seconds)
        if self._rows and self._timer is None:
            self._timer = self.set_interval(LOOK_S, guarded_callback(self, "Looking at work", self.look, once=True))
        elif not self._rows and self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._show()

    def fit(self, *, is_asked: bool) -> None:
        """Give way to a question on a low screen."""
        self._gives_way = is_asked
        self._show()

    def _show(self) -> None:
        is_low = self.app.size.height < LOW_ROWS
        had_focus, is_shown = self.has_focus, bool(self._keys) and not (self._gives_way and is_low)
        if not had_focus or self._chosen not in self._keys:
            self._chosen = next(iter(self._keys), "")
        if self.display != is_shown:
            self.display = is_shown
            if had_focus:
                self.post_message(self.Emptied())
        if is_shown:
            self.refresh(layout=len(self._shown) != self.size.height)

    @property
    def _keys(self) -> list[str]:
        return [*(row.key for row in self._rows), *([PLAN] if self._plan else [])]

    # Appearance

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._shown)

    @property
    def _shown(self) -> list[str]:
        """The keys of the lines that are shown: the chosen one, and the plan's last."""
        most = MOST_LINES if self.app.size.height >= LOW_ROWS else LEAST_LINES
        keys = self._keys
        if len(keys) <= most:
            return keys
        with_plan = self._plan and (most > 1 or self._chosen == PLAN)
        rows = [key for key in keys if key != PLAN]
        room = most - bool(with_plan)
        at = rows.index(self._chosen) if self._chosen in rows else 0
        first = max(0, min(at, len(rows) - room))
        return [*rows[first : first + room], *([PLAN] if with_plan else [])]

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> Iterator[Content]:
        rows = {row.key: row for row in self._rows}
        shown = self._shown
        hidden = len(rows) - sum(key in rows for key in shown)
        last_row = next((key for key in reversed(shown) if key in rows), "")
        for key in shown:
            more = f"+{hidden} more" if hidden and key == last_row else ""
            left = self._work(rows[key], width) if key in rows else Content(self._plan)
            yield self._line(key, left, self._hint(key, more, is_first=key == shown[0]), width)

    def _line(self, key: str, left: Content, hint: Content, width: int) -> Content:
        is_chosen = self.has_focus and key == self._chosen
        room = max(1, width - hint.cell_length - 4)
        left = left.truncate(room, ellipsis=True)
        gap = " " * max(1, width - 2 - left.cell_length - hint.cell_length)
        line = Content.assemble((f"{MARKER} " if is_chosen else "  ", "bold $primary"), left, gap, hint)
        return line.stylize("on $primary 15%") if is_chosen else line

    def _work(self, row: WorkRow, width: int) -> Content:
        symbol = spinner(row.seconds, still=has_reduced_motion(self))
        longest = max(len(each.name) for each in self._rows)
        cells = max(LEAST_NAME, min(longest, int(width * NAME_SHARE)))
        name = Content(row.name).truncate(cells, ellipsis=True)
        gap = " " * (cells - name.cell_length + 2)
        figures = f"{elapsed(row.seconds):<{TIME_CELLS}}"
        return Content.assemble(
            (f"{symbol} ", "$primary"),
            (f"{row.kind:<{KIND_CELLS}}", "$muted"),
            name,
            gap,
            figures,
            (row.last, "$muted"),
        )

    def _hint(self, key: str, more: str, *, is_first: bool) -> Content:
        """What the keys do while it has the focus, else which command opens it."""
        if self.has_focus and key == self._chosen:
            does = "Enter opens" if key == PLAN else "Enter opens · x stops"
        elif key == PLAN:
            does = "/plan opens"
        else:
            does = "/tasks opens" if is_first and not self.has_focus else ""
        return Content.styled(" · ".join(filter(None, (more, does))), "$muted")

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self._show()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "stop" or self._chosen not in ("", PLAN)

    def action_move(self, step: int) -> None:
        keys = self._keys
        if self._chosen in keys:
            self._chosen = keys[max(0, min(len(keys) - 1, keys.index(self._chosen) + step))]
        self.refresh()
        self.refresh_bindings()

    def action_open(self) -> None:
        if self._chosen:
            self.post_message(self.Opened(self._chosen))

    def action_stop(self) -> None:
        self.post_message(self.Stopped(self._chosen))

    def on_click(self, event: Click) -> None:
        shown = self._shown
        if 0 <= event.y < len(shown):
            self._chosen = shown[event.y]
            self.action_open()
