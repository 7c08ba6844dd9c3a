"""The keys that work here, and the commands that follow the leader key."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.geometry import Size
from textual.widget import Widget

from co_tui.actions import COMMANDS, SlashCommand
from co_tui.key_names import key_name
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.help.help_screen import own_sections, typed_keys
from co_tui.ui.help.sections import Section, Sections
from co_tui.ui.keys.active_keys import ActiveKey
from co_tui.ui.keys.command_table import DEFAULT_KEYS
from co_tui.ui.widgets.key_hints import KEY_STYLE, KeyHints

WITH_LETTER: Final = tuple(command for command in COMMANDS if command.letter)
COLUMN_CELLS: Final = 26
"""A letter and a label."""
GAP_CELLS: Final = 2


class KeysHereScreen(Dialog[str]):
    """Lists the keys of the focused widget, then those of the screen. Answers with a character typed meanwhile."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,enter", "close", "Back"),
        Binding("down", "scroll(1)", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    def __init__(
        self,
        here: Sequence[ActiveKey],
        elsewhere: Sequence[ActiveKey],
        commands: Sequence[SlashCommand] = (),
        *,
        in_prompt: bool,
    ) -> None:
        """`here` are the keys of the focused widget, `elsewhere` those of the screen; `commands` are those from files
        and servers."""
        super().__init__(tall=True)
        own = [*(typed_keys() if in_prompt else ()), *here]
        found = (Section("Here", own), Section("In the chat", elsewhere), *own_sections(commands))
        self._sections = [each for each in found if each.rows]

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Keys"
            yield Sections()
            yield KeyHints(("up down", "scroll"), ("escape", "back"))

    def on_mount(self) -> None:
        self.query_one(Sections).show(self._sections)

    def on_key(self, event: Key) -> None:
        if event.is_printable and event.character != "?":
            event.stop()
            self.answer(event.character or "")

    def action_scroll(self, lines: int) -> None:
        self.query_one(Sections).scroll_relative(y=lines, animate=False)

    def action_page(self, direction: int) -> None:
        self.action_scroll(direction * max(1, self.query_one(Sections).size.height - 1))


class LetterGrid(Widget, can_focus=True):
    """The letters after the leader key, in columns; a click chooses."""

    DEFAULT_CSS = "LetterGrid { height: auto; }"

    def on_mount(self) -> None:
        self.auto_links = False  # letters are no links

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(_grid(width))

    def render(self) -> Content:
        return Content("\n").join(
            Content(" " * GAP_CELLS).join(_item(command) for command in row) for row in _grid(self.content_size.width)
        )


class LeaderScreen(Dialog[str]):
    """Waits for the letter after the leader key; answers with the name of its command."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    def __init__(self, chosen: Mapping[str, str] = DEFAULT_KEYS, leader: str = "ctrl+x") -> None:
        super().__init__()
        self._leader = chosen.get("leader", leader)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = f"{key_name(self._leader)}, then"
            yield LetterGrid()
            yield KeyHints(("escape", "back"))

    def on_mount(self) -> None:
        self.query_one(LetterGrid).focus()

    def on_key(self, event: Key) -> None:
        name = next((command.name for command in WITH_LETTER if command.letter == event.character), None)
        if name is not None:
            event.stop()
            self.answer(name)
        elif event.is_printable:
            event.stop()
            self.notify(f"{key_name(self._leader)} {event.character} does nothing.", timeout=3, markup=False)
            self.withdraw()

    def action_letter(self, name: str) -> None:
        self.answer(name)


def _grid(width: int) -> list[list[SlashCommand]]:
    """Rows of commands, ordered down the columns."""
    columns = max(1, (width + GAP_CELLS) // (COLUMN_CELLS + GAP_CELLS))
    rows = -(-len(WITH_LETTER) // columns)
    return [list(WITH_LETTER[row::rows]) for row in range(rows)]


def _item(command: SlashCommand) -> Content:
    label = Content(command.label or command.slash).truncate(COLUMN_CELLS - 3, ellipsis=True, pad=True)
    return Content.assemble((f"{command.letter}  ", KEY_STYLE), label).stylize(
        f"@click=screen.letter({command.name!r})"
    )
