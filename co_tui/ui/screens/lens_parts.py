"""What the lens is made of: its gauge, its list, its tabs, and the keys that do something where one is."""

from typing import Final

from rich.style import Style
from rich.text import Text

from co_tui.ui.widgets.gauge import SEPARATOR, Gauge
from co_tui.ui.widgets.lens_lines import STYLES
from co_tui.ui.widgets.line_list import LineList

LOOKING: Final = "looking at each message …"


class LensGauge(Gauge):
    """The gauge's own figures in two lines, and the conversation by kind."""

    kinds = LOOKING

    def render(self) -> Text:
        reading, muted = self.reading, self.style_of("muted")
        if reading.usage is None:
            return Text("Looking at the next request …", style=muted)
        bold = self.style_of(reading.level) + Style(bold=True)
        figures = Text.assemble((reading.percent, bold), f"   {reading.amount}", no_wrap=True)
        parts, kinds = Text(SEPARATOR, style=muted).join(self._legend()), Text(self.kinds, style=muted, no_wrap=True)
        if figures.cell_len + parts.cell_len + 3 <= self.size.width:
            figures.append("   ").append_text(parts)
        else:
            kinds = parts
        for line in (figures, kinds):
            line.truncate(self.size.width, overflow="ellipsis")
        return Text("\n").join([self.bar(max(4, self.size.width)), figures, kinds])


class LensList(LineList):
    """Lines in the lens's own colours."""

    COMPONENT_CLASSES = {f"lens--{name}" for name in STYLES}
    DEFAULT_CSS = """
    LensList > .lens--muted { color: $muted; }
    LensList > .lens--bar { color: $secondary; }
    LensList > .lens--user { color: $primary; }
    LensList > .lens--smaller { color: $warning; }
    LensList > .lens--going { color: $accent; }
    LensList > .lens--back { color: $secondary; }
    LensList > .lens--pinned { color: $primary; text-style: bold; }
    """

    def style_of(self, name: str) -> Style:
        return self.get_component_rich_style(f"lens--{name}", partial=True)
