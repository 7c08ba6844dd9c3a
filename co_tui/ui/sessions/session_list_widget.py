"""A list of sessions of any length: only visible lines are drawn."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from co_tui.inert import one_line
from co_tui.store.search.session_filter import filter_spans
from co_tui.store.stored_values import SessionRow
from co_tui.ui.sessions.session_listing import SessionLine

TITLE_CHARS = 300
NARROW = 46
"""In fewer columns the number of messages is left out."""
FULL, BRIM_FULL = 0.8, 0.95
"""Shares of the window from which a session is shown as nearly full, and as full."""
NEAR_END_LINES = 30
OWNER_CHARS = 16
UNTITLED = "(no prompt yet)"


class ListMarkers(NamedTuple):
    """What is highlighted in the lines."""

    typed: str = ""
    """Its words are highlighted in the titles."""
    present: str = ""
    """The session in the chat."""


class SessionList(ScrollView, can_focus=False):
    """The filter keeps the focus: keys move the highlight with `move`."""

    DEFAULT_CSS = """
    SessionList { height: 1fr; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden; }
    SessionList > .session-list--heading { color: $muted; text-style: bold; }
    SessionList > .session-list--figures { color: $muted; }
    SessionList > .session-list--nearly-full { color: $warning; }
    SessionList > .session-list--brim-full { color: $error; }
    SessionList > .session-list--match { color: $warning; text-style: bold underline; }
    SessionList > .session-list--cursor { background: $panel; text-style: bold; }
    SessionList > .session-list--sign { color: $primary; text-style: bold; }
    """
    COMPONENT_CLASSES = {
        f"session-list--{part}"
        for part in ("heading", "figures", "nearly-full", "brim-full", "match", "cursor", "sign")
    }

    highlighted: reactive[int | None] = reactive(None)

    class Highlighted(Message):
        """Another session is highlighted, or none."""

        def __init__(self, row: SessionRow | None) -> None:
            super().__init__()
            self.row = row

    class Chosen(Message):
        """The highlighted session was clicked."""

    class NearEnd(Message):
        """The last loaded lines, or the gap from above, come near: there may be more to load."""

    class NearGap(Message):
        """The gap comes near from below."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[SessionLine] = ()
        self._markers = ListMarkers()
        self._gap: int | None = None
        """The line in place of sessions that are not loaded yet."""
        self._strips: dict[tuple[int, bool, int], Strip] = {}
        """Rendered strips by line, whether it is highlighted, and width."""
        self._styles: dict[str, Style] = {}

    @property
    def row(self) -> SessionRow | None:
        """The highlighted session."""
        at = self.highlighted
        return self._lines[at].row if at is not None and at < len(self._lines) else None

    def show(self, lines: Sequence[SessionLine], markers: ListMarkers, keep: str = "") -> None:
        """Replace the lines; highlights the session with the id `keep` if it is among them, else the first."""
        above = self.highlighted - self.scroll_offset.y if self.highlighted is not None else 0
        self._lines, self._markers = lines, markers
        self._gap = next((place for place, line in enumerate(lines) if line.is_gap), None)
        self._strips.clear()
        self.virtual_size = Size(0, len(lines))
        places = {line.row.id: place for place, line in reversed(list(enumerate(lines))) if line.row is not None}
        place = places.get(keep, min(places.values(), default=None))
        if place == self.highlighted:
            self.post_message(self.Highlighted(self.row))
        self.highlighted = place
        self.refresh()
        if keep in places:
            self.scroll_to(y=places[keep] - above, animate=False, immediate=True)
        self._see_highlighted()

    def move(self, step: int) -> None:
        """Move the highlight by this many sessions; headings are skipped."""
        sessions = [place for place, line in enumerate(self._lines) if line.row is not None]
        if not sessions:
            return
        at = sessions.index(self.highlighted) if self.highlighted in sessions else 0
        self.highlighted = sessions[max(0, min(len(sessions) - 1, at + step))]
        self._see_highlighted()

    def watch_highlighted(self) -> None:
        self.post_message(self.Highlighted(self.row))
        self.refresh()

    def _see_highlighted(self) -> None:
        if self.highlighted is None:
            self.scroll_to(y=0, animate=False)
            return
        above = 1 if self.highlighted and not self._lines[self.highlighted - 1].row else 0
        self.scroll_to_region(
            Region(0, self.highlighted - above, 1, 1 + above), animate=False, force=True, immediate=True
        )
        self._report_near_end()

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        self._report_near_end()

    def _report_near_end(self) -> None:
        top, end = self.scroll_offset.y, len(self._lines) if self._gap is None else self._gap
        if self._lines and top < end < top + self.size.height + NEAR_END_LINES:
            self.post_message(self.NearEnd())
        elif self._gap is not None and self._gap <= top < self._gap + NEAR_END_LINES:
            self.post_message(self.NearGap())

    def on_click(self, event: events.Click) -> None:
        """The first click highlights, the next one opens."""
        place = event.get_content_offset_capture(self).y + self.scroll_offset.y
        if not 0 <= place < len(self._lines) or self._lines[place].row is None:
            return
        if place == self.highlighted:
            self.post_message(self.Chosen())
        self.highlighted = place

    # Rendering

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
        self._styles.clear()

    def render_line(self, y: int) -> Strip:
        place, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if place >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        drawn = (place, place == self.highlighted, width)
        if drawn not in self._strips:
            self._strips[drawn] = self._drawn(self._lines[place], width, highlighted=drawn[1])
        return self._strips[drawn]

    def _drawn(self, line: SessionLine, width: int, *, highlighted: bool) -> Strip:
        base = self.rich_style
        text = self._heading(line.heading) if line.row is None else self._session(line.row, line.when, width)
        if highlighted:
            base += self._style("cursor")
            text = Text.assemble(("▌", self._style("sign")), text[1:])
        segments = list(text.render(self.app.console))
        return Strip(segments).adjust_cell_length(width).apply_style(base)

    def _style(self, part: str) -> Style:
        if part not in self._styles:
            self._styles[part] = self.get_component_rich_style(f"session-list--{part}", partial=True)
        return self._styles[part]

    def _heading(self, words: str) -> Text:
        return Text.assemble((f" {words}", self._style("heading")), no_wrap=True)

    def _session(self, row: SessionRow, when: str, width: int) -> Text:
        share = f"{row.share * 100:.0f} %" if row.share is not None else "–"
        messages = f"  {row.messages:>4,} msg" if width >= NARROW else ""
        muted = self._style("figures")
        figures = Text.assemble(
            (f" {when:>8} ", muted), (f"{share:>6}", self._fullness(row.share)), (f"{messages} ", muted)
        )
        text = Text("  ", no_wrap=True)
        if row.id == self._markers.present:
            text.append("● ", self._style("sign"))
        if row.pinned:
            text.append("★ ", self._style("sign"))
        title = one_line(row.title, TITLE_CHARS) or UNTITLED
        if row.owner:
            text.append(f"{one_line(row.owner, OWNER_CHARS)}: ", self._style("sign"))
        text.append_text(self._marked(title))
        text.truncate(max(8, width - figures.cell_len), overflow="ellipsis", pad=True)
        return text.append_text(figures)

    def _fullness(self, share: float | None) -> Style:
        """The style of a share, in the gauge's colours."""
        if share is None or share < FULL:
            return self._style("figures")
        return self._style("nearly-full" if share < BRIM_FULL else "brim-full")

    def _marked(self, title: str) -> Text:
        text = Text(title)
        for start, end in filter_spans(self._markers.typed, title):
            text.stylize(self._style("match"), start, end)
        return text
