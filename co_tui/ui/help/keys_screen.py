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
from co_tui.ui.formatting import KEY_STYLE
from co_tui.ui.help.help_screen import own_sections, typed_keys
from co_tui.ui.help.sections import Section, Sections
from co_tui.ui.keys.command_table import DEFAULT_KEYS, ActiveKey, letter_of
from co_tui.ui.widgets.key_hints import KeyHints

COLUMN_CELLS: Final = 26
"""A letter and a label."""
GAP_CELLS: Final = 2


class KeysHereScreen(Dialog[str]):
    """Lists the keys of the focused widget, then those of the screen. Answers with a character typed on it."""

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
        words: Sequence[tuple[str, str]] = (),
        in_prompt: bool,
    ) -> None:
        """`here` are the keys of the focused widget, `elsewhere` those of the screen; `commands` are those from files
        and servers; `words` on the screen are explained."""
        super().__init__(tall=True)
        own = [*(typed_keys() if in_prompt else ()), *here]
        keys = (Section("Here", own), Section("In the chat", elsewhere), *own_sections(commands))
        found = (Section("On this screen", words), *keys)
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

    def __init__(self, letters: Mapping[str, SlashCommand]) -> None:
        super().__init__()
        self._letters = letters

    def on_mount(self) -> None:
        self.auto_links = False  # letters are not links

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._grid(width))

    def render(self) -> Content:
        rows = self._grid(self.content_size.width)
        return Content("\n").join(Content(" " * GAP_CELLS).join(row) for row in rows)

    def _grid(self, width: int) -> list[list[Content]]:
        """Rows of commands, ordered down the columns."""
        columns = max(1, (width + GAP_CELLS) // (COLUMN_CELLS + GAP_CELLS))
        items = [_item(letter, command) for letter, command in self._letters.items()]
        rows = max(1, -(-len(items) // columns))
        return [items[row::rows] for row in range(rows)]


class LeaderScreen(Dialog[str]):
    """Waits for the letter after the leader key; answers with the name of its command."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    def __init__(self, chosen: Mapping[str, str] = DEFAULT_KEYS, leader: str = "ctrl+x") -> None:
        super().__init__()
        self._leader = chosen.get("leader", leader)
        letters = ((letter_of(command, chosen), command) for command in COMMANDS)
        self._letters = {letter: command for letter, command in letters if letter}

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = f"{key_name(self._leader)}, then"
            yield LetterGrid(self._letters)
            yield KeyHints(("escape", "back"))

    def on_mount(self) -> None:
        self.query_one(LetterGrid).focus()

    def on_key(self, event: Key) -> None:
        command = self._letters.get(event.character or "")
        if command is not None:
            event.stop()
            self.answer(command.name)
        elif event.is_printable:
            event.stop()
            self.notify(f"{key_name(self._leader)} {event.character} does nothing.", timeout=3, markup=False)
            self.withdraw()

    def action_letter(self, name: str) -> None:
        self.answer(name)


def _item(letter: str, command: SlashCommand) -> Content:
    label = Content(command.label or command.slash).truncate(COLUMN_CELLS - 3, ellipsis=True, pad=True)
    return Content.assemble((f"{letter}  ", KEY_STYLE), label).stylize(f"@click=screen.letter({command.name!r})")
