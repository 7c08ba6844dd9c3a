"""Selected text of the transcript: highlighting and copying."""

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from co_tui.ui.transcript.block_lines import BAR
from co_tui.ui.transcript.layout import TranscriptLayout


def with_selection(strip: Strip, selection: Selection, row: int, style: Style) -> Strip:
    """A row's strip, with the selected part highlighted."""
    span = selection.get_span(row)
    if span is None:
        return strip
    # Textual counts characters, some of which are two cells wide.
    text, (first, last) = strip.text, span
    start, end = cell_len(text[:first]), strip.cell_length if last == -1 else cell_len(text[:last])
    if start >= end:
        return strip
    # A theme's selection may have a transparent foreground, so only its background is taken.
    background = Style(bgcolor=style.bgcolor)
    chosen = Strip(Segment.apply_style(strip.crop(start, end), post_style=background))
    return Strip.join([strip.crop(0, start), chosen, strip.crop(end)])


def selected_text(layout: TranscriptLayout, selection: Selection) -> str:
    """The selected text as shown, without images, prompt bars and trailing blanks."""
    total = layout.row_count
    first = selection.start.y if selection.start else 0
    last = selection.end.y if selection.end else total - 1
    positions = [layout.position_at(row) for row in range(max(0, first), min(last, total - 1) + 1)]
    lines = [layout.lay_out(position.block).text_of(position.line) if position else "" for position in positions]
    local = Selection(
        Offset(selection.start.x, 0) if selection.start else None,
        Offset(selection.end.x, last - first) if selection.end else None,
    )
    said = zip(positions, local.extract("\n".join(lines)).split("\n"), strict=False)
    texts = (
        text
        for position, text in said
        if position is None or not layout.lay_out(position.block).is_drawn(position.line)
    )
    return "\n".join(text.removeprefix(BAR).rstrip() for text in texts)
