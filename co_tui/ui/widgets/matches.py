"""Finding a text among blocks, and marking it in a line."""

from collections.abc import Sequence

from rich.style import Style
from textual.strip import Strip

from co_tui.ui.widgets.blocks import Block


def find_block(blocks: Sequence[Block], needle: str, start: int, step: int) -> int | None:
    """The next block that holds the text (in small letters), from beside `start` on, around the ends."""
    if not needle:
        return None
    for distance in range(1, len(blocks) + 1):
        index = (start + step * distance) % len(blocks)
        if needle in blocks[index].plain.lower():
            return index
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
