"""Which blocks the keys act on: one that is marked, or several from one to another. Knows no screen."""

from collections.abc import Callable, Sequence

from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.layout import TranscriptLayout


class Mark:
    """Goes from block to block; with an anchor, everything between the two is marked."""

    def __init__(self) -> None:
        self.block: Block | None = None
        """Where the keys act."""
        self._anchor: Block | None = None

    def leave(self, block: Block | None = None) -> None:
        """Be nowhere; when a block is named, only if it was marked."""
        if block is None or block is self.block:
            self.block = self._anchor = None
        elif block is self._anchor:
            self._anchor = None

    def start(self, in_view: Sequence[Block]) -> Block | None:
        """The block that is marked; when none is, the last thing in view that was said, else the last note of ours."""
        if self.block is None and in_view:
            self.block = next((block for block in reversed(in_view) if block.kind != "note"), in_view[-1])
        return self.block

    def put(self, block: Block, *, extends: bool = False) -> None:
        """Mark a block; with `extends`, all those between it and where the mark was first."""
        if extends and self._anchor is None:
            self._anchor = self.block
        elif not extends:
            self._anchor = None
        self.block = block

    def step(self, layout: TranscriptLayout, step: int, wanted: Callable[[Block], bool] = lambda _: True) -> int | None:
        """The place of the next such block below, or above (`step` −1); None where there is none."""
        index = layout.index_of(self.block) if self.block is not None else None
        if index is None:
            return None
        places = range(index + step, len(layout.blocks) if step > 0 else -1, step)
        return next((place for place in places if wanted(layout.blocks[place])), None)

    def marked(self, layout: TranscriptLayout) -> Sequence[Block]:
        """Everything that is marked, in the order of reading."""
        if self.block is None or self._anchor is None:
            return [self.block] if self.block is not None else []
        ends = [layout.index_of(block) for block in (self._anchor, self.block)]
        if ends[0] is None or ends[1] is None:
            return [self.block]
        return layout.blocks[min(ends[0], ends[1]) : max(ends[0], ends[1]) + 1]


def toggle_all(layout: TranscriptLayout) -> None:
    """Open everything that is folded, or fold everything when nothing is."""
    foldable = [block for block in layout.blocks if block.is_step]
    fold = not any(block.folded for block in foldable)
    for block in foldable:
        block.folded = fold
    layout.refresh_all(foldable)


def copied_text(blocks: Sequence[Block]) -> str:
    """What a copy of blocks holds: of one its words, of several with who said them."""
    if len(blocks) == 1:
        return blocks[0].whole.strip()
    return "\n\n".join(f"{_speaker(block)}:\n{block.whole.strip()}" for block in blocks)


def _speaker(block: Block) -> str:
    return {"user": "You", "reply": "co-tui", "tool": "Tool"}.get(block.kind, block.kind.capitalize())


def code_in(block: Block) -> list[str]:
    """The code blocks of what was said, without their fences."""
    from co_tui.ui.text.markdown_splitter import code_blocks

    return code_blocks(block.text) if block.kind in ("reply", "user") else []
