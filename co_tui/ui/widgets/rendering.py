"""From blocks to lines on the screen, by way of Rich."""

import io
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme
from textual.strip import Strip

from co_tui.ui.widgets.blocks import Block
from co_tui.ui.widgets.markdown_splitter import LONGEST_CODE_LINE_CHARS, LONGEST_PARAGRAPH_CHARS, Cutter, MarkdownPiece

BAR = "▌ "
INDENT = "  "
CODE_MARGIN = 2
"""Cells beside a code block."""
MAX_RESULT_CHARS = 20_000
"""An opened tool result, or a prompt, shows this much; the log keeps all of it."""
MAX_REPLY_CHARS = 120_000
"""So much of a reply is drawn: laying out more would hold the keys up for over a second."""


class Palette(NamedTuple):
    """The colours of a theme, as the transcript uses them."""

    text: str
    muted: str
    accent: str
    reply: str
    warning: str
    error: str
    surface: str
    code_theme: str


class Look:
    """How things are drawn under one theme."""

    def __init__(self, palette: Palette, *, rich: bool = True) -> None:
        """Without `rich`, Markdown shows as it is written: its renderer takes longer to import than a paint."""
        self.palette = palette
        self.rich = rich
        self.muted = Style.parse(palette.muted)
        self.you = Style.parse(f"bold {palette.accent}")
        self.me = Style.parse(f"bold {palette.reply}")
        self.error = Style.parse(palette.error)
        self.warning = Style.parse(palette.warning)

    @cached_property
    def console(self) -> Console:
        palette = self.palette
        theme = Theme(
            {
                "markdown.h1": f"bold underline {palette.accent}",
                "markdown.h2": f"bold {palette.accent}",
                "markdown.h3": "bold",
                "markdown.h4": "italic bold",
                "markdown.code": f"{palette.warning} on {palette.surface}",
                "markdown.code_block": palette.text,
                "markdown.block_quote": palette.muted,
                "markdown.list": palette.text,
                "markdown.item.bullet": f"bold {palette.accent}",
                "markdown.item.number": f"bold {palette.accent}",
                "markdown.hr": palette.muted,
                "markdown.link": f"underline {palette.accent}",
                "markdown.link_url": palette.muted,
                "markdown.table.border": palette.muted,
                "markdown.table.header": "bold",
            }
        )
        return Console(
            file=io.StringIO(), theme=theme, color_system="truecolor", force_terminal=True, legacy_windows=False
        )

    def lines(self, renderable: RenderableType, width: int) -> list[Strip]:
        options: ConsoleOptions = self.console.options.update(width=max(1, width), height=None, max_width=max(1, width))
        rendered = self.console.render_lines(renderable, options, pad=False)
        return [Strip(line) for line in rendered]

    def prose(self, text: str, width: int) -> list[Strip]:
        """Markdown that is no code block."""
        if not self.rich:
            return _trimmed(self.plain(text, width))
        from co_tui.ui.widgets.markdown import ChatMarkdown

        try:
            return _trimmed(self.lines(ChatMarkdown(text), width))
        except Exception:  # whatever a model writes, a screen that cannot show it nicely still shows it
            return _trimmed(self.plain(text, width))

    def code(self, text: str, language: str, width: int) -> list[Strip]:
        if not self.rich:
            return self.plain(text.rstrip("\n"), width)
        from co_tui.ui.widgets.code import highlighted

        return highlighted(text, language, width, self.palette.code_theme, self.palette.surface)

    def piece(self, piece: MarkdownPiece, width: int) -> list[Strip]:
        if piece.language is not None:
            return self.code(piece.text, piece.language, width)
        return self.prose(piece.text, width)

    def plain(self, text: str, width: int, style: Style | None = None) -> list[Strip]:
        return self.lines(Text(text.expandtabs(4), style=style or "", overflow="fold"), width)


class Prose:
    """Markdown as lines, at one width; grows at its end without rendering the rest again."""

    def __init__(self, look: Look, width: int) -> None:
        self._look = look
        self._width = width
        # A long line of code is cut where it is wrapped.
        inner = max(1, width - CODE_MARGIN)
        self._cutter = Cutter(max(1, LONGEST_CODE_LINE_CHARS // inner) * inner)
        self._final: list[Strip] = []
        self._tail: list[Strip] = []

    def feed(self, text: str) -> None:
        for piece in self._cutter.feed(text):
            self._add(self._final, self._look.piece(piece, self._width), piece)
        tail = self._cutter.tail
        self._tail = []
        if tail is None:
            return
        lines = self._look.piece(tail, self._width)
        if tail.language is None and len(tail.text) > LONGEST_PARAGRAPH_CHARS and len(lines) > 3:
            self._freeze_all_but_last(lines)
            tail = self._cutter.tail
            lines = self._look.piece(tail, self._width) if tail else []
        if tail is not None:
            self._add(self._tail, lines, tail)

    def _freeze_all_but_last(self, lines: list[Strip]) -> None:
        """Keep the full lines of a very long paragraph as they are; only its last line can still change."""
        last = lines[-1].text.strip()
        at = self._cutter.rest.rfind(last) if last else -1
        if at <= 0:
            at = self._cutter.rest.rfind(" ", 0, LONGEST_PARAGRAPH_CHARS) + 1 or LONGEST_PARAGRAPH_CHARS
        piece = self._cutter.split_tail(at)
        self._add(self._final, self._look.piece(piece, self._width), piece)

    def _add(self, lines: list[Strip], more: list[Strip], piece: MarkdownPiece) -> None:
        if not piece.joined and (self._final or lines) and more:
            lines.append(Strip.blank(0))
        lines.extend(more)

    def __len__(self) -> int:
        return len(self._final) + len(self._tail)

    def __getitem__(self, index: int) -> Strip:
        count = len(self._final)
        return self._final[index] if index < count else self._tail[index - count]


class Laid:
    """A block laid out at one width: an empty line unless it stands tight, a head, a body and a foot."""

    def __init__(self, block: Block, look: Look, width: int) -> None:
        gap = [] if block.tight else [Strip.blank(0)]
        self._head = [*gap, *head_of(block, look, width)]
        self._prose: Prose | None = None
        self._body: list[Strip] = []
        self._fed = 0
        self._left_out: Callable[[int], list[Strip]] = lambda chars: look.plain(
            f"… {chars:,} more characters are in the log; `co-tui show` prints them", width, look.muted
        )
        self._foot: list[Strip] = []
        self._end = [Strip([Segment("✂ interrupted", look.warning)])] if block.interrupted else []
        if block.kind == "reply":
            self._prose = Prose(look, width)
            self.grow(block.text)
        else:
            self._body = _BODIES[block.kind](block, look, width)
            self._foot = self._end

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
        self._foot = [*(self._left_out(over) if over > 0 else ()), *self._end]

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
        return [n for n in range(self.height) if needle in self.line(n).text.lower()]

    def line(self, index: int) -> Strip:
        if index < len(self._head):
            return self._head[index]
        index -= len(self._head)
        body = len(self._prose) if self._prose is not None else len(self._body)
        if index < body:
            return self._prose[index] if self._prose is not None else self._body[index]
        return self._foot[index - body]


def estimated_height(block: Block, width: int) -> int:
    """A guess until the block is laid out; only the scroll bar sees it."""
    if block.folded:
        return 1 + block.first_of_reply + (not block.tight)
    text = block.text if block.kind != "tool" else block.text + block.result[:MAX_RESULT_CHARS]
    return text.count("\n") + len(text) // max(1, width) + 3


def head_of(block: Block, look: Look, width: int) -> list[Strip]:
    """Who speaks, and when."""
    if block.kind == "user":
        right = block.status or block.time
        return [_spread(Segment("You", look.you), Segment(right, look.muted), width)]
    if block.first_of_reply:
        return [_spread(Segment("co-tui", look.me), Segment(block.time, look.muted), width)]
    return []


def _spread(left: Segment, right: Segment, width: int) -> Strip:
    gap = max(1, width - cell_len(left.text) - cell_len(right.text))
    return Strip([left, Segment(" " * gap), right])


def _user(block: Block, look: Look, width: int) -> list[Strip]:
    bar = Segment(BAR, look.you)
    lines = [_prefixed(bar, line) for line in look.plain(block.text[:MAX_RESULT_CHARS], width - len(BAR))]
    if len(block.text) > MAX_RESULT_CHARS:
        more = f"… {len(block.text) - MAX_RESULT_CHARS:,} more characters were sent and are in the log"
        lines += [_prefixed(bar, line) for line in look.plain(more, width - len(BAR), look.muted)]
    return lines


def _foldable(block: Block, look: Look, width: int) -> list[Strip]:
    sign = "▸" if block.folded else "▾"
    name = block.tool_name if block.kind == "tool" else "thinking"
    status = block.status
    room = max(8, width - cell_len(name) - cell_len(status) - 8)
    gist = Text(block.gist if block.folded else "", overflow="ellipsis", no_wrap=True)
    gist.truncate(room, overflow="ellipsis")
    style = look.error if status == "failed" else look.muted
    left = Text.assemble((f"{sign} ", look.muted), (name, Style(bold=True)), "  ", (gist.plain, look.muted))
    gap = max(2, width - left.cell_len - cell_len(status))
    title = Text.assemble(left, " " * gap, (status, style))
    title.truncate(width, overflow="ellipsis")
    lines = look.lines(title, width)[:1]
    if not block.folded:
        inner = width - len(INDENT)
        body: list[Strip] = []
        if block.kind == "tool":
            body += look.plain(block.text, inner, look.muted)
            if block.result:
                shown = block.result[:MAX_RESULT_CHARS]
                body += look.plain(shown, inner)
                if len(shown) < len(block.result):
                    more = f"… {len(block.result) - len(shown):,} more characters are in the log"
                    body += look.plain(more, inner, look.muted)
        else:
            body = look.plain(block.text, inner, look.muted)
        lines += [_prefixed(Segment(INDENT), line) for line in body]
    return lines


def _note(block: Block, look: Look, width: int) -> list[Strip]:
    return [_prefixed(Segment("· ", look.muted), line) for line in look.plain(block.text, width - 2, look.muted)]


def _error(block: Block, look: Look, width: int) -> list[Strip]:
    return [_prefixed(Segment("✗ ", look.error), line) for line in look.plain(block.text, width - 2, look.error)]


_BODIES: dict[str, Callable[[Block, Look, int], list[Strip]]] = {
    "user": _user,
    "thinking": _foldable,
    "tool": _foldable,
    "note": _note,
    "error": _error,
}


def _prefixed(prefix: Segment, line: Strip) -> Strip:
    return Strip([prefix, *line])


def _trimmed(lines: list[Strip]) -> list[Strip]:
    """Without the empty lines at both ends that Markdown renders."""
    start, end = 0, len(lines)
    while start < end and not lines[start].text.strip():
        start += 1
    while end > start and not lines[end - 1].text.strip():
        end -= 1
    return lines[start:end]
