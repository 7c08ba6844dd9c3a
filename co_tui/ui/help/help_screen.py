"""Help: all keys and commands from their tables, those of the focused widget first, searchable."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from co_tui.actions import COMMANDS, KEY_SCOPES, KEYS, KeyScope
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.help.sections import Section, Sections
from co_tui.ui.keys.active_keys import ActiveKey
from co_tui.ui.keys.command_table import DEFAULT_KEYS, key_label
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints

_TYPED: Final = (
    ("enter", "Send"),
    ("@", "Name a file: it goes with the prompt"),
    ("!", "Run a shell command; the model sees it with your next prompt, Esc stops it"),
    ("↑ ↓", "Earlier prompts, at the first and last line; ↑ in an empty prompt shows what waits"),
    (
        "ctrl+c",
        "Copy the selection; else clear the prompt; else stop the turn; twice quits",
    ),
    ("esc", "Stop the turn; what waits stays on hold until enter; close what is open"),
    ("tab", "Move between prompt, chat, timeline and a question; typing goes to the prompt"),
    ("ctrl+p", "All commands, in the palette"),
)
_GAUGE: Final = (
    ("62 %", "Share of the model's window that the next request takes"),
    ("~", "Estimated; without it, counted by the provider"),
    ("?", "The window size is assumed"),
    ("┆ ┆", "Where compaction starts in the background, and where the turn waits for it"),
    ("█ ▓ ▒", "What fills it: instructions, definitions of tools, the conversation"),
    ("▂▄▆◆▃", "How full it was after each of the last turns; ◆ where it was compacted"),
    ("≈ 6 turns", "Until the next compaction, if turns go on to be as long as they were"),
    ("cache saved", "What the provider did not have to read again, and what that took off the price"),
)
NOTHING: Final = Section("", [("", "Nothing here has these words.")])


def sections(here: Sequence[ActiveKey], chosen: Mapping[str, str]) -> list[Section]:
    """All sections of the help; `chosen` are the user's own keys."""

    def key_of(name: str, default: str) -> str:
        return key_label(chosen.get(name, default))

    def keys_in(place: KeyScope) -> list[tuple[str, str]]:
        return [(key, row.help) for row in KEYS if row.where == place and (key := key_of(row.name, row.key))]

    commands = [
        (f"{row.slash} {row.arguments}".rstrip(), row.help + (f"  ({key})" if key else ""))
        for row in COMMANDS
        for key in [key_of(row.name, row.key)]
    ]
    first = [(key, row.help) for row in COMMANDS if (key := key_of(row.name, row.key))]
    places = [
        Section(f"{words[0].upper()}{words[1:]}", [*(_TYPED if place == "prompt" else ()), *keys_in(place)])
        for place, words in KEY_SCOPES.items()
    ]
    in_prompt = {meaning for _, meaning in keys_in("prompt")}
    return [
        Section("Here", [row for row in here if row.help not in in_prompt]),  # the prompt has its own section
        Section("First keys", [*first, ("^p", "In the last line of a screen: ctrl+p")]),
        Section("The gauge", _GAUGE),
        *places,
        Section("Commands", commands),
        Section(
            'Other keys: the setting keys.compact = "f12" by a command\'s name, and by these',
            [(row.name, row.help) for row in KEYS],
        ),
    ]


class HelpScreen(Dialog[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back", key_display="esc"),
        Binding("down", "scroll(1)", show=False, priority=True),
        Binding("up", "scroll(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("ctrl+home", "to(0)", show=False, priority=True),
        Binding("ctrl+end", "to(1)", show=False, priority=True),
    ]

    def __init__(self, here: Sequence[ActiveKey] = (), chosen: Mapping[str, str] = DEFAULT_KEYS) -> None:
        super().__init__(tall=True)
        self._sections = sections(here, chosen)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Help"
            yield Field(placeholder="Type to search")
            yield Sections()
            yield KeyHints(("↑ ↓ pgup pgdn", "scroll"), ("esc", "back"))

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._show()

    @on(Input.Changed)
    def _show(self) -> None:
        words = self.query_one(Input).value.lower().split()
        found = [section for each in self._sections if (section := each.matching(words)).rows]
        self.query_one(Sections).show(found or [NOTHING])

    def action_scroll(self, lines: int) -> None:
        self.query_one(Sections).scroll_relative(y=lines, animate=False)

    def action_page(self, direction: int) -> None:
        shown = self.query_one(Sections)
        shown.scroll_relative(y=direction * max(1, shown.size.height - 1), animate=False)

    def action_to(self, end: int) -> None:
        shown = self.query_one(Sections)
        shown.scroll_to(y=end * shown.max_scroll_y, animate=False)
