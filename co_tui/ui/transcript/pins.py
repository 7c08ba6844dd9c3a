"""Which blocks belong to messages that are pinned. Knows no screen."""

from collections.abc import Iterable, Set

from co_tui.events import Ref
from co_tui.ui.transcript.block import Block


class Pins:
    """The pinned messages of the session that is shown."""

    def __init__(self) -> None:
        self._refs: Set[Ref] = frozenset()
        self._seqs: Set[int] = frozenset()

    def are(self, refs: Set[Ref]) -> bool:
        """Take others; False when they are the same."""
        if refs == self._refs:
            return False
        self._refs, self._seqs = refs, frozenset(seq for seq, _ in refs)
        return True

    def apply(self, blocks: Iterable[Block]) -> list[Block]:
        """Tell blocks whether they are pinned; returns those for which that is news."""
        changed = [block for block in blocks if block.pinned != self._holds(block)]
        for block in changed:
            block.pinned = not block.pinned
        return changed

    def _holds(self, block: Block) -> bool:
        return block.is_message and not self._seqs.isdisjoint((block.seq, block.result_seq))
