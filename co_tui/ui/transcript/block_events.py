"""Which block tells of an event, and which event a block tells of. Notes of ours tell of none."""

from collections.abc import Sequence

from co_tui.ui.transcript.block import Block


def place_of_event(blocks: Sequence[Block], seq: int) -> int | None:
    """The first block of an event; of one that has none, the last block before it."""
    found: int | None = None
    for place in range(len(blocks) - 1, -1, -1):
        of_block = blocks[place].seq
        if of_block and of_block <= seq:
            if found is not None and of_block < blocks[found].seq:
                break
            found = place
    return found if found is not None else 0 if blocks else None


def event_at(blocks: Sequence[Block], place: int) -> int:
    """The event a block tells of, or the one before it; 0 when there is none."""
    return next((blocks[n].seq for n in range(min(place, len(blocks) - 1), -1, -1) if blocks[n].seq), 0)
