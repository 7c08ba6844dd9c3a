"""Which fold the keys act on, and folding everything at once."""

from collections.abc import Sequence

from co_tui.ui.widgets.block import Block
from co_tui.ui.widgets.layout import TranscriptLayout


class FoldCursor:
    """Goes from fold to fold."""

    def __init__(self) -> None:
        self.block: Block | None = None

    def leave(self, block: Block | None = None) -> None:
        """Be nowhere; when a block is named, only if the cursor was there."""
        if block is None or block is self.block:
            self.block = None

    def start(self, in_view: Sequence[Block]) -> Block | None:
        """The fold the cursor is at; when it is nowhere, the last one in view."""
        if self.block is None:
            self.block = next((block for block in reversed(in_view) if block.foldable), None)
        return self.block

    def move(self, layout: TranscriptLayout, step: int) -> int | None:
        """To the next fold below, or above (`step` −1); returns the place of its block, None at the end."""
        index = layout.index_of(self.block) if self.block is not None else None
        if index is None:
            return None
        for place in range(index + step, len(layout.blocks) if step > 0 else -1, step):
            if layout.blocks[place].foldable:
                self.block = layout.blocks[place]
                return place
        return None


def toggle_all(layout: TranscriptLayout) -> None:
    """Open everything that is folded, or fold everything when nothing is."""
    foldable = [block for block in layout.blocks if block.foldable]
    fold = not any(block.folded for block in foldable)
    for block in foldable:
        block.folded = fold
    layout.refresh_all(foldable)
