"""The MCP servers and their states; keys add one, restart failed ones and edit their file."""

from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from co_tui.inert import inert, one_line
from co_tui.settings import SettingsError
from co_tui.ui.approvals.choices import Choice, ChoiceBox, Choices
from co_tui.ui.background import guarded_callback, run_in_background
from co_tui.ui.dialogs.dialog import Dialog, show_rows
from co_tui.ui.dialogs.scrolling_dialog import SCROLL_HINT, ScrollingDialog
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

POLL_S: Final = 0.3
STATE_CHARS: Final = 300
NAME_COLUMNS: Final = 16
NOTHING: Final = "No MCP servers yet. Press a to add one."
KEYS: Final = (("a", "add"), ("r", "restart failed ones"), ("ctrl+g", "edit config.toml"), ("escape", "back"))
WRITING_KEYS: Final = (("enter", "next"), ("escape", "back"))
CHOOSING_KEYS: Final = (SCROLL_HINT, ("up down enter", "choose"), ("escape", "back"))
ASK_NAME: Final = "A short name, such as github. Its tools are named after it."
ASK_START: Final = (
    "The command that starts it, such as npx -y some-server, or its https:// address. "
    "Write a key as ${NAME}: it is read from the environment."
)
ADD: Final = "y"


class ServerEditor(Protocol):
    """Lists and adds MCP servers. Changes raise `SettingsError`."""

    @property
    def file(self) -> str:
        """The path of the user's file, for people."""

    def states(self) -> Sequence[tuple[str, str]]: ...

    def restart(self) -> None: ...

    def check(self, name: str, started: str) -> str:
        """What adding a server would run or connect to."""

    async def add(self, name: str, started: str) -> str: ...

    async def edit_file(self) -> str: ...


class McpScreen(Dialog[None]):
    """The states are read again while it is open."""

    DEFAULT_CSS = """
    McpScreen #said { height: auto; color: $muted; margin-top: 1; }
    McpScreen #said.-bad { color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("a", "add", "Add"),
        Binding("r", "restart", "Restart"),
        Binding("ctrl+g,e", "edit_file", "Edit config.toml"),
    ]

    def __init__(self, editor: ServerEditor) -> None:
        super().__init__(wide=True)
        self._editor = editor
        self._shown: Sequence[tuple[str, str]] | None = None

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "MCP servers"
            yield SafeList(classes="-filling")
            yield Static(Text(f"Saved in {self._editor.file}"), id="said")
            yield KeyHints(*KEYS)

    def on_mount(self) -> None:
        self._fill()
        self.query_one(OptionList).focus()
        self.set_interval(POLL_S, guarded_callback(self, "Reading the servers", self._fill, once=True))

    def _fill(self) -> None:
        states = self._editor.states()
        if states != self._shown:
            self._shown, options = states, self.query_one(OptionList)
            show_rows(options, [_option(*each) for each in states], NOTHING, options.highlighted or 0)

    def _say(self, text: str, *, bad: bool = False) -> None:
        said = self.query_one("#said", Static)
        said.update(Text(inert(text)))
        said.set_class(bad, "-bad")

    def action_restart(self) -> None:
        self._editor.restart()
        self._fill()

    def action_add(self) -> None:
        self.app.push_screen(AddServerScreen(self._editor), lambda said: self._say(said) if said else None)

    async def action_edit_file(self) -> None:
        try:
            self._say(await self._editor.edit_file())
        except SettingsError as error:
            self._say(str(error), bad=True)
        self._fill()


class AddServerScreen(ScrollingDialog[str]):
    """Asks for a name, then for a command or an address, and shows what will run before it is added."""

    DEFAULT_CSS = """
    AddServerScreen Static { height: auto; color: $muted; }
    AddServerScreen Static.-bad { color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "Back")]

    def __init__(self, editor: ServerEditor) -> None:
        super().__init__(wide=True)
        self._editor = editor
        self._server = self._started = ""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Add an MCP server"
            with VerticalScroll(can_focus=False):
                yield Static(ASK_NAME, markup=False)
            yield Field()
            choices = ChoiceBox(Choices((Choice(ADD, "Add and start it"), Choice("n", "Do not add it"))), self._chosen)
            choices.display = False
            yield choices
            yield KeyHints(*WRITING_KEYS)

    def on_mount(self) -> None:
        self.query_one(Field).focus()

    @property
    def has_unsaved_text(self) -> bool:
        return bool(self._server or self.query_one(Field).value)

    @on(Input.Submitted)
    def _written(self, event: Input.Submitted) -> None:
        written = event.value.strip()
        try:
            self._editor.check(self._server or written, written if self._server else "true")
        except SettingsError as error:
            self._show(str(error), bad=True)
            return
        if self._server:
            self._started = written
            self._show(self._editor.check(self._server, written))
        else:
            self._server, event.input.value = written, ""
            self._show(ASK_START)

    def _show(self, text: str, *, bad: bool = False) -> None:
        """Show a text, with the field or, once all is written, with the choices."""
        words, asks = self.query_one(Static), bool(self._started) and not bad
        words.update(Text(inert(text)))
        words.set_class(bad, "-bad")
        choices, field = self.query_one(ChoiceBox), self.query_one(Field)
        choices.display, field.display = asks, not asks
        (choices if asks else field).focus()
        self.show_keys(*(CHOOSING_KEYS if asks else WRITING_KEYS))

    def action_back(self) -> None:
        """One step back."""
        if self._started:
            self._started = ""
            self._show(ASK_START)
        elif self._server:
            self.query_one(Field).value, self._server = self._server, ""
            self._show(ASK_NAME)
        else:
            self.withdraw()

    def _chosen(self, key: str) -> None:
        if key != ADD:
            self.withdraw()
            return
        run_in_background(self, "Adding the server", self._add, group="server", latest=True)

    async def _add(self) -> None:
        try:
            self.answer(await self._editor.add(self._server, self._started))
        except SettingsError as error:
            self._started = ""
            self._show(str(error), bad=True)


def _option(name: str, state: str) -> Option:
    return Option(
        Content.assemble((f"{one_line(name, 40):<{NAME_COLUMNS}}  ", "bold"), one_line(inert(state), STATE_CHARS))
    )
