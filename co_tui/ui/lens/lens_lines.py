"""The lines of the lens: messages of the request, policies, and messages that left, fitted to the width."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from rich.style import Style
from rich.text import Text

from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.events.wording import percent
from co_tui.inert import one_line
from co_tui.lab.outlook import PolicyOutlook
from co_tui.session.lens.model_thresholds import HEADER, ModelThresholds
from co_tui.session.lens.request_rows import Fate, Judgement, Kind, LeftMessage, LensMessage
from co_tui.settings import policy_label
from co_tui.ui.formatting import tokens

LINE_CHARS: Final = 400
WIDE: Final = 84
"""From this many columns on there is room for bars and long labels."""
BAR: Final = 8
_WHOLE, _HALF = "━", "╸"
_KIND_WIDTH: Final = max(map(len, Kind))


class _Shown(NamedTuple):
    """How a fate is shown: never by colour alone."""

    symbol: str
    short: str
    style: str


_FATES: Final = {
    Fate.KEPT: _Shown("·", "kept", "muted"),
    Fate.TRIMMED: _Shown("✂", "trimmed", "smaller"),
    Fate.ARCHIVED: _Shown("▤", "archived", "smaller"),
    Fate.TO_BE_SUMMARISED: _Shown(COMPACTED_SYMBOL, "next to go", "going"),
    Fate.RECOLLECTED: _Shown("↩", "back", "back"),
    Fate.PINNED: _Shown("◉", "pinned", "pinned"),
}
_LONG_FATE, _SHORT_FATE = max(map(len, Fate)) + 4, max(len(each.short) for each in _FATES.values()) + 4

_BARS: Final = {Kind.SYSTEM: "system-bar", Kind.BOARD: "system-bar", Kind.TOOLS: "tools-bar"}
"""Bars have the colours of the gauge above them."""
STYLES: Final = ("text", "muted", "bar", "system-bar", "tools-bar", "user", "smaller", "going", "back", "pinned")
StyleOf = Callable[[str], Style]
"""The style of one of these names, in the colours of the theme."""


def message_line(each: LensMessage, largest: int, width: int, style_of: StyleOf) -> Text:
    """Tokens, a bar, the kind, the fate, and the start of the text."""
    wide, line = width >= WIDE, Text(no_wrap=True)
    line.append(f"{each.tokens:>8,} " if wide else f"{tokens(each.tokens):>5} ")
    if wide:
        line.append(f"{bar(each.tokens, largest)} ", style_of(_BARS.get(each.kind, "bar")))
    line.append(f"{each.kind:<{_KIND_WIDTH}} ", style_of(_style_of_kind(each.kind)))
    fate, style = fate_label(each.judgement, wide=wide)
    line.append(fate.ljust(_LONG_FATE if wide else _SHORT_FATE), style_of(style))
    beginning = one_line(each.beginning, LINE_CHARS) or "–"
    return line.append(beginning, style_of("muted" if each.message is None else "text"))


def fate_label(judgement: Judgement, *, wide: bool = True) -> tuple[str, str]:
    """A fate's label with its symbol, and its style."""
    shown = _FATES[judgement.fate]
    also = f" {COMPACTED_SYMBOL}" if judgement.goes_next and judgement.fate is not Fate.TO_BE_SUMMARISED else ""
    return f"{shown.symbol} {judgement.fate if wide else shown.short}{also}", shown.style


def _style_of_kind(kind: Kind) -> str:
    if kind in (Kind.SYSTEM, Kind.BOARD, Kind.TOOLS):
        return "muted"
    if kind in (Kind.SUMMARY, Kind.UNDER_WAY):
        return "going"
    return "user" if kind in (Kind.USER, Kind.COMMAND) else "text"


def bar(count: int, largest: int) -> str:
    """A size relative to the largest, in half cells; anything above zero is visible."""
    halves = round(2 * BAR * count / largest) if largest else 0
    halves = max(halves, 1 if count else 0)
    return (_WHOLE * (halves // 2) + _HALF * (halves % 2)).ljust(BAR)


class _Column(NamedTuple):
    """A column of the policies."""

    name: str
    width: int


def _headed(*columns: tuple[str, int]) -> tuple[_Column, ...]:
    return tuple(_Column(*each) for each in columns)


_NAME_WIDTH, _TOKENS_WIDTH = 11, 9
_COLUMNS: Final = {
    95: _headed(("% of window", 13), ("shortened", 11), ("summarised", 12), ("left out", 10), ("after compaction", 18)),
    74: _headed(("full", 6), ("shortened", 11), ("summarised", 12), ("left out", 10), ("compacted", 13)),
    0: _headed(("full", 6), ("less", 5), ("summed", 7), ("out", 5), ("after", 9)),
}
"""By the width they need."""


def _columns(width: int) -> tuple[_Column, ...]:
    return next(columns for least, columns in _COLUMNS.items() if width >= least)


def policy_head(width: int, style_of: StyleOf) -> Text:
    """The column headings of the policies."""
    bars = BAR + 1 if width >= WIDE else 0
    start = f"{'':{_NAME_WIDTH + 2}}{'tokens':>{_TOKENS_WIDTH}}{'':{bars}}"
    named = "".join(f"{each.name:>{each.width}}" for each in _columns(width))
    line = Text(start + named, style_of("muted"), no_wrap=True)
    line.truncate(width, overflow="ellipsis")
    return line


def policy_line(name: str, seen: PolicyOutlook | None, own: str, width: int, style_of: StyleOf) -> Text:
    """The next request under one policy; without an outlook it is still being computed."""
    mark = "●" if name == own else " "
    label = f"{one_line(policy_label(name), _NAME_WIDTH):<{_NAME_WIDTH}}"
    line = Text.assemble((f"{mark} ", style_of("pinned")), label, no_wrap=True)
    if seen is None:
        return line.append("  computing …", style_of("muted"))
    reading = seen.lens.reading
    line.append(f"{reading.current_tokens:>{_TOKENS_WIDTH},}")
    if width >= WIDE:
        line.append(f" {bar(reading.current_tokens, reading.window.tokens)}", style_of("bar"))
    share, *columns = _columns(width)
    line.append(f"{percent(reading.share):>{share.width}}", style_of("muted"))
    counts = (seen.smaller, seen.summarised, seen.left_out, seen.compacted_tokens or 0)
    for column, count, style in zip(columns, counts, ("smaller", "going", "smaller", "text"), strict=True):
        line.append(f"{f'{count:,}' if count else '–':>{column.width}}", style_of(style if count else "muted"))
    return line


def models_table(rows: Sequence[ModelThresholds]) -> Text:
    """Each model's window, and where a policy compacts in it."""
    lines = [tuple(map(str.capitalize, HEADER)), *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    text = Text(no_wrap=True, overflow="ellipsis")
    for place, line in enumerate(lines):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        text.append(f"{'  '.join(cells).rstrip()}\n", "bold" if place == 0 else "")
    return text


def left_line(each: LeftMessage, width: int, style_of: StyleOf) -> Text:
    """Tokens, turn, why it left, where it is now, and the start of the text."""
    wide = width >= WIDE
    line = Text(f"{each.tokens:>8,} " if wide else f"{tokens(each.tokens):>5} ", no_wrap=True)
    if wide:
        line.append(f"{f'turn {each.turn}' if each.turn else '–':<9} ", style_of("muted"))
    line.append(f"{one_line(each.why, 12):<12} ", style_of("going"))
    line.append(f"{one_line(each.where, 24):<24} ", style_of("muted"))
    return line.append(one_line(each.beginning, LINE_CHARS))
