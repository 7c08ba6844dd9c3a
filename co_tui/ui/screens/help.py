"""All keys and commands, made from the tables that define them: first those of what has the focus, all searchable."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, Static

from co_tui.actions import COMMANDS, KEYS, PLACES
from co_tui.ui.command_table import told_key
from co_tui.ui.keys_in_force import KeyInForce
from co_tui.ui.screens.dialog import Dialog
from co_tui.ui.widgets.key_hints import SCROLL_AND_BACK, KeyHints

NO_CHOICE: Final[Mapping[str, str]] = {}
_TYPED: Final = (
    ("enter", "send"),
    ("@", "name a file: it goes with the prompt"),
    ("!", "run a command of your own: !git status; the model sees it with your next prompt, esc stops it"),
    ("up, down", "earlier prompts, at the first and last line; up in an empty prompt shows what waits"),
    ("ctrl+c", "copy the selection; else clear what is written (up brings it back); in an empty prompt, twice quits"),
    ("esc", "stop the turn; what waits stays on hold until enter; close what is open"),
    ("tab", "move between prompt, chat, timeline and a question; typing goes to the prompt"),
    ("ctrl+p", "all commands, in the palette"),
)
_GAUGE: Final = (
    ("62 %", "share of the model's window that the next request takes"),
    ("~", "estimated; without it, counted by the provider"),
    ("?", "the window is assumed: nobody told it"),
    ("┆ ┆", "where compaction starts beside the turn, and where it must come first"),
    ("█ ▓ ▒", "what fills it: instructions, definitions of tools, the conversation"),
    ("▂▄▆◆▃", "how full it was after each of the last turns; ◆ where it was compacted"),
    ("≈ 6 turns", "until the next compaction, if turns go on to be as long as they were"),
    ("cache saved", "what the provider did not have to read again, and what that took off the price"),
)
NOTHING: Final = "Nothing here has that word."


class Section(NamedTuple):
    title: str
    rows: Sequence[tuple[str, str]]

    def matching(self, words: str) -> "Section":
        return Section(self.title, [row for row in self.rows if words in " ".join(row).lower()])


def sections(here: Sequence[KeyInForce], chosen: Mapping[str, str]) -> list[Section]:
    """Everything that help tells; `chosen` are the keys that the user chose."""

    def key_of(name: str, default: str) -> str:
        return told_key(chosen.get(name, default))

    commands = [
        (f"{row.slash} {row.arguments}".rstrip(), row.help + (f"  ({key})" if key else ""))
        for row in COMMANDS
        for key in [key_of(row.name, row.key)]
    ]
    keys = [
        (key, f"{row.help}{'' if row.where == 'anywhere' else f' ({PLACES[row.where]})'}")
        for row in KEYS
        if (key := key_of(row.name, row.key))
    ]
    named = [(row.name, row.help) for row in (*COMMANDS, *KEYS)]
    return [
        Section("Here", here),
        Section("Keys", [*_TYPED, *keys]),
        Section("Commands", commands),
        Section("The gauge", _GAUGE),
        Section('Names for the setting keys, as in keys.compact = "f7"', named),
    ]


class HelpScreen(Dialog[None]):
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1", "close", "Back", key_display="esc"),
        Binding("down", "scroll(1)", show=False, priority=True),
        Binding("up", "scroll(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
    ]

    def __init__(self, here: Sequence[KeyInForce] = (), chosen: Mapping[str, str] = NO_CHOICE) -> None:
        super().__init__(tall=True)
        self._sections = sections(here, chosen)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Help"
            yield Input(placeholder="Type to search")
            with VerticalScroll(can_focus=False):
                yield Static(id="told")
            yield KeyHints(*SCROLL_AND_BACK)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._show()

    @on(Input.Changed)
    def _show(self) -> None:
        words = self.query_one(Input).value.strip().lower()
        found = [section for each in self._sections if (section := each.matching(words)).rows]
        self.query_one("#told", Static).update(_told(found, self.size.width) if found else Text(NOTHING, "italic"))
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_page(self, direction: int) -> None:
        scroll = self.query_one(VerticalScroll)
        scroll.scroll_relative(y=direction * max(1, scroll.size.height - 1), animate=False)

    def action_close(self) -> None:
        self.answer(None)


def _told(found: Sequence[Section], width: int) -> Group:
    """Sections below each other, none with a first column of more than a third."""
    return Group(*(part for section in found for part in _of_section(section, max(12, width // 3))))


def _of_section(section: Section, most_columns: int) -> Iterator[RenderableType]:
    yield Text(section.title, style="bold underline")
    table = Table.grid(padding=(0, 2))
    table.add_column(width=min(most_columns, max(len(name) for name, _ in section.rows)))
    table.add_column()
    for name, meaning in section.rows:
        table.add_row(Text(name, style="bold"), Text(meaning))
    yield table
    yield Text()
