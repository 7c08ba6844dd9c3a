"""Commands that run in the background: their output, and how to end one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from co_tui.inert import inert, one_line
from co_tui.ui.background import guarded_callback
from co_tui.ui.dialogs.dialog import Dialog, show_rows
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

if TYPE_CHECKING:
    from co_tui.session.tools.command_watch import BackgroundCommand
    from co_tui.session.tools.running_commands import RunningCommands

LINE_CHARS = 200
REFRESH_S = 0.5
KEYS = (("up down", "choose"), ("x", "stop it"), ("escape", "back"))
NOTHING = "No background commands. The model starts one when it does not need to wait."
MOST_LISTED = 6
"""Rows of the list; the output gets the rest."""


class BackgroundCommandsScreen(Dialog[None]):
    """Lists the commands, refreshed while open."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Back"), Binding("x", "end", "Stop")]

    def __init__(self, commands: "RunningCommands") -> None:
        super().__init__(wide=True)
        self._commands = commands
        self._shown: Sequence[BackgroundCommand] = ()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Background commands"
            yield SafeList(classes="-filling")
            with VerticalScroll(can_focus=False, id="output") as output:
                output.border_title = " output "
                yield Static(markup=False)
            yield KeyHints(*KEYS)

    def on_mount(self) -> None:
        self._update()
        self.query_one(OptionList).focus()
        self.set_interval(REFRESH_S, guarded_callback(self, "Reading the commands", self._update, once=True))

    def on_resize(self) -> None:
        listed = min(MOST_LISTED, max(1, self.rows_for_content // 3))
        self.query_one(OptionList).styles.max_height = listed
        self.query_one(VerticalScroll).styles.max_height = self.rows_for_content - listed

    def _update(self) -> None:
        options = self.query_one(OptionList)
        highlighted = options.highlighted or 0
        self._shown = self._commands.background()
        show_rows(options, [Option(_line(each)) for each in self._shown], NOTHING, highlighted)
        self.query_one(VerticalScroll).display = bool(self._shown)
        self.query_one(KeyHints).show(*(KEYS if self._shown else KEYS[-1:]))
        self._show_output()

    def on_option_list_option_highlighted(self) -> None:
        self._show_output()

    def _show_output(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._shown):
            self.query_one("VerticalScroll > Static", Static).update(
                Text(inert(self._shown[at].output) or "No output yet.")
            )
            self.query_one(VerticalScroll).scroll_end(animate=False)

    async def action_end(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._shown) and self._shown[at].running:
            await self._commands.end(self._shown[at].id)
            self._update()


def _line(command: "BackgroundCommand") -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{_state_text(command):<16}", "bold" if command.running else "dim")
    line.append(one_line(command.command, LINE_CHARS))
    return line


def _state_text(command: "BackgroundCommand") -> str:
    if command.running:
        return f"running {command.seconds:,.0f} s"
    return "ended" if command.exit_code is None else f"exit code {command.exit_code}"
