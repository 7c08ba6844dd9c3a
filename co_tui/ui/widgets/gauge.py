"""How full the context is, from `session.usage_info` alone."""

import time
from typing import NamedTuple

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from co_tui.events import UsageInfo
from co_tui.ui.figures import money, tokens

FULL, EMPTY, MARK, MOVING = "▓", "░", "┆", "◆"
MOVE_S = 0.2
"""How fast the mark of a compaction in the background moves."""
EMPTY_TEXT = "Nothing sent yet."


class GaugeReading(NamedTuple):
    """What the gauge shows; all figures come from events."""

    usage: UsageInfo | None = None
    cost: float = 0.0
    summary_cost: float = 0.0
    tokens_per_turn: float = 0.0
    background_at: float = 0.8
    blocking_at: float = 0.95
    summarising: int = 0
    """How many messages are being summarised in the background."""

    @property
    def share(self) -> float:
        if self.usage is None or not self.usage.token_limit:
            return 0.0
        return self.usage.current_tokens / self.usage.token_limit

    @property
    def percent(self) -> str:
        return f"{'' if self.is_measured else '~'}{self.share * 100:.0f} %"

    @property
    def is_measured(self) -> bool:
        return self.usage is not None and self.usage.measured == "provider"

    @property
    def amount(self) -> str:
        """`~` marks an estimate, `?` a limit nobody confirmed."""
        if self.usage is None:
            return ""
        about = "" if self.is_measured else "~"
        assumed = "" if self.usage.limit_known else "?"
        return f"{about}{tokens(self.usage.current_tokens)} of {tokens(self.usage.token_limit)}{assumed}"

    @property
    def turns_left(self) -> int | None:
        """Turns until the first mark at the present pace; None while there is no pace."""
        if self.usage is None or self.tokens_per_turn <= 0:
            return None
        room = self.background_at * self.usage.token_limit - self.usage.current_tokens
        return max(0, int(room / self.tokens_per_turn))

    @property
    def level(self) -> str:
        if self.share >= self.blocking_at:
            return "error"
        return "warning" if self.share >= self.background_at else "normal"

    @property
    def outlook(self) -> str:
        if self.summarising:
            return f"summarising {self.summarising} messages in the background"
        mark = f"{self.background_at * 100:.0f} %"
        if self.level == "error":
            return f"past {self.blocking_at * 100:.0f} %: nearly full"
        if self.level == "warning":
            return f"past {mark}"
        left = self.turns_left
        if left is None:
            return f"compacts at {mark}"
        return f"compacts at {mark}, {f'≈ {left} turns' if left else 'soon'}"


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
        marks = {min(width - 1, int(at * width)) for at in (reading.background_at, reading.blocking_at)}
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
        cost = money(reading.cost) if reading.cost else "no price known" if usage.measured == "provider" else ""
        if reading.summary_cost:
            cost += f" · summaries {money(reading.summary_cost)}"
        lines.append(Text(cost, style=muted))
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
