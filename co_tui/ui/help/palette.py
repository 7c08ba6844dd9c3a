"""The command palette: search commands by name or description."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import Matcher
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from co_tui.actions import COMMANDS, SlashCommand
from co_tui.inert import inert
from co_tui.key_names import key_name
from co_tui.ui.dialogs.dialog import show_rows
from co_tui.ui.dialogs.filter_dialog import ChoosingDialog
from co_tui.ui.formatting import KEY_STYLE
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

NAME_COLUMNS: Final = max(len(command.slash) for command in COMMANDS) + 2
NO_MATCH: Final = "No matching command."


def found_commands(typed: str, own: Sequence[SlashCommand] = ()) -> Sequence[SlashCommand]:
    """Best match first: by prefix of the name, by fuzzy name, then by words of the description."""
    wanted = typed.strip().lower().removeprefix("/")
    matcher, words = Matcher(wanted), wanted.split()

    def rank(command: SlashCommand) -> float | None:
        if command.name.startswith(wanted):
            return 0.0
        if (score := matcher.match(command.name)) > 0:
            return 1.0 + 1.0 / (1.0 + score)
        return 2.0 if all(word in command.help.lower() for word in words) else None

    ranked = [(place, command) for command in (*COMMANDS, *own) if (place := rank(command)) is not None]
    return [command for _, command in sorted(ranked, key=lambda each: each[0])]


class PaletteScreen(ChoosingDialog[str]):
    """Returns the name of the chosen command."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+p", "close", "Back", priority=True)]

    def __init__(self, chosen: Mapping[str, str], own: Callable[[], Sequence[SlashCommand]] = tuple) -> None:
        """`chosen` are the user's own keys; `own` returns the commands from files and servers."""
        super().__init__()
        self._chosen_keys = chosen
        self._own = own

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Commands"
            yield Field(placeholder="Type a name or what it does")
            yield SafeList(classes="-filling")
            yield KeyHints(("enter", "run"), ("esc", "back"))

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._fill)

    @on(Input.Changed)
    def _fill(self) -> None:
        typed, options = self.query_one(Input).value, self.query_one(OptionList)
        before, found = options.highlighted or 0, found_commands(typed, self._own())
        self._choices = [command.name for command in found]
        room = max(30, options.scrollable_content_region.width)
        rows = [Option(self._line(command, room)) for command in found]
        show_rows(options, rows, NO_MATCH, 0 if typed else before)

    def _line(self, command: SlashCommand, room: int) -> Content:
        """A long name takes room from its own description only."""
        key = inert(command.source) or key_name(self._chosen_keys.get(command.name, command.key))
        name = Content(inert(command.slash))
        columns = max(NAME_COLUMNS, min(name.cell_length + 2, room // 2))
        name = name.truncate(columns - 1, ellipsis=True).pad_right(1)
        name = name.pad_right(columns - name.cell_length)
        left = max(0, room - columns - len(key) - 3)
        help_text = Content(inert(command.help)).truncate(left, ellipsis=True, pad=True)
        return Content.assemble(name.stylize("bold"), help_text.stylize("$muted"), "  ", (key, KEY_STYLE))
