"""Lays a block and its images out as lines at one width."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.strip import Strip

from co_tui.ui.text.text_rendering import LEFT_OUT_MARK, TextRenderer, prose_width
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_lines import BAR, BODIES, MAX_RESULT_CHARS, PROMPT_LINES_LEFT, head_of

if TYPE_CHECKING:
    from co_tui.ui.images.block_image import BlockImage
    from co_tui.ui.text.code_rows import CodeSpan
    from co_tui.ui.text.prose import Prose

INDENT = "  "
MAX_COLUMNS, MAX_ROWS = 60, 16
"""Largest size of an image in the chat."""


class ImageLines:
    """The lines of a block's images: above the title when the block is just an image, else below."""

    def __init__(self, block: Block, renderer: TextRenderer, width: int, rows: int) -> None:
        self.above: list[Strip] = []
        self.below: list[Strip] = []
        self.drawn: set[int] = set()
        """Indexes of the lines that are part of an image."""
        if not renderer.draws_images:
            label = "" if block.hides_images else block.images_label
            self.below = renderer.plain(f"{INDENT}{label}", width, renderer.muted) if label else []
            return
        for image in block.drawn_images:
            lines = self.above if block.is_only_image else self.below
            small = _drawn_small(image, renderer, width - len(INDENT), rows)
            self.drawn.update(range(len(lines), len(lines) + len(small)))
            lines += [Strip([Segment(INDENT), *line]) for line in small]
            caption = image.error if block.is_only_image else image.label
            self.below += renderer.plain(f"{INDENT}{caption}", width, renderer.muted) if caption else []
        if (more := len(block.images) - len(block.drawn_images)) and not block.hides_images:
            caption = f"… {more:,} more image{'s' if more > 1 else ''} (v shows all)"
            self.below += renderer.plain(f"{INDENT}{caption}", width, renderer.muted)


def _drawn_small(image: "BlockImage", renderer: TextRenderer, width: int, rows: int) -> list[Strip]:
    """The image as lines; none while it is not decoded."""
    if image.picture is None:
        return []
    return image.picture.lines(max(1, min(MAX_COLUMNS, width)), rows, renderer.palette.surface)


MAX_REPLY_CHARS = 50_000
"""Most characters drawn of a reply: laying out more delays keystrokes. The pager shows all of it."""


def _warnings(block: Block) -> Iterator[str]:
    if block.interrupted:
        yield "✂ interrupted"
    if block.unsaved:
        yield "⚠ not saved yet"


def _prose(renderer: TextRenderer, width: int) -> "Prose":
    from co_tui.ui.text.prose import Prose  # an empty chat has no Markdown

    return Prose(renderer, width)


class BlockLayout:
    """A block laid out at one width: an empty line unless it is tight, a head, a body and a foot."""

    def __init__(self, block: Block, renderer: TextRenderer, width: int, image_rows: int = MAX_ROWS) -> None:
        images = ImageLines(block, renderer, width, image_rows)
        self._make_head: Callable[[], list[list[Segment]]] = lambda: _segments(
            [*([] if block.tight else [Strip.blank(0)]), *head_of(block, renderer, width), *images.above]
        )
        self._head = self._make_head()
        self._faded = renderer.faded
        self._is_faded = block.is_faded
        self._prose: Prose | None = None
        self._body: list[list[Segment]] = []
        self._fed = 0
        self._left_out: Callable[[int], list[Strip]] = lambda chars: renderer.plain(
            f"… {chars:,} more characters (v shows all)", prose_width(width), renderer.left_out
        )
        self._end = [[Segment(mark, renderer.warning)] for mark in _warnings(block)]
        self._foot: list[list[Segment]] = self._end
        if block.kind == "reply":
            self._prose = _prose(renderer, width)
            self.grow(block.text)
        else:
            self._body = _segments([*BODIES[block.kind](block, renderer, width), *images.below])
        first = len(self._head) - len(images.above) if images.above else self.height - len(images.below)
        self._drawn = frozenset(first + line for line in images.drawn)

    @property
    def can_grow(self) -> bool:
        return self._prose is not None

    def grow(self, text: str) -> None:
        """Append streamed text to a reply; beyond the limit it is only counted."""
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
        """The line that toggles the fold when clicked."""
        return len(self._head)

    @property
    def left_out_line(self) -> int | None:
        """The line that says how much is not shown; None when all is."""
        lines = range(self.height - 1, -1, -1)
        return next((n for n in lines if any(s.style and LEFT_OUT_MARK in s.style.meta for s in self._line(n))), None)

    def words_in(self, index: int) -> "CodeSpan":
        """Where the line's own text is, without margins and bars, and whether the next line continues its last word."""
        from co_tui.ui.text.code_rows import CodeSpan, code_in

        text = self.text_of(index)
        start = len(text) - len(text.lstrip(BAR))
        return code_in(self._line(index)) or CodeSpan(start, max(start, len(text.rstrip())), continues=False)

    def is_drawn(self, index: int) -> bool:
        """Whether the line is part of an image."""
        return index in self._drawn

    def text_of(self, index: int) -> str:
        if index in self._drawn:
            return ""
        return "".join(segment.text for segment in self._line(index))

    def same_line(self, other: "BlockLayout", index: int) -> int:
        """The line with the text that the same block has in a line at another width."""
        above = sum(map(other.letters, range(index)))
        is_blank = not other.letters(index)
        for line in range(self.height):
            letters = self.letters(line)
            if above < letters or (is_blank and not above):
                return line
            above -= letters
        return max(0, self.height - 1)

    def letters(self, index: int) -> int:
        """Letters and digits of a line: unlike blanks, bars and borders, a block has as many at every width."""
        return sum(map(str.isalnum, self.text_of(index)))

    def source(self, index: int) -> tuple[list[Segment], bool]:
        """What the line is drawn from, the same list while it is the same line; and whether it is faded."""
        return self._line(index), self._is_faded and index not in self._drawn

    def line(self, index: int) -> Strip:
        line, is_faded = self.source(index)
        return Strip(self._faded(line) if is_faded else line)

    def show_removal(self, is_faded: bool) -> None:
        """Fade it or not; its lines stay where they are."""
        self._is_faded = is_faded
        self._head = self._make_head()

    def _line(self, index: int) -> list[Segment]:
        if index < len(self._head):
            return self._head[index]
        index -= len(self._head)
        body = len(self._prose) if self._prose is not None else len(self._body)
        if index < body:
            return self._prose[index] if self._prose is not None else self._body[index]
        return self._foot[index - body]


def _segments(strips: list[Strip]) -> list[list[Segment]]:
    """Keep only segments: a strip holds a dozen caches, which slow garbage collection down."""
    return [list(strip) for strip in strips]


def estimated_height(block: Block, width: int) -> int:
    """An estimate for the scroll bar until the block is laid out."""
    if block.kind == "boundary":
        return 1
    if block.folded and block.is_long_prompt:
        return PROMPT_LINES_LEFT + 3
    if block.folded:
        return 1 + block.first_of_reply + (not block.tight)
    text = block.text if block.kind != "tool" else block.text + block.result[:MAX_RESULT_CHARS]
    return text.count("\n") + len(text) // max(1, prose_width(width)) + 3
