"""The images of a block as lines: each in small, with a line that tells what it is."""

from rich.segment import Segment
from textual.strip import Strip

from co_tui.ui.images.block_image import BlockImage
from co_tui.ui.text.text_rendering import Look
from co_tui.ui.transcript.block import Block

INDENT = "  "
MOST_COLUMNS, MOST_ROWS = 60, 16
"""In the chat; opened, an image is as large as the screen."""


class ImageLines:
    """The lines of a block's images: of one that is all there is, above the line that tells of it, others below."""

    def __init__(self, block: Block, look: Look, width: int, rows: int) -> None:
        self.above: list[Strip] = []
        self.below: list[Strip] = []
        self.drawn: set[int] = set()
        """Which of them are no text, from the first one on."""
        if not look.draws_images:
            label = "" if block.hides_images else block.images_label
            self.below = look.plain(f"{INDENT}{label}", width, look.muted) if label else []
            return
        for image in block.drawn_images:
            lines = self.above if block.is_only_image else self.below
            small = _drawn_small(image, look, width - len(INDENT), rows)
            self.drawn.update(range(len(lines), len(lines) + len(small)))
            lines += [Strip([Segment(INDENT), *line]) for line in small]
            told = image.trouble if block.is_only_image else image.told
            self.below += look.plain(f"{INDENT}{told}", width, look.muted) if told else []
        if (more := len(block.images) - len(block.drawn_images)) and not block.hides_images:
            told = f"… {more:,} more image{'s' if more > 1 else ''}: v in the chat shows all of them"
            self.below += look.plain(f"{INDENT}{told}", width, look.muted)


def _drawn_small(image: BlockImage, look: Look, width: int, rows: int) -> list[Strip]:
    """Nothing as long as it is not unpacked."""
    if image.picture is None:
        return []
    return image.picture.lines(max(1, min(MOST_COLUMNS, width)), rows, look.palette.surface)
