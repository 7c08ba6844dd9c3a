"""The gauge: how full the context is."""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from co_tui.events import Fact, Message, StreamDelta, StreamReset, UsageInfo, agent_of
from co_tui.events.stored_messages import prompt_of
from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.session.state.pace import Fill
from co_tui.ui.formatting import CHARS_PER_TOKEN, money, tokens
from co_tui.ui.gauge.gauge_reading import GaugeReading
from co_tui.ui.themes.themes import has_reduced_motion

REDRAW_S = 1.0
"""Shortest time between two figures."""

EMPTY, MARKER = "░", "┆"

LEVELS = "▁▂▃▄▅▆▇█"

MOVE_S = 0.2
"""Time per step of the moving marker of a background compaction."""
MINI_BAR, SMALL_MINI_BAR, SMALL_COLUMNS = 20, 14, 70
SEPARATOR = " · "
ALL_PARTS_ROWS = 6
"""With fewer rows the parts are not listed; with more, the last turns and the cache are shown, too."""


class Gauge(Widget):
    """The bar with thresholds, the figures and their parts."""

    reading: reactive[GaugeReading] = reactive(GaugeReading())
    COMPONENT_CLASSES = {
        "gauge--normal",
        "gauge--warning",
        "gauge--error",
        "gauge--muted",
        "gauge--mark",
        "gauge--system",
        "gauge--tools",
        "gauge--compacted",
    }
    DEFAULT_CSS = """
    Gauge { height: 8; padding: 0 1; border: round $border; border-title-color: $muted; }
    Gauge > .gauge--normal { color: $secondary; }
    Gauge > .gauge--warning { color: $warning; }
    Gauge > .gauge--error { color: $error; }
    Gauge > .gauge--muted { color: $muted; }
    Gauge > .gauge--mark { color: $foreground; text-style: bold; }
    Gauge > .gauge--system { color: $accent; }
    Gauge > .gauge--tools { color: $primary; }
    Gauge > .gauge--compacted { color: $accent; text-style: bold; }
    """

    def watch_reading(self, reading: GaugeReading) -> None:
        self.auto_refresh = MOVE_S if reading.summarising else None
        self.set_class(reading.cached_tokens > 0, "-cached")

    def style_of(self, level: str) -> Style:
        return self.get_component_rich_style(f"gauge--{level}", partial=True)

    def _style_of_part(self, name: str) -> Style:
        """The conversation's colour shows how full the context is: only it can be compacted."""
        if not name:
            return self.style_of("muted")
        return self.style_of(self.reading.level if name == "conversation" else name)

    def _moving_at(self, width: int) -> int:
        """The cell of the background compaction's marker; the last one if motion is reduced."""
        return width - 1 if has_reduced_motion(self) else int(time.monotonic() / MOVE_S) % width

    def bar(self, width: int) -> Text:
        reading = self.reading
        bar = Text(no_wrap=True)
        moving = self._moving_at(width) if reading.summarising else -1
        marks = (reading.marks.share, reading.marks.blocking_share) if reading.usage is not None else ()
        for n, cell in enumerate(bar_cells(reading.usage, marks, width)):
            if n == moving:
                bar.append(COMPACTED_SYMBOL, self.style_of("warning"))
            else:
                bar.append(
                    cell.symbol, self.style_of("mark") if cell.symbol == MARKER else self._style_of_part(cell.part)
                )
        return bar

    def render(self) -> Text:
        lines = [self.bar(max(4, self.size.width)), *self._lines()]
        return Text("\n").join(lines)

    def _lines(self) -> Iterator[Text]:
        reading, muted = self.reading, self.style_of("muted")
        if reading.usage is None:
            yield Text(reading.empty_text, style=muted)
            return
        rows = self.size.height
        bold = self.style_of(reading.level) + Style(bold=True)
        yield Text.assemble((reading.percent, bold), f"   {reading.amount} tokens")
        if rows >= ALL_PARTS_ROWS:
            yield from self._legend()
        yield Text(reading.outlook_in(self.size.width), style=muted)
        if rows > ALL_PARTS_ROWS and self._turns > 1:  # the bar of one turn would look like a part of the legend
            yield self._last_turns()
        yield Text(reading.cost_in(self.size.width), style=muted)
        if rows > ALL_PARTS_ROWS and reading.cached_tokens:
            yield Text(self._cache(), style=muted)

    def _legend(self) -> Iterator[Text]:
        """Each part with its shade; the conversation on its own line."""
        usage, muted = self.reading.usage, self.style_of("muted")
        assert usage is not None
        items = [
            Text.assemble((part.shade, self._style_of_part(part.name)), (f" {part.name} {tokens(count)}", muted))
            for part, count in zip(PARTS, tokens_by_part(usage), strict=True)
            if count or part is PARTS[-1]
        ]
        if items[:-1]:
            yield Text(SEPARATOR, style=muted).join(items[:-1])
        yield items[-1]

    @property
    def _turns(self) -> int:
        return len({fill.turn for fill in self.reading.fills})

    def _last_turns(self) -> Text:
        fills, label = self.reading.fills, f" last {self._turns} turns"
        window = self.reading.usage.token_limit if self.reading.usage is not None else 0
        bars = sparkline(fills, max(1, self.size.width - len(label)), window)
        shown = Text(no_wrap=True)
        for symbol in bars:
            shown.append(symbol, self.style_of("compacted" if symbol == COMPACTED_SYMBOL else "normal"))
        return shown.append(label, self.style_of("muted"))

    def _cache(self) -> str:
        saved = self.reading.cache_saved
        worth = f"{SEPARATOR}{money(saved)}" if saved > 0 else ""
        return f"cache saved {tokens(self.reading.cached_tokens)} tokens{worth}"


class MiniGauge(Gauge):
    """The gauge in one line, for narrow screens: whole items, the most important first."""

    DEFAULT_CSS = "MiniGauge { height: 1; border: none; display: none; }"

    def render(self) -> Text:
        reading = self.reading
        if reading.usage is None:
            return Text(reading.short_empty_text, style=self.style_of("muted"))
        bold = self.style_of(reading.level) + Style(bold=True)
        cells = MINI_BAR if self.size.width >= SMALL_COLUMNS else SMALL_MINI_BAR
        line = Text.assemble((f"{reading.percent} ", bold), self.bar(cells), f" {reading.amount}", no_wrap=True)
        cost = money(reading.cost) if reading.cost else ""
        room = self.size.width - line.cell_len - len(SEPARATOR)
        for item in (reading.outlook_in(room), self._compactions(), cost):
            if item and line.cell_len + len(SEPARATOR) + len(item) <= self.size.width:
                line.append(f"{SEPARATOR}{item}", self.style_of("muted"))
        return line

    def _compactions(self) -> str:
        return f"{COMPACTED_SYMBOL} {self.reading.compactions}" if self.reading.compactions else ""


def sparkline(fills: Sequence[Fill], width: int, window_tokens: int) -> str:
    """The newest turns that fit, with a symbol at each compaction; a full window is the highest bar."""
    cells: list[str] = []
    for fill in reversed(fills[-width:]):
        new = [_level(fill.tokens, window_tokens), *([COMPACTED_SYMBOL] if fill.compacted else [])]
        if len(cells) + len(new) > width:
            break
        cells += new
    return "".join(reversed(cells))


def _level(tokens: int, window_tokens: int) -> str:
    share = min(1.0, tokens / window_tokens) if window_tokens else 0.0
    return LEVELS[round(share * (len(LEVELS) - 1))]


class Part(NamedTuple):
    """A part of the context. Its shade distinguishes it without colours."""

    name: str
    shade: str


PARTS = (Part("system", "█"), Part("tools", "▓"), Part("conversation", "▒"))


class Cell(NamedTuple):
    """One cell of the bar; `part` is empty in the free space."""

    symbol: str
    part: str = ""


def tokens_by_part(usage: UsageInfo) -> tuple[int, ...]:
    """In the order of `PARTS`."""
    return usage.system_tokens, usage.tool_definition_tokens, usage.conversation_tokens


def bar_cells(usage: UsageInfo | None, marks: tuple[float | None, ...], width: int) -> Iterator[Cell]:
    """The bar's cells; threshold markers are drawn over the parts."""
    markers = {marker_cell(share, width) for share in marks if share is not None}
    filled = [part for part, count in zip(PARTS, cells_by_part(usage, width), strict=True) for _ in range(count)]
    for n in range(width):
        part = filled[n] if n < len(filled) else None
        symbol = MARKER if n in markers else part.shade if part else EMPTY
        yield Cell(symbol, part.name if part else "")


def marker_cell(share: float, width: int) -> int:
    """The cell that is filled when the threshold is reached."""
    return min(width - 1, max(0, round(share * width) - 1))


def cells_by_part(usage: UsageInfo | None, width: int) -> tuple[int, ...]:
    """Cells per part, adding up to the total; parts with any tokens get at least one cell if there is room."""
    tokens = tokens_by_part(usage) if usage is not None else ()
    total = sum(tokens)
    if usage is None or total <= 0 or width <= 0:
        return (0,) * len(PARTS)
    room = min(width, max(1, round(usage.share * width)))
    ends, held = [], 0
    for count in tokens:
        held += count
        ends.append(round(held / total * room))
    cells = [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    for n, count in enumerate(tokens):
        if count and not cells[n] and max(cells) > 1:
            cells[cells.index(max(cells))] -= 1
            cells[n] = 1
    return tuple(cells)


class StreamedReply:
    """Counts the main agent's reply; callers pass in the time."""

    def __init__(self) -> None:
        self._chars = 0
        self._shown_at = float("-inf")

    @property
    def tokens(self) -> int:
        return self._chars // CHARS_PER_TOKEN

    def apply(self, fact: Fact, now: float) -> bool:
        """Follow an event; whether the gauge should be drawn again because of it alone."""
        if agent_of(fact):
            return False
        match fact:
            case StreamDelta(text=text):
                self._chars += len(text)
                if now - self._shown_at < REDRAW_S:
                    return False
                self._shown_at = now
                return True
            case StreamReset():
                self._chars = 0
                return True
            case UsageInfo():  # has its own figure
                self._chars = 0
            case Message(message=message) if prompt_of(message) is not None:
                self._chars = 0
            case _:
                pass
        return False
