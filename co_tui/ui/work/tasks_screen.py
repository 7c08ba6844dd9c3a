"""Background commands and delegations: their output, and how to stop one."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from co_tui.events.stored_messages import pieces
from co_tui.events.tool_calls import call_line
from co_tui.events.tool_wording import call_summary
from co_tui.inert import inert, one_line
from co_tui.ui.background import guarded_callback
from co_tui.ui.dialogs.dialog import Dialog, show_rows
from co_tui.ui.formatting import elapsed
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList
from co_tui.ui.work.session_work import AGENT, RUN, SessionWork

if TYPE_CHECKING:
    from co_tui.session.session import Session
    from co_tui.session.state.session_state import Delegation
    from co_tui.session.tools.command_watch import BackgroundCommand

LINE_CHARS = 200
REFRESH_S = 0.5
KEYS = (("up down", "choose"), ("x", "stop it"), ("escape", "back"))
NOTHING = "Nothing runs in the background. The model starts a command there when it does not need to wait."
MOST_LISTED = 6
"""Rows of the list; the output gets the rest."""
MOST_DELEGATIONS = 20
"""Of those that ended."""
MOST_STEPS = 40
"""Of a delegation's messages."""


class Task(NamedTuple):
    """A background command or a delegation."""

    key: str
    kind: str
    name: str
    state: str
    running: bool
    output: str


class TasksScreen(Dialog[None]):
    """Lists the work, refreshed while open."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Back"), Binding("x", "end", "Stop")]

    def __init__(self, work: SessionWork, tasks: Callable[[], Sequence[Task]], key: str = "") -> None:
        """`tasks` returns the work as it is now; `key` is the one to show first."""
        super().__init__(wide=True)
        self._work, self._tasks, self._key = work, tasks, key
        self._shown: Sequence[Task] = ()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Tasks"
            yield SafeList(classes="-filling")
            with VerticalScroll(can_focus=False, id="output") as output:
                output.border_title = " output "
                yield Static(markup=False)
            yield KeyHints(*KEYS)

    def on_mount(self) -> None:
        self._update()
        self.query_one(OptionList).focus()
        self.set_interval(REFRESH_S, guarded_callback(self, "Reading the tasks", self._update, once=True))

    def on_resize(self) -> None:
        listed = min(MOST_LISTED, max(1, self.rows_for_content // 3))
        self.query_one(OptionList).styles.max_height = listed
        self.query_one(VerticalScroll).styles.max_height = self.rows_for_content - listed

    def _update(self) -> None:
        options = self.query_one(OptionList)
        if (chosen := self._chosen) is not None:
            self._key = chosen.key
        self._shown = self._tasks()
        at = next((n for n, each in enumerate(self._shown) if each.key == self._key), options.highlighted or 0)
        show_rows(options, [Option(_line(each)) for each in self._shown], NOTHING, at)
        self.query_one(VerticalScroll).display = bool(self._shown)
        self.query_one(KeyHints).show(*(KEYS if self._shown else KEYS[-1:]))
        self._show_output()

    @property
    def _chosen(self) -> Task | None:
        at = self.query_one(OptionList).highlighted
        return self._shown[at] if at is not None and at < len(self._shown) else None

    def on_option_list_option_highlighted(self) -> None:
        self._show_output()

    def _show_output(self) -> None:
        if (chosen := self._chosen) is not None:
            self.query_one("VerticalScroll > Static", Static).update(Text(inert(chosen.output) or "No output yet."))
            self.query_one(VerticalScroll).scroll_end(animate=False)

    async def action_end(self) -> None:
        if (chosen := self._chosen) is not None and chosen.running:
            await self._work.stop(chosen.key)
            self._update()


def _line(task: Task) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{task.state:<20}", "bold" if task.running else "dim").append(f"{task.kind:<7}", "dim")
    line.append(one_line(task.name, LINE_CHARS))
    return line


def tasks_of(session: "Session") -> list[Task]:
    """The background commands, then the latest delegations."""
    delegations = list(session.state.delegations.items())[-MOST_DELEGATIONS:]
    return [
        *map(command_task, session.commands.background()),
        *(_delegation(agent, each) for agent, each in delegations),
    ]


def command_task(command: "BackgroundCommand") -> Task:
    """A background command in a line."""
    ended = "ended" if command.exit_code is None else f"exit code {command.exit_code}"
    state = f"running {elapsed(command.seconds)}" if command.running else ended
    return Task(command.id, RUN, command.command, state, command.running, command.output)


def _delegation(agent: str, delegation: "Delegation") -> Task:
    running = delegation.status == "running"
    return Task(agent, AGENT, delegation.task, delegation.status, running, "\n".join(_steps(delegation)))


def _steps(delegation: "Delegation") -> Iterator[str]:
    """Its task, and what it did last."""
    yield f"Task: {delegation.task}"
    for entry in [each for each in delegation.history[-MOST_STEPS:] if each.agent]:
        for role, text, part in pieces(entry.message):
            if role == "tool_call":
                name = str(part.get("tool_name", ""))
                yield f"▸ {call_line(name, call_summary(name, text))}"
            elif role == "assistant" and text.strip():
                yield text.strip()
    if delegation.error:
        yield f"! {delegation.error}"
