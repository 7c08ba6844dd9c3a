"""Renders text to lines under one theme, with Rich."""

import io
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from rich.color import Color as RichColor
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme
from textual.color import Color
from textual.strip import Strip

from co_tui.ui.themes.themes import Palette, readable

if TYPE_CHECKING:
    from co_tui.terminal_text import Coloured, Look

LEFT_OUT_MARK = "left_out"
LEFT_OUT = Style.from_meta({LEFT_OUT_MARK: True})
"""Marks the line that says how much of a text is not shown."""

CODE_COLUMNS = 122
"""120 for the code."""
PROSE_COLUMNS = 100
"""Longer lines are hard to read; code, tables and tool output may be wider."""

MARKED_SHARE = 0.1
"""Share of the accent colour in the background of marked blocks; text stays readable on it."""

CHANGED_SHARE = 0.14
"""Share of green and red in the background of added and removed lines."""

CHANGED_WORD_SHARE = 0.34
"""The same for the words of such a line that changed."""


NO_STYLE = Style()
_SHOWN = {
    "black": "#5c6370", "red": "#e06c75", "green": "#7fb069", "yellow": "#d8a657", "blue": "#61a0e8",
    "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#c8ccd4",
    "bright black": "#7f848e", "bright red": "#ff8088", "bright green": "#9fd089", "bright yellow": "#f0c674",
    "bright blue": "#82b8ff", "bright magenta": "#de98f0", "bright cyan": "#7fd6e0", "bright white": "#ffffff",
}  # fmt: skip
"""The sixteen colours that programs name."""


def prose_width(width: int) -> int:
    return min(width, PROSE_COLUMNS)


def code_width(width: int) -> int:
    """Of every code block, so that each is a rectangle; most code fits without wrapping."""
    return min(width, CODE_COLUMNS)


class TextRenderer:
    """Renders text under one theme, and has its styles."""

    def __init__(self, palette: Palette, *, rich: bool = True, draws_images: bool = False) -> None:
        """Without `rich`, Markdown is shown as source: importing its renderer would delay the first paint."""
        self.palette = palette
        self.rich = rich
        self.draws_images = draws_images and rich
        self._looks: dict[Look, Style] = {}
        self.muted = Style.parse(palette.muted)
        self.left_out = self.muted + LEFT_OUT
        self.you = Style.parse(f"bold {palette.accent}")
        self.reply = Style.parse(palette.reply)
        self.me = Style.parse(f"bold {palette.reply}")
        self.compaction = Style.parse(f"bold {palette.compaction}")
        self.text = Style.parse(palette.text)
        self.error = Style.parse(palette.error)
        self.warning = Style.parse(palette.warning)
        self.gone = Style.parse(f"bold {palette.error}")
        self.marked = Style(bgcolor=_tint(palette.surface, palette.accent, MARKED_SHARE))
        self.came = Style.parse(palette.text) + Style(bgcolor=_tint(palette.background, palette.reply, CHANGED_SHARE))
        self.went = Style.parse(palette.text) + Style(bgcolor=_tint(palette.background, palette.error, CHANGED_SHARE))
        self.came_word = Style(bold=True, bgcolor=_tint(palette.background, palette.reply, CHANGED_WORD_SHARE))
        self.went_word = Style(bold=True, bgcolor=_tint(palette.background, palette.error, CHANGED_WORD_SHARE))
        self.found = Style.parse(f"not bold not underline {palette.surface} on {palette.warning}")
        self.current_match = Style.parse(f"bold underline {palette.surface} on {palette.accent}")

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
                "markdown.link_url": f"underline {palette.accent}",
                "markdown.address": palette.muted,
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

    def prose(
        self, text: str, width: int, starts: Sequence[int | None] = (), columns: list[int] | None = None
    ) -> list[Strip]:
        """Render Markdown without code blocks; tables may be wider than the prose.

        For `starts` and `columns` see `ChatMarkdown`.
        """
        narrow = prose_width(width)
        if not self.rich:
            return _trimmed(self.plain(text, narrow))
        from co_tui.ui.text.markdown_lines import ChatMarkdown

        try:
            return _trimmed(self.lines(ChatMarkdown(text, narrow, width, starts, columns), width))
        except Exception:  # a model's text may break the renderer; show the source then
            return _trimmed(self.plain(text, narrow))

    def code(self, text: str, language: str, width: int) -> list[Strip]:
        if not self.rich:
            return self.plain(text.rstrip("\n"), width)
        from co_tui.ui.text.code import highlighted

        return highlighted(text, language, code_width(width), self.palette)

    def faded(self, line: list[Segment]) -> list[Segment]:
        """A line in the muted colour; links, bold and italic stay."""
        muted = self.muted
        return [Segment(text, style.without_color + muted if style else muted) for text, style, _ in line]

    def plain(self, text: str, width: int, style: Style | None = None) -> list[Strip]:
        return self.lines(Text(text.expandtabs(4), style=style or "", overflow="fold"), width)

    def printed(self, text: str, colours: "Sequence[Coloured]", width: int) -> list[Strip]:
        """What a command printed, in its colours; each is readable on our backgrounds."""
        wording = Text(text, overflow="fold")
        for start, end, look in colours:
            if start < len(text):
                wording.stylize(self._look(look), start, end)
        wording.expand_tabs(4)
        return self.lines(wording, width)

    def _look(self, look: "Look") -> Style:
        if look not in self._looks:
            self._looks[look] = self._new_look(look)
        return self._looks[look]

    def _new_look(self, look: "Look") -> Style:
        flags = look.flags - ({"dim"} if look.colour else set())
        style = self.muted if "dim" in flags else NO_STYLE
        style += Style(bold="bold" in flags or None, italic="italic" in flags or None)
        style += Style(underline="underline" in flags or None)
        if not look.colour:
            return style
        grounds = [Color.parse(self.palette.background), Color.parse(self.palette.surface)]
        return style + Style(color=readable(Color.parse(_SHOWN.get(look.colour, look.colour)), grounds).rich_color)


def _tint(ground: str, colour: str, share: float) -> RichColor:
    return Color.parse(ground).blend(Color.parse(colour), share).rich_color


def _trimmed(lines: list[Strip]) -> list[Strip]:
    """Without the empty lines that Markdown renders at both ends."""
    start, end = 0, len(lines)
    while start < end and not lines[start].text.strip():
        start += 1
    while end > start and not lines[end - 1].text.strip():
        end -= 1
    return lines[start:end]
