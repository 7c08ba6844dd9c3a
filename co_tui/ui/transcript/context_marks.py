"""Sets apart what the model no longer sees: which blocks, and the line below the last of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.session.state.removals import (
    DOES_NOT_FIT,
    NOTHING_REMOVED,
    OutOfContext,
    Removal,
    RemovedGroup,
    is_same_context,
)
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.transcript_view import TranscriptView

if TYPE_CHECKING:
    from co_tui.session.state.session_state import SessionState

BETWEEN_ITEMS = " · "
_SYMBOLS = {"summarised": COMPACTED_SYMBOL, "cleared": "⌫", "rewound": "↶"}
_OTHER_SYMBOL = "✂"


class Boundary(NamedTuple):
    """A line that belongs below a block."""

    below: Block
    line: Block


class ContextMarks:
    """What is out of the context of the session shown."""

    def __init__(self) -> None:
        self.state: SessionState | None = None
        """The one followed last; an empty chat is painted without."""
        self._out = NOTHING_REMOVED
        self._lines: dict[int, Block] = {}
        """The boundary lines by the event that removed the messages above."""

    def use(self, out: OutOfContext) -> None:
        """Mark blocks by this from now on."""
        self._out = out
        wording = {group.removal.seq: boundary_text(group) for group in out.groups}
        self._lines = {seq: self._line(seq, text) for seq, text in wording.items()}

    def _line(self, seq: int, text: str) -> Block:
        """The line shown already if it says the same."""
        line = self._lines.get(seq)
        return line if line is not None and line.text == text else Block("boundary", text, tight=True, opens=seq)

    def apply(self, blocks: Sequence[Block], following: Iterable[Block] = ()) -> list[Block]:
        """Mark blocks, of which those `following` are shown already; returns those that changed."""
        changed = [block for block in blocks if self._is_changed(block)]
        return [*changed, *_fade_between(blocks, next((each.removal for each in following if each.is_message), None))]

    def _is_changed(self, block: Block) -> bool:
        if block.kind == "compaction":
            changed = block.undone != (block.seq in self._out.undone)
            block.undone ^= changed
            return changed
        if not block.is_message:
            return False
        marks = self._out.removals.get(block.seq), block.kind == "user" and block.seq in self._out.quoted
        changed = (block.removal, block.quoted) != marks
        block.removal, block.quoted = marks
        return changed

    def boundaries(self, blocks: Sequence[Block]) -> Iterator[Boundary]:
        """The lines to show among these blocks, from the bottom up."""
        missing = dict(self._lines)
        for block in reversed(blocks):
            if not missing:
                return
            if block.removal is not None and (line := missing.pop(block.removal.seq, None)) is not None:
                yield Boundary(block, line)

    @property
    def compactions(self) -> int:
        """How many compactions are in force."""
        return self._out.compactions

    def follow(self, view: TranscriptView, state: "SessionState") -> None:
        """Show what is out of the context now; costs nothing unless the history was rewritten."""
        from co_tui.session.state.session_state import SessionState

        before, self.state = self.state or SessionState(), state
        if not is_same_context(state, before):
            from co_tui.session.state.out_of_context import out_of_context

            self.use(out_of_context(state))
            self._show_in(view)

    def _show_in(self, view: TranscriptView) -> None:
        """Draw again what changed."""
        changed = self.apply(view.blocks)
        view.layout_of_blocks.show_removals(block for block in changed if block.kind != "compaction")
        for block in changed:
            if block.kind == "compaction":
                view.changed(block)
        wanted = [each for each in self.boundaries(view.blocks) if not _is_placed(view, each)]
        moved = {each.line for each in wanted}
        for block in [each for each in view.blocks if each.kind == "boundary"]:
            if block in moved or self._lines.get(block.opens) is not block:
                view.drop(block)
        for each in wanted:
            view.insert_below(each.below, each.line)
        view.refresh()

    def with_boundaries(self, blocks: Sequence[Block], following: Sequence[Block] = ()) -> list[Block]:
        """Blocks that were not shown yet, with the lines between them that those `following` do not have."""
        shown = {block for block in following if block.kind == "boundary"}
        below = {each.below: each.line for each in self.boundaries(blocks) if each.line not in shown}
        return [each for block in blocks for each in (block, below.get(block)) if each is not None]


def _fade_between(blocks: Sequence[Block], below: Removal | None) -> Iterator[Block]:
    """Mark notes and plans as the message above them if the one below is removed, too; yields those that changed."""
    waiting: list[Block] = []
    for block in reversed(blocks):
        if block.is_aside:
            waiting.append(block)
        elif block.is_message:
            yield from _marked(waiting, block.removal if below is not None else None)
            waiting, below = [], block.removal
    yield from _marked([block for block in waiting if block.seq], below)  # what is above them is not shown


def _marked(blocks: Iterable[Block], removal: Removal | None) -> Iterator[Block]:
    for block in blocks:
        if block.removal != removal:
            block.removal = removal
            yield block


def _is_placed(view: TranscriptView, boundary: Boundary) -> bool:
    """Whether a line is shown where it belongs."""
    index = view.layout_of_blocks.index_of(boundary.below)
    return index is not None and view.blocks[index + 1 : index + 2] == [boundary.line]


def boundary_text(group: RemovedGroup) -> str:
    """How many messages are gone, why, and how to get them back; the most important first."""
    reason, count = group.removal.reason, group.messages
    one = count == 1
    messages = f"{count:,} message{'' if one else 's'} above"
    is_gone = f"{'does' if one else 'do'} not fit" if reason == DOES_NOT_FIT else f"{'is' if one else 'are'} {reason}"
    if not reason:
        is_gone = f"{'is' if one else 'are'} not in context"
    opens = "Enter opens" if group.removal.seq else ""
    first = f"{_SYMBOLS.get(reason, _OTHER_SYMBOL)} {messages} {is_gone}"
    return BETWEEN_ITEMS.join(filter(None, (first, opens, _restore_hint(group))))


def _restore_hint(group: RemovedGroup) -> str:
    if group.removal.reason == DOES_NOT_FIT:
        return "/compact summarises them"
    if group.undoable < group.messages:
        return f"/undo brings back {group.undoable:,}" if group.undoable else ""
    return f"/undo brings {'it' if group.messages == 1 else 'them'} back"
