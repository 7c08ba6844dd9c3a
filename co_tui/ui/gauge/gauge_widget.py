"""The gauge: how full the context is."""

import time
from collections.abc import Iterator

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.ui.formatting import money, tokens
from co_tui.ui.gauge.gauge_bar import MARKER, PARTS, bar_cells, tokens_by_part
from co_tui.ui.gauge.gauge_reading import GaugeReading
from co_tui.ui.gauge.sparkline import sparkline
from co_tui.ui.themes.motion import has_reduced_motion

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
        bars = sparkline(fills, max(1, self.size.width - len(label)))
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
