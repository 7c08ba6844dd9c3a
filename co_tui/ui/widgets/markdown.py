"""Markdown as it reads well in a chat: headings to the left, tables with thin lines, links and tags spelled out."""

from typing import Any, ClassVar

from markdown_it import MarkdownIt
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement, TableElement
from rich.table import Table
from rich.text import Text


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text
        text.justify = "left"
        if self.tag == "h1":
            yield Text("")
        yield text


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, border_style="markdown.table.border")
        if self.header is not None and self.header.row is not None:
            for column in self.header.row.cells:
                table.add_column(column.content, header_style="markdown.table.header", overflow="fold")
        if self.body is not None:
            for row in self.body.rows:
                table.add_row(*(cell.content for cell in row.cells))
        yield table


# Tags are what somebody wrote about, `<Suspense>` or `<b>`: as HTML they would vanish.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


class ChatMarkdown(Markdown):
    """Rich's Markdown with our elements; links show their address instead of hiding it."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "table_open": _Table,
    }

    def __init__(self, text: str, **options: Any) -> None:
        super().__init__("", hyperlinks=False, **options)
        self.markup, self.parsed = text, _PARSER.parse(text)
