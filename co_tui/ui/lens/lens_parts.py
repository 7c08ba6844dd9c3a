"""The parts of the lens: its gauge, its list, and the keys that apply to a tab."""

from datetime import datetime
from typing import Final

from rich.style import Style
from rich.text import Text

from co_tui.events.wording import local_time
from co_tui.session.lens.request_rows import Lens, LensMessage
from co_tui.ui.formatting import counted, tokens
from co_tui.ui.gauge.gauge_widget import SEPARATOR, Gauge
from co_tui.ui.lens.lens_lines import STYLES
from co_tui.ui.sessions.session_listing import short_time
from co_tui.ui.widgets.key_hints import KeyHint
from co_tui.ui.widgets.line_list import LineList

LOOKING: Final = "reading messages …"
POLICIES_HELP: Final = "Tokens under each policy · messages shortened, summarised, left out · tokens after that."


def keys_for(
    tab: str, chosen: LensMessage | None, can_change: bool, has_lines: bool, as_if: str
) -> tuple[KeyHint, ...]:
    """The keys for the chosen line of a tab; `as_if` names a policy that is not in force."""
    back = ("esc", "back to your policy" if as_if else "back")
    if tab == "policies":
        return ("enter", "inspect"), ("m", "by model"), ("tab", "removed"), back
    opening = (("space", "open"),) if has_lines else ()
    if tab == "left":
        return *opening, ("tab", "the request"), back
    return *opening, *(_changes(chosen) if can_change else ()), ("tab", "compare policies"), back


def _changes(chosen: LensMessage | None) -> tuple[KeyHint, ...]:
    """Only messages of the conversation can be pinned or compacted up to."""
    if chosen is None or chosen.ref is None:
        return ()
    return ("p", "unpin" if chosen.is_pinned else "pin"), ("s", "compact up to here")


def left_summary(lens: Lens) -> str:
    """How many messages left since when, and where they are."""
    since = lens.left_since
    when = f"since you last looked, {_time_text(since.at)}" if since.at else "since the session started"
    if not lens.left:
        return f"Nothing was removed {when}."
    shortened, total = len(lens.left) - lens.gone_count, tokens(sum(each.tokens for each in lens.left))
    removed = f"{counted(lens.gone_count, 'message')}{f', {shortened:,} shortened' if shortened else ''}"
    return f"Removed {when}: {removed}, ~{total} tokens. Nothing is lost: Space opens the original."


def _time_text(timestamp: str) -> str:
    return short_time(local_time(timestamp), datetime.now().astimezone().date())


class LensGauge(Gauge):
    """The gauge in two lines, and the conversation's tokens by kind."""

    kinds = LOOKING

    def render(self) -> Text:
        reading, muted = self.reading, self.style_of("muted")
        if reading.usage is None:
            return Text("Reading the next request …", style=muted)
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
    LensList > .lens--system-bar { color: $accent; }
    LensList > .lens--tools-bar { color: $primary; }
    LensList > .lens--user { color: $primary; }
    LensList > .lens--smaller { color: $warning; }
    LensList > .lens--going { color: $accent; }
    LensList > .lens--back { color: $secondary; }
    LensList > .lens--pinned { color: $primary; text-style: bold; }
    """

    def style_of(self, name: str) -> Style:
        return self.get_component_rich_style(f"lens--{name}", partial=True)
