"""Help: all keys and commands from their tables, those of the focused widget first, and the topics; searchable."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from co_tui.actions import COMMANDS, KEY_SCOPES, KEYS, KeyScope, SlashCommand
from co_tui.help import TOPICS, Topic, page
from co_tui.inert import inert
from co_tui.key_names import key_name
from co_tui.settings.key_choices import NO_KEY
from co_tui.settings.writing import DEFAULT
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.dialogs.text_screen import PagerScreen
from co_tui.ui.help.found_topics import found_topics
from co_tui.ui.help.sections import Row, Section, Sections
from co_tui.ui.keys.command_table import DEFAULT_KEYS, ActiveKey, letter_of
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints

_TYPED: Final = (
    ("enter", "Send"),
    ("@", "Attach a file"),
    ("!", "Run a shell command; the model sees it with your next prompt, Esc stops it"),
    ("up down", "Earlier prompts; ↑ in an empty prompt opens the queue"),
    ("ctrl+c", "Copy the selection; else clear the prompt; else stop the turn; twice quits"),
    ("escape", "Close what is open, or deny a question with the focus; else stop the turn"),
    ("escape escape", "Rewind, in an empty prompt while nothing runs"),
    ("tab", "Move between prompt, chat, timeline and a question"),
    ("ctrl+p", "All commands"),
)
_GAUGE: Final = (
    ("62 %", "How much of the model's window the next request takes"),
    ("~", "Estimated; without it, counted by the provider"),
    ("?", "The window size is assumed"),
    ("┆ ┆", "Where compaction starts in the background, and where the turn waits for it"),
    ("█ ▓ ▒", "System prompt, tool definitions, conversation"),
    ("▂▄▆◆▃", "How full it was after each of the last turns; ◆ marks a compaction"),
    ("≈ 6 turns", "Turns until the next compaction, at the present pace"),
    ("cache saved", "Tokens read from the provider's cache, and what that saved"),
)
LEADER: Final = next(row.key for row in KEYS if row.name == "leader")
UNBOUND: Final = "–"
BEFORE_NAME: Final = " · "
"""Before the name of an action, for the setting `keys`."""
FIRST_KEYS: Final = "First keys"
PAGE_SHARE, PAGE_BORDERS = 0.95, 7
"""How much of the screen a page takes, and columns of it for borders and the scroll bar."""
NONE: Final = -1
"""No topic is marked."""
NOTHING: Final = Section("", [("", "Nothing found.")])


def sections(here: Sequence[ActiveKey], chosen: Mapping[str, str], own: Sequence[SlashCommand] = ()) -> list[Section]:
    """All sections of the help; `chosen` are the user's own keys, `own` the commands from files and servers."""

    def key_of(name: str, default: str) -> str:
        return key_name(chosen.get(name, default))

    def keys_in(place: KeyScope) -> list[tuple[str, str]]:
        rows = (row for row in KEYS if row.where == place)
        return [(key_of(row.name, row.key) or UNBOUND, f"{row.help}{BEFORE_NAME}{row.name}") for row in rows]

    leader = key_of("leader", LEADER)
    commands = [
        (
            f"{row.slash} {row.arguments}".rstrip(),
            f"{row.described}{_keys_in_brackets(letter_of(row, chosen), key_of(row.name, row.key), leader)}",
        )
        for row in COMMANDS
    ]
    first = [(key, row.key_help) for row in COMMANDS if (key := key_of(row.name, row.key))]
    places = [
        Section(f"{words[0].upper()}{words[1:]}", [*(typed_keys() if place == "prompt" else ()), *keys_in(place)])
        for place, words in KEY_SCOPES.items()
    ]
    in_prompt = {row.help for row in KEYS if row.where == "prompt"}
    return [
        Section("Here", [row for row in here if row.help not in in_prompt]),  # the prompt has its own section
        Section(FIRST_KEYS, first),
        Section("The gauge", _GAUGE),
        *places,
        Section("Commands", commands),
        *own_sections(own),
        Section(
            "Change a key: /config keys.NAME KEY",
            [
                ("NAME", f"A command's name, or the name after{BEFORE_NAME.rstrip()} above"),
                ("NAME_letter", f"The letter of a command after {leader or 'the leader key'}"),
                ("KEY", f"Such as F12 or Alt+N; {NO_KEY} unbinds it, {DEFAULT} restores it"),
            ],
        ),
    ]


def own_sections(own: Sequence[SlashCommand]) -> list[Section]:
    """The commands from files and servers, with where they come from."""
    rows = [(f"{row.slash} {row.arguments}".rstrip(), f"{row.help} ({row.source})".lstrip()) for row in own]
    return [Section("Commands from files and MCP servers", [(inert(name), inert(text)) for name, text in rows])]


def typed_keys() -> list[tuple[str, str]]:
    """The keys of the prompt that no table has."""
    return [(key_name(key), meaning) for key, meaning in _TYPED]


def _keys_in_brackets(letter: str, key: str, leader: str) -> str:
    """The key of a command, and its letter after the leader key."""
    keys = [key, f"{leader} {letter}" if leader and letter else ""]
    return f"  ({', '.join(filter(None, keys))})" if any(keys) else ""


def page_screen(topic: Topic, width: int) -> PagerScreen:
    """A page of the help, laid out for a screen of this width."""
    from co_tui.help.render import rendered

    return PagerScreen(
        f"Help: {topic.name}", rendered(page(topic), int(width * PAGE_SHARE) - PAGE_BORDERS, styled=False)
    )


class HelpScreen(Dialog[None]):
    """Tab goes to the topics, and from one to the next; Enter opens one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back"),
        Binding("enter", "open", show=False, priority=True),
        Binding("tab", "mark(1)", show=False, priority=True),
        Binding("shift+tab", "mark(-1)", show=False, priority=True),
        Binding("down", "scroll(1)", show=False, priority=True),
        Binding("up", "scroll(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("ctrl+home", "to(0)", show=False, priority=True),
        Binding("ctrl+end", "to(1)", show=False, priority=True),
    ]

    def __init__(
        self,
        here: Sequence[ActiveKey] = (),
        chosen: Mapping[str, str] = DEFAULT_KEYS,
        own: Sequence[SlashCommand] = (),
    ) -> None:
        super().__init__(tall=True)
        self._sections = sections(here, chosen, own)
        self._found: Sequence[Row] = ()
        """Topics with why each was found."""
        self._marked = NONE

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Help"
            yield Field(placeholder="Type to search")
            yield Sections()
            yield KeyHints(("tab", "topics"), ("enter", "open topic"), ("up down", "scroll"), ("escape", "back"))

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._show()

    @on(Input.Changed)
    def _show(self) -> None:
        words = self.query_one(Input).value.lower().split()
        about, mentioned = found_topics(words)
        self._found, self._marked = [*about, *mentioned], 0 if words else NONE
        found = [each.matching(words) for each in self._sections]
        after_first = [each.title for each in found].index(FIRST_KEYS) + 1
        found.insert(after_first, Section("Topics", about))
        shown = [each for each in (*found, Section("Also mentioned in", mentioned)) if each.rows]
        self.query_one(Sections).show(shown or [NOTHING], next(iter(self._found), None) if words else None)

    def action_mark(self, step: int) -> None:
        if self._found:
            self._marked = (self._marked + step) % len(self._found)
            self.query_one(Sections).mark(self._found[self._marked])

    def action_open(self) -> None:
        if self._marked == NONE or not self._found:
            self.action_mark(1)
            return
        name, _ = self._found[self._marked]
        topic = next(each for each in TOPICS if each.name == name)
        self.app.push_screen(page_screen(topic, self.size.width))

    def action_scroll(self, lines: int) -> None:
        self.query_one(Sections).scroll_relative(y=lines, animate=False)

    def action_page(self, direction: int) -> None:
        shown = self.query_one(Sections)
        shown.scroll_relative(y=direction * max(1, shown.size.height - 1), animate=False)

    def action_to(self, end: int) -> None:
        shown = self.query_one(Sections)
        shown.scroll_to(y=end * shown.max_scroll_y, animate=False)
