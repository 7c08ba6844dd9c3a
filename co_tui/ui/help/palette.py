"""The command palette: search commands by name or description; settings and approval rules, too."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Final, NamedTuple

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
from co_tui.ui.keys.search_words import is_found
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

NAME_COLUMNS: Final = max(len(command.slash) for command in COMMANDS) + 2
FURTHER_COLUMNS: Final = 30
OTHER_WORDS_RANK: Final = 3.0
"""Of a command that has none of the typed words itself."""
NO_MATCH: Final = "No matching command, setting or rule."


class FurtherEntry(NamedTuple):
    """What is found only by a search: a setting, or an approval rule."""

    name: str
    text: str
    kind: str
    runs: str
    """The command line that opens it."""
    searched: str


class RankedCommand(NamedTuple):
    """A command that was found, and how well it fits: the lower, the better."""

    rank: float
    command: SlashCommand


def found_commands(typed: str, own: Sequence[SlashCommand] = ()) -> Sequence[RankedCommand]:
    """Best match first: by prefix of the name, by fuzzy name, by words of the description, then by other words."""
    wanted = typed.strip().lower().removeprefix("/")
    matcher, words = Matcher(wanted), wanted.split()

    def rank(command: SlashCommand) -> float | None:
        if any(name.startswith(wanted) for name in (command.name, *command.aliases)):
            return 0.0
        if (score := matcher.match(command.name)) > 0:
            return 1.0 + 1.0 / (1.0 + score)
        if all(word in command.help.lower() for word in words):
            return 2.0
        return OTHER_WORDS_RANK if is_found(words, f"{command.slash} {command.help}") else None

    ranked = [RankedCommand(place, each) for each in (*COMMANDS, *own) if (place := rank(each)) is not None]
    return sorted(ranked, key=lambda each: each.rank)


def found_further(typed: str, entries: Sequence[FurtherEntry]) -> Sequence[FurtherEntry]:
    """Those with all typed words first, then those with other words for them; none before something is typed."""
    words = typed.lower().split()
    found = [each for each in entries if is_found(words, each.searched)] if words else []
    return sorted(found, key=lambda each: not all(word in each.searched.lower() for word in words))


class PaletteScreen(ChoosingDialog[str]):
    """Returns the chosen command, with arguments for a setting or a rule."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+p", "close", "Back", priority=True)]

    def __init__(
        self,
        chosen: Mapping[str, str],
        own: Callable[[], Sequence[SlashCommand]] = tuple,
        further: Callable[[], Sequence[FurtherEntry]] = tuple,
    ) -> None:
        """`chosen` are the user's own keys; `own` returns the commands from files and servers, `further` the settings
        and rules."""
        super().__init__()
        self._chosen_keys = chosen
        self._own = own
        self._list_further = further

    @cached_property
    def _further(self) -> Sequence[FurtherEntry]:
        return self._list_further()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Commands"
            yield Field(placeholder="Type a name or what it does; finds settings and rules, too")
            yield SafeList(classes="-filling")
            yield KeyHints(("enter", "run"), ("esc", "back"))

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._fill)

    @on(Input.Changed)
    def _fill(self) -> None:
        typed, options = self.query_one(Input).value, self.query_one(OptionList)
        before, room = options.highlighted or 0, max(30, options.scrollable_content_region.width)
        rows = [*self._rows(typed, room)]
        self._choices = [runs for runs, _ in rows]
        show_rows(options, [Option(line) for _, line in rows], NO_MATCH, 0 if typed else before)

    def _rows(self, typed: str, room: int) -> Iterator[tuple[str, Content]]:
        """What each row runs, and its line; what has the typed words itself comes before what has other words."""
        commands, words = found_commands(typed, self._own()), typed.lower().split()
        further = found_further(typed, self._further) if words else ()
        named = [each for each in further if all(word in each.name.lower() for word in words)]
        for is_weak, entries in ((False, named), (True, [each for each in further if each not in named])):
            for rank, command in commands:
                if is_weak == (rank >= OTHER_WORDS_RANK):
                    yield command.name, _line(command.slash, command.help, self._mark(command), room)
            for each in entries:
                yield each.runs, _line(each.name, each.text, each.kind, room, FURTHER_COLUMNS)

    def _mark(self, command: SlashCommand) -> str:
        return command.source or key_name(self._chosen_keys.get(command.name, command.key))


def _line(name: str, text: str, mark: str, room: int, least: int = NAME_COLUMNS) -> Content:
    """A long name takes room from its own description only."""
    title, mark = Content(inert(name)), inert(mark)
    columns = max(least, min(title.cell_length + 2, room // 2))
    title = title.truncate(columns - 1, ellipsis=True).pad_right(1)
    title = title.pad_right(columns - title.cell_length)
    left = max(0, room - columns - len(mark) - 3)
    words = Content(inert(text)).truncate(left, ellipsis=True, pad=True)
    return Content.assemble(title.stylize("bold"), words.stylize("$muted"), "  ", (mark, KEY_STYLE))
