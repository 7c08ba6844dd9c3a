"""How full the context is, from `session.usage_info` alone."""

import time
from collections.abc import Iterator
from typing import NamedTuple

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from co_tui.context.marks import Marks
from co_tui.events import UsageInfo
from co_tui.ui.formatting import tokens, told_cost

FULL, EMPTY, MARK, MOVING = "▓", "░", "┆", "◆"
MOVE_S = 0.2
"""How fast the mark of a compaction in the background moves."""
EMPTY_TEXT = "Nothing sent yet."


NEARLY, FULLY = 0.8, 0.95
"""From here on the colours warn, under policies that do not look at the window."""


class GaugeReading(NamedTuple):
    """What the gauge shows; all figures come from events."""

    usage: UsageInfo | None = None
    cost: float | None = None
    """Of turns and summaries; None when nobody published a price."""
    summary_cost: float = 0.0
    tokens_per_turn: float = 0.0
    messages_per_turn: float = 0.0
    turns: int = 0
    """How many are in the context."""
    marks: Marks = Marks(NEARLY, FULLY)
    summarising: int = 0
    """How many messages are being summarised in the background."""

    @property
    def share(self) -> float:
        return self.usage.share if self.usage else 0.0

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
    def level(self) -> str:
        if self.share >= (self.marks.waiting_share or FULLY):
            return "error"
        return "warning" if self.share >= (self.marks.share or NEARLY) else "normal"

    @property
    def outlook(self) -> str:
        """What comes next, and in how many turns at the present pace."""
        if self.summarising:
            return f"summarising {self.summarising} messages in the background"
        if self.share > 1:
            return f"{(self.share - 1) * 100:.0f} % over: the oldest are left out" if self.share >= 1.005 else "full"
        if self.level == "error":
            return f"past {(self.marks.waiting_share or FULLY) * 100:.0f} %: nearly full"
        if self.level == "warning":
            return f"past {(self.marks.share or NEARLY) * 100:.0f} %"
        ahead = sorted(self._ahead(), key=lambda mark: (mark[1] is None, mark[1]))
        if not ahead:
            return "never compacts"
        mark, left = ahead[0]
        return f"compacts {mark}" + ("" if left is None else f", ≈ {left} turns" if left else ", soon")

    def _ahead(self) -> Iterator[tuple[str, int | None]]:
        """Each of the policy's marks in words, with the turns that are left until it; None while there is no pace."""
        usage, marks = self.usage, self.marks
        if usage is None:
            return
        if marks.share is not None:
            room = marks.share * usage.token_limit - usage.current_tokens
            yield f"at {marks.share * 100:.0f} %", _turns(room, self.tokens_per_turn)
        if marks.messages is not None:
            room = marks.messages - usage.messages_count
            yield f"over {marks.messages} messages", _turns(room, self.messages_per_turn)
        if marks.turns is not None:
            yield f"over {marks.turns} turns", _turns(marks.turns - self.turns, 1)


def _turns(room: float, pace: float) -> int | None:
    return max(0, int(room / pace)) if pace > 0 else None


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
