"""Finding a text among blocks, and marking it in a line."""

from rich.style import Style
from textual.strip import Strip

from co_tui.ui.widgets.layout import LinePlace, TranscriptLayout


class Search:
    """What is being searched for, and where it was found last."""

    def __init__(self) -> None:
        self._needle = ""
        self._found: LinePlace | None = None

    @property
    def needle(self) -> str:
        """In small letters; empty while nothing is searched for."""
        return self._needle

    def set_needle(self, text: str) -> None:
        if text.lower() != self._needle:
            self._needle, self._found = text.lower(), None

    def next(self, layout: TranscriptLayout, below: LinePlace, *, back: bool = False) -> LinePlace | None:
        """The next line that holds it, upwards unless told otherwise; the first search begins at `below`."""
        found = find_line(layout, self._needle, self._found or below, 1 if back else -1)
        if found is not None:
            self._found = found
        return found


def find_line(layout: TranscriptLayout, needle: str, start: LinePlace, step: int) -> LinePlace | None:
    """The next line above (`step` −1) or below `start` that holds the text (in small letters), around the ends.

    Blocks that are folded are opened when they hold it.
    """
    count = len(layout.blocks)
    for distance in range(count + 1 if needle else 0):
        index = (start.block + step * distance) % count
        block = layout.blocks[index]
        if needle not in block.plain.lower():
            continue
        if block.folded:
            block.folded = False
            layout.refresh(block)
        lines = layout.lay_out(index).lines_with(needle) or [0]
        if distance == 0:
            lines = [line for line in lines if (line - start.line) * step > 0]
        if lines:
            return LinePlace(index, lines[-1] if step < 0 else lines[0])
    return None


def marked(strip: Strip, needle: str) -> Strip:
    """The strip with every occurrence of the needle reversed."""
    text = strip.text.lower()
    at = text.find(needle)
    if at < 0 or len(text) != strip.cell_length:  # wide characters: cells and characters differ
        return strip.apply_style(Style(reverse=True)) if at >= 0 else strip
    parts, done = [], 0
    while at >= 0:
        parts += [strip.crop(done, at), strip.crop(at, at + len(needle)).apply_style(Style(reverse=True, bold=True))]
        done = at + len(needle)
        at = text.find(needle, done)
    return Strip.join([*parts, strip.crop(done)])
