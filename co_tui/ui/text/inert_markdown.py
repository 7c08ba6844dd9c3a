"""Read-only Markdown, rendered as in the chat, without links to follow."""

import re
from typing import Final

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from co_tui.inert import inert
from co_tui.ui.text.prose import Prose
from co_tui.ui.text.text_rendering import TextRenderer

_LINE_END: Final = re.compile(r"(?<=\S)\n(?=.)")


class InertMarkdown(Widget):
    """As high as its text; line breaks are kept. Put it into a scrolling container."""

    DEFAULT_CSS = """
    InertMarkdown { height: auto; width: 1fr; }
    """

    def __init__(self, text: str, renderer: TextRenderer, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text, self._renderer = _LINE_END.sub("  \n", inert(text)), renderer
        self._lines: tuple[int, Prose] | None = None
        """A width and the lines laid out for it."""

    def set_renderer(self, renderer: TextRenderer) -> None:
        self._renderer, self._lines = renderer, None
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self._at(width)))

    def _at(self, width: int) -> Prose:
        if self._lines is None or self._lines[0] != width:
            prose = Prose(self._renderer, max(1, width))
            prose.feed(self._text)
            self._lines = (width, prose)
        return self._lines[1]

    def render_line(self, y: int) -> Strip:
        width, lines = self.size.width, self._at(self.size.width)
        line = Strip(lines[y] if y < len(lines) else ())
        return line.crop_extend(0, width, self.rich_style).apply_style(self.rich_style)
