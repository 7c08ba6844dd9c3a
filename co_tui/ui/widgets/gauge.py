"""How full the context is, from `session.usage_info` alone."""

import time

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from co_tui.ui.formatting import tokens, told_cost
from co_tui.ui.widgets.gauge_reading import GaugeReading

FULL, EMPTY, MARK, MOVING = "▓", "░", "┆", "◆"
MOVE_S = 0.2
"""How fast the mark of a compaction in the background moves."""
EMPTY_TEXT = "Nothing sent yet."


class Gauge(Widget):
    """The bar with its two marks, the figures, and what they are made of."""

    reading: reactive[GaugeReading] = reactive(GaugeReading())
    COMPONENT_CLASSES = {"gauge--normal", "gauge--warning", "gauge--error", "gauge--muted"}

    def watch_reading(self, reading: GaugeReading) -> None:
        self.auto_refresh = MOVE_S if reading.summarising else None

    def style_of(self, level: str) -> Style:
        return self.get_component_rich_style(f"gauge--{level}", partial=True)

    def bar(self, width: int) -> Text:
        reading = self.reading
        filled = min(width, round(reading.share * width)) if reading.share else 0
        if reading.share > 0:
            filled = max(1, filled)
        at = (reading.marks.share, reading.marks.waiting_share)
        marks = {min(width - 1, int(share * width)) for share in at if share is not None}
        colour, muted = self.style_of(reading.level), self.style_of("muted")
        bar = Text(no_wrap=True)
        moving = int(time.monotonic() / MOVE_S) % width if reading.summarising else -1
        for cell in range(width):
            if cell == moving:
                bar.append(MOVING, self.style_of("warning"))
            elif cell < filled:
                bar.append(FULL, colour)
            else:
                bar.append(MARK if cell in marks else EMPTY, muted)
        return bar

    def render(self) -> Text:
        reading, muted = self.reading, self.style_of("muted")
        lines = [self.bar(max(4, self.size.width))]
        usage = reading.usage
        if usage is None:
            lines.append(Text(EMPTY_TEXT, style=muted))
            return Text("\n").join(lines)
        bold = self.style_of(reading.level) + Style(bold=True)
        lines.append(Text.assemble((reading.percent, bold), f"   {reading.amount}"))
        fixed = f"system {tokens(usage.system_tokens)} · tools {tokens(usage.tool_definition_tokens)}"
        lines.append(Text(fixed, style=muted))
        lines.append(Text(f"conversation {tokens(usage.conversation_tokens)}", style=muted))
        lines.append(Text(reading.outlook, style=muted))
        cost = told_cost(reading.cost, reading.summary_cost)
        lines.append(Text(f"cost {cost}" if reading.cost is None else cost, style=muted))
        return Text("\n").join(lines)


class MiniGauge(Gauge):
    """The same in one line, for narrow screens."""

    def render(self) -> Text:
        reading = self.reading
        if reading.usage is None:
            return Text("context: nothing sent yet", style=self.style_of("muted"))
        bold = self.style_of(reading.level) + Style(bold=True)
        line = Text.assemble((f"{reading.percent} ", bold), self.bar(20), f" {reading.amount}", no_wrap=True)
        line.append(f" · {reading.outlook}", self.style_of("muted"))
        line.truncate(self.size.width, overflow="ellipsis")
        return line
