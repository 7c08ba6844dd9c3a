"""Renders a page for a screen of some width."""

import io

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, TableElement
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

WIDEST: int = 110
"""Columns of text that are read easily."""
_STYLES = Theme({"markdown.code": "bold cyan", "markdown.h1": "bold", "markdown.h2": "bold", "markdown.h3": "bold"})


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text
        if self.tag != "h3":
            yield Text(("═" if self.tag == "h1" else "─") * min(options.max_width, self.text.cell_len))


class _Table(TableElement):
    """Without a frame; long words are folded, never cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        if self.header is not None and self.header.row is not None:
            for cell in self.header.row.cells:
                table.add_column(cell.content, overflow="fold")
        for row in self.body.rows if self.body is not None else ():
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class _Page(Markdown):
    elements = {**Markdown.elements, "heading_open": _Heading, "table_open": _Table}


def rendered(text: str, width: int, *, styled: bool) -> str:
    """A page as lines of at most this width; with escape sequences for colours and bold if `styled`."""
    console = Console(
        file=io.StringIO(),
        width=max(20, min(width, WIDEST)),
        theme=_STYLES,
        force_terminal=styled,
        color_system="auto" if styled else None,
        highlight=False,
    )
    with console.capture() as capture:
        console.print(_Page(text, code_theme="ansi_dark", hyperlinks=False))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
