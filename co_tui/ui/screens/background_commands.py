"""The commands that run beside the conversation: what each of them says, and how to end one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from co_tui.inert import inert, one_line
from co_tui.ui.screens.dialog import Dialog
from co_tui.ui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from co_tui.session.tools.running_commands import BackgroundCommand, RunningCommands

LINE_CHARS = 200
LOOK_EVERY_S = 0.5


class BackgroundCommandsScreen(Dialog[None]):
    """As they are now, again and again."""

    DEFAULT_CSS = "BackgroundCommandsScreen OptionList { text-wrap: nowrap; text-overflow: ellipsis; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Back"), Binding("x", "end", "End it")]

    def __init__(self, commands: "RunningCommands") -> None:
        super().__init__(tall=True)
        self._commands = commands
        self._shown: Sequence[BackgroundCommand] = ()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Background commands"
            yield OptionList()
            with VerticalScroll(can_focus=False):
                yield Static(markup=False)
            yield KeyHints(("up, down", "choose"), ("x", "end it"), ("esc", "back"))

    def on_mount(self) -> None:
        self._look()
        self.query_one(OptionList).focus()
        self.set_interval(LOOK_EVERY_S, self._look)

    def _look(self) -> None:
        options = self.query_one(OptionList)
        highlighted = options.highlighted or 0
        self._shown = self._commands.background()
        if not self._shown:
            options.set_options([Option("None was started in this session.", disabled=True)])
            return
        options.set_options([Option(_line(each)) for each in self._shown])
        options.highlighted = min(highlighted, len(self._shown) - 1)
        self._show_output()

    def on_option_list_option_highlighted(self) -> None:
        self._show_output()

    def _show_output(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._shown):
            self.query_one("VerticalScroll > Static", Static).update(
                Text(inert(self._shown[at].output) or "It has said nothing yet.")
            )
            self.query_one(VerticalScroll).scroll_end(animate=False)

    async def action_end(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._shown) and self._shown[at].running:
            await self._commands.end(self._shown[at].id)
            self._look()

    def action_close(self) -> None:
        self.answer(None)


def _line(command: "BackgroundCommand") -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{_told_state(command):<14}", "bold" if command.running else "dim")
    line.append(one_line(command.command, LINE_CHARS))
    return line


def _told_state(command: "BackgroundCommand") -> str:
    if command.running:
        return f"runs {command.seconds:,.0f} s"
    return "ended" if command.exit_code is None else f"exit code {command.exit_code}"
