"""A block laid out: its lines at one width."""

from collections.abc import Callable, Iterator

from rich.segment import Segment
from textual.strip import Strip

from co_tui.ui.text.find_in_text import in_small_letters
from co_tui.ui.text.prose import Prose
from co_tui.ui.text.text_rendering import Look, prose_width
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_lines import BODIES, MAX_RESULT_CHARS, PROMPT_LINES_LEFT, head_of
from co_tui.ui.transcript.image_lines import MOST_ROWS, ImageLines

MAX_REPLY_CHARS = 50_000
"""So much of a reply is drawn: laying out more would be felt in the keys. The pager shows all of it."""


def _marks(block: Block) -> Iterator[str]:
    if block.interrupted:
        yield "✂ interrupted"
    if block.unsaved:
        yield "⚠ not saved yet"


class Laid:
    """A block laid out at one width: an empty line unless it stands tight, a head, a body and a foot."""

    def __init__(self, block: Block, look: Look, width: int, image_rows: int = MOST_ROWS) -> None:
        gap = [] if block.tight else [Strip.blank(0)]
        images = ImageLines(block, look, width, image_rows)
        self._head = _segments([*gap, *head_of(block, look, width), *images.above])
        self._prose: Prose | None = None
        self._body: list[list[Segment]] = []
        self._fed = 0
        self._left_out: Callable[[int], list[Strip]] = lambda chars: look.plain(
            f"… {chars:,} more characters: v in the chat shows them all", prose_width(width), look.muted
        )
        self._end = [[Segment(mark, look.warning)] for mark in _marks(block)]
        self._foot: list[list[Segment]] = self._end
        if block.kind == "reply":
            self._prose = Prose(look, width)
            self.grow(block.text)
        else:
            self._body = _segments([*BODIES[block.kind](block, look, width), *images.below])
        first = len(self._head) - len(images.above) if images.above else self.height - len(images.below)
        self._drawn = frozenset(first + line for line in images.drawn)

    @property
    def can_grow(self) -> bool:
        return self._prose is not None

    def grow(self, text: str) -> None:
        """Add to a reply that is being streamed; beyond what is drawn of it, only counted."""
        assert self._prose is not None
        room = MAX_REPLY_CHARS - self._fed
        self._fed += len(text)
        if room > 0:
            self._prose.feed(text[:room])
        over = self._fed - MAX_REPLY_CHARS
        self._foot = [*(_segments(self._left_out(over)) if over > 0 else ()), *self._end]

    @property
    def height(self) -> int:
        body = len(self._prose) if self._prose is not None else len(self._body)
        return len(self._head) + body + len(self._foot)

    @property
    def title_line(self) -> int:
        """The line a fold is opened and closed on."""
        return len(self._head)

    def lines_with(self, needle: str) -> list[int]:
        """The lines that hold the text (in small letters)."""
        return [n for n in range(self.height) if needle in in_small_letters(self.text_of(n))]

    def is_drawn(self, index: int) -> bool:
        """Whether the line shows a piece of an image, and no text."""
        return index in self._drawn

    def text_of(self, index: int) -> str:
        if index in self._drawn:
            return ""
        return "".join(segment.text for segment in self._line(index))

    def line(self, index: int) -> Strip:
        return Strip(self._line(index))

    def _line(self, index: int) -> list[Segment]:
        if index < len(self._head):
            return self._head[index]
        index -= len(self._head)
        body = len(self._prose) if self._prose is not None else len(self._body)
        if index < body:
            return self._prose[index] if self._prose is not None else self._body[index]
        return self._foot[index - body]


def _segments(strips: list[Strip]) -> list[list[Segment]]:
    """A strip holds a dozen caches, which garbage collections would go through; its segments are enough."""
    return [list(strip) for strip in strips]


def estimated_height(block: Block, width: int) -> int:
    """A guess until the block is laid out; only the scroll bar sees it."""
    if block.folded and block.is_long_prompt:
        return PROMPT_LINES_LEFT + 3
    if block.folded:
        return 1 + block.first_of_reply + (not block.tight)
    text = block.text if block.kind != "tool" else block.text + block.result[:MAX_RESULT_CHARS]
    return text.count("\n") + len(text) // max(1, prose_width(width)) + 3
