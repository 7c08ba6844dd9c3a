"""Blocks singled out: marked by the user, pinned, or belonging to an event. Independent of the screen."""

from collections.abc import Callable, Iterable, Sequence, Set
from typing import TYPE_CHECKING

from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.layout import TranscriptLayout

if TYPE_CHECKING:
    from co_tui.events import Ref


class Mark:
    """The marked block that keys act on; with an anchor, the range between the two."""

    def __init__(self) -> None:
        self.block: Block | None = None
        """The block that keys act on."""
        self._anchor: Block | None = None

    def leave(self, block: Block | None = None) -> None:
        """Clear the mark; with a block, only if that one was marked."""
        if block is None or block is self.block:
            self.block = self._anchor = None
        elif block is self._anchor:
            self._anchor = None

    def start(self, in_view: Sequence[Block]) -> Block | None:
        """The marked block; when there is none, mark the last message in view, else the last note."""
        if self.block is None and in_view:
            self.block = next((block for block in reversed(in_view) if block.kind != "note"), in_view[-1])
        return self.block

    def put(self, block: Block, *, extends: bool = False) -> None:
        """Mark a block; with `extends`, the range from the first marked block to it."""
        if extends and self._anchor is None:
            self._anchor = self.block
        elif not extends:
            self._anchor = None
        self.block = block

    def step(self, layout: TranscriptLayout, step: int, wanted: Callable[[Block], bool] = lambda _: True) -> int | None:
        """The index of the next matching block below, or above (`step` −1); None where there is none."""
        index = layout.index_of(self.block) if self.block is not None else None
        if index is None:
            return None
        positions = range(index + step, len(layout.blocks) if step > 0 else -1, step)
        return next((position for position in positions if wanted(layout.blocks[position])), None)

    def marked(self, layout: TranscriptLayout) -> Sequence[Block]:
        """All marked blocks, in reading order."""
        if self.block is None or self._anchor is None:
            return [self.block] if self.block is not None else []
        ends = [layout.index_of(block) for block in (self._anchor, self.block)]
        if ends[0] is None or ends[1] is None:
            return [self.block]
        return layout.blocks[min(ends[0], ends[1]) : max(ends[0], ends[1]) + 1]


def toggle_all(layout: TranscriptLayout) -> None:
    """Unfold all blocks, or fold all when none is folded."""
    foldable = [block for block in layout.blocks if block.is_step]
    fold = not any(block.folded for block in foldable)
    for block in foldable:
        block.folded = fold
    layout.refresh_all(foldable)


def copied_text(blocks: Sequence[Block]) -> str:
    """The text of one block, or of several with their speakers."""
    if len(blocks) == 1:
        return blocks[0].whole.strip()
    return "\n\n".join(f"{_speaker(block)}:\n{block.whole.strip()}" for block in blocks)


def _speaker(block: Block) -> str:
    return block.speaker_name if block.kind in ("user", "reply") else block.kind.capitalize()


def code_in(block: Block) -> list[str]:
    """The code blocks of a message, without their fences."""
    from co_tui.ui.text.markdown_splitter import code_blocks

    return code_blocks(block.text) if block.kind in ("reply", "user") else []


class CodeBlocks:
    """Goes through the code blocks of a message, one at each request."""

    def __init__(self) -> None:
        self._last: tuple[Block, int] | None = None

    def next_of(self, block: Block | None) -> tuple[str, str] | None:
        """The next code block and what to call it; None without one."""
        codes = code_in(block) if block is not None else []
        if block is None or not codes:
            return None
        last = self._last[1] if self._last is not None and self._last[0] is block else -1
        number = (last + 1) % len(codes)
        self._last = (block, number)
        return codes[number], f"code block {number + 1} of {len(codes)}" if len(codes) > 1 else "code block"


class Pins:
    """The pinned messages of the session shown."""

    def __init__(self) -> None:
        self._refs: Set[Ref] = frozenset()
        self._seqs: Set[int] = frozenset()

    def are(self, refs: "Set[Ref]") -> bool:
        """Replace the pins; False when they are the same."""
        if refs == self._refs:
            return False
        self._refs, self._seqs = refs, frozenset(seq for seq, _ in refs)
        return True

    def apply(self, blocks: Iterable[Block]) -> list[Block]:
        """Set `pinned` on blocks; returns those that changed."""
        changed = [block for block in blocks if block.pinned != self._holds(block)]
        for block in changed:
            block.pinned = not block.pinned
        return changed

    def _holds(self, block: Block) -> bool:
        return block.is_message and not self._seqs.isdisjoint((block.seq, block.result_seq))


def index_of_event(blocks: Sequence[Block], seq: int) -> int | None:
    """Index of the first block of an event, else of the last block before it."""
    found: int | None = None
    for position in range(len(blocks) - 1, -1, -1):
        of_block = blocks[position].seq
        if of_block and of_block <= seq:
            if found is not None and of_block < blocks[found].seq:
                break
            found = position
    return found if found is not None else 0 if blocks else None


def event_at(blocks: Sequence[Block], position: int) -> int:
    """The seq of the event a block shows, else of the one before it; 0 when there is none."""
    return next((blocks[n].seq for n in range(min(position, len(blocks) - 1), -1, -1) if blocks[n].seq), 0)


def opens_turn(blocks: Sequence[Block], index: int) -> bool:
    """Whether a block is the first of its turn."""
    block = blocks[index]
    before = next((blocks[n].turn for n in range(index - 1, -1, -1) if blocks[n].turn), 0)
    return bool(block.seq and block.turn) and block.turn != before
