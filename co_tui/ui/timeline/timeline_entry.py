"""Renders a timeline entry to lines: time, symbol and text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.style import Style
from rich.text import Text

from co_tui.events import Event, Fact, Message
from co_tui.events.stored_messages import typed_in
from co_tui.events.symbols import EntryStyle, EntryWeight
from co_tui.events.wording import clock, short

INDENT = "        "
"""Aligns further lines with an entry's text, past its time and symbol."""
NARROWEST_WORDS = 8
BETWEEN = " · "
UNDONE = "undone"
QUIET: Final = Style(dim=True)
DEFAULT_STYLES: Final[Mapping[EntryWeight, Style]] = {
    EntryWeight.LIGHT: QUIET,
    EntryWeight.NORMAL: Style(),
    EntryWeight.NOTABLE: Style(),
    EntryWeight.BAD: Style(bold=True),
    EntryWeight.HEAVY: Style(bold=True),
}


def timeline_row(
    event: Event,
    width: int,
    styles: Mapping[EntryWeight, Style] = DEFAULT_STYLES,
    about: str = "",
    *,
    undone: bool = False,
    stopped: bool = False,
) -> Text:
    """Time, symbol and text; longer text is wrapped with a hanging indent. `about` names the call of an answer, and
    below its dangers. One that was `stopped` does not say what was to follow."""
    entry, words = event.fact.entry(), event.fact.timeline_text()
    assert entry is not None, "not on the timeline"
    first, *others = words.rstrip("\n").split("\n")
    gist, *dangers = about.split("\n")
    if stopped:
        others = []
    if undone:
        first, entry = f"{first}{BETWEEN}{UNDONE}", entry._replace(weight=EntryWeight.LIGHT)
    room = width - len(INDENT)
    style = styles[entry.weight]
    row = Text(no_wrap=True)
    for n, line in enumerate(_wrapped(_with_gist(first, gist or _gist(event.fact), room), room)):
        if n == 0:
            row.append(f"{clock(event.timestamp):<5} ", styles[EntryWeight.LIGHT]).append(f"{entry.symbol} ", style)
            row.append(line, style)
        else:
            row.append(f"\n{INDENT}").append(line, style)
    below = _style_below(entry, styles)
    for other in (*dangers, *others):
        for line in _wrapped(other, room):
            row.append(f"\n{INDENT}").append(line, below)
    return row


def _style_below(entry: EntryStyle, styles: Mapping[EntryWeight, Style]) -> Style:
    """Further lines are normal for heavy entries, and light for others."""
    return styles[EntryWeight.NORMAL if entry.weight is EntryWeight.HEAVY else EntryWeight.LIGHT]


def _gist(fact: Fact) -> str:
    """How the prompt of a turn starts; empty for other facts."""
    return short(typed_in(fact.message)) if isinstance(fact, Message) else ""


def _with_gist(first: str, gist: str, room: int) -> str:
    """The first line with the gist of a turn or a call, cut to fit one line."""
    left = room - cell_len(first) - len(BETWEEN)
    if not gist or left < NARROWEST_WORDS:
        return first
    cut = gist if cell_len(gist) <= left else f"{set_cell_size(gist, left - 1).rstrip()}…"
    return f"{first}{BETWEEN}{cut}"


def _wrapped(text: str, width: int) -> list[str]:
    return list(_lines(text, max(NARROWEST_WORDS, width))) or [""]


def _lines(text: str, width: int) -> Iterator[str]:
    """Lines broken between items if possible, else between words."""
    return _filled(text.split(BETWEEN), BETWEEN, width, lambda item: list(_words(item, width)))


def _words(text: str, width: int) -> Iterator[str]:
    """Lines of whole words; a word wider than a line is cut."""
    return _filled(text.split(), " ", width, lambda word: chop_cells(word, width))


def _filled(items: Sequence[str], between: str, width: int, parts_of: Callable[[str], list[str]]) -> Iterator[str]:
    """Lines filled with items; one wider than a line is split by `parts_of`."""
    line = ""
    for item in items:
        if line and cell_len(line + between + item) <= width:
            line = f"{line}{between}{item}"
            continue
        if line:
            yield line
        *full, line = parts_of(item) or [""]
        yield from full
    if line:
        yield line
