"""Selected text of the transcript: highlighting and copying."""

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

from co_tui.ui.text.code_rows import CodeSpan, as_written, code_in
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
    """The selected text as shown, without images, prompt bars and trailing blanks; code as it was written."""
    total = layout.row_count
    first = selection.start.y if selection.start else 0
    last = selection.end.y if selection.end else total - 1
    lines: list[str] = []
    open_block: int | None = None
    """The block whose code continues in the next row."""
    for row in range(max(0, first), min(last, total - 1) + 1):
        position = layout.position_at(row)
        if position is None or layout.lay_out(position.block).is_drawn(position.line):
            continue
        line, _ = layout.lay_out(position.block).source(position.line)
        code = code_in(line)
        part = _selected_part(line, code, selection.get_span(row))
        if code is not None and open_block == position.block:
            lines[-1] += part
        else:
            lines.append(part)
        open_block = position.block if code is not None and code.continues else None
    return "\n".join(lines)


def _selected_part(line: list[Segment], code: CodeSpan | None, span: tuple[int, int] | None) -> str:
    text = "".join(segment.text for segment in line)
    first, last = span or (0, 0)
    end = len(text) if last == -1 else last
    if code is not None:
        return as_written(line, max(first, code.start), min(end, code.end))
    return text[first:end].removeprefix(BAR).rstrip()
