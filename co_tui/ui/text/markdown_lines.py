"""Markdown rendering for a chat: left-aligned headings, light tables, links and tags spelled out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, HorizontalRule, ListItem, Markdown, MarkdownElement, TableDataElement, TableElement
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from co_tui.ui.textual_internals import MarkdownInternals
from co_tui.web_addresses import is_web_address

BETWEEN_COLUMNS = 2
BULLET = "sign"
"""Key in a list item token's `meta`: the symbol that replaces its bullet."""
_BOXES = {"[ ] ": "☐", "[x] ": "☑"}


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text
        text.justify = "left"
        if self.tag == "h1":
            yield Text("")
        yield text


class _Rule(HorizontalRule):
    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style=console.get_style("markdown.hr", default="none"), characters="─")


class _Item(ListItem):
    bullet = "•"

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> MarkdownElement:
        item = cls()
        item.bullet = token.meta.get(BULLET, cls.bullet)
        return item

    def _not_indented(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Without a bullet: there is no room for one."""
        for line in console.render_lines(self.elements, options, style=self.style):
            yield from line
            yield Segment.line()

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        style = console.get_style("markdown.item.bullet", default="none")
        if options.max_width - 3 < LEAST_ITEM_COLUMNS:
            yield from self._not_indented(console, options)
            return
        lines = console.render_lines(self.elements, options.update(width=options.max_width - 3), style=self.style)
        for n, line in enumerate(lines):
            yield Segment("   " if n else f" {self.bullet} ", style)
            yield from line
            yield Segment.line()

    def render_number(self, console: Console, options: ConsoleOptions, number: int, last_number: int) -> RenderResult:
        style = console.get_style("markdown.item.number", default="none")
        numeral = f" {number}. ".rjust(len(str(last_number - 1)) + 3)
        if options.max_width - len(numeral) < LEAST_ITEM_COLUMNS:
            yield from self._not_indented(console, options)
            return
        inner = options.update(width=options.max_width - len(numeral))
        lines = console.render_lines(self.elements, inner, style=self.style)
        for n, line in enumerate(lines):
            yield Segment(" " * len(numeral) if n else numeral, style)
            yield from line
            yield Segment.line()


class _Table(TableElement):
    """May be wider than the prose around it, except within a list or a quotation."""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> MarkdownElement:
        table = cls()
        assert isinstance(markdown, ChatMarkdown)
        table.prose_width, table.wide, table.columns = markdown.prose_width, markdown.wide, markdown.columns
        return table

    prose_width = wide = 0
    columns: list[int]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, border_style="markdown.table.border")
        header = self.header.row.cells if self.header is not None and self.header.row is not None else []
        rows = [row.cells for row in self.body.rows] if self.body is not None else []
        room = self.wide if options.max_width == self.prose_width else options.max_width
        self._measure([header, *rows])
        least = self.columns if sum(self.columns) + BETWEEN_COLUMNS * len(header) <= room else [0] * len(header)
        for column, width in zip(header, least, strict=True):
            table.add_column(
                column.content, header_style="markdown.table.header", overflow="fold", min_width=width or None
            )
        for row in rows:
            table.add_row(*(cell.content for cell in row))
        yield from console.render(table, options.update(width=room))

    def _measure(self, rows: list[list[TableDataElement]]) -> None:
        """Note how wide the columns are; at least as wide as in the piece above."""
        widths = [max(map(cell_len, cell.content.plain.split("\n"))) for cell in rows[0]]
        for row in rows[1:]:
            widths = [max(width, cell.content.cell_len) for width, cell in zip(widths, row, strict=False)]
        before = self.columns if len(self.columns) == len(widths) else [0] * len(widths)
        self.columns[:] = map(max, widths, before)


DEEPEST = 120
"""How deeply blocks and emphasis may be nested; a list takes two levels."""
LEAST_ITEM_COLUMNS = 10
"""Items that would be narrower are not indented further."""


class NestedTooDeeply(ValueError):
    """The parser would leave out what is nested deeper."""


def parse(text: str) -> list[Token]:
    """The tokens of a text. Raises `NestedTooDeeply`."""
    tokens = PARSER.parse(text)
    if any(each.level >= DEEPEST - 1 for token in tokens for each in (token, *(token.children or ()))):
        raise NestedTooDeeply
    return tokens


def _parser() -> MarkdownIt:
    """Without HTML, so that tags in the text, such as `<Suspense>`, do not vanish."""
    parser = MarkdownIt("commonmark", {"html": False, "linkify": True, "maxNesting": DEEPEST}).enable(
        ["strikethrough", "table", "linkify"]
    )
    assert parser.linkify is not None
    # Link only addresses with a scheme: README.md is a file.
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    return parser


PARSER = _parser()


class ChatMarkdown(MarkdownInternals, Markdown):
    """Rich's Markdown with our elements; links show their address instead of hiding it."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "hr": _Rule,
        "list_item_open": _Item,
        "table_open": _Table,
    }
    inlines = {*Markdown.inlines, "address"}

    code_theme = inline_code_theme = "monokai"
    """Required by Rich; code blocks are rendered elsewhere."""
    inline_code_lexer = justify = None
    style = "none"
    hyperlinks = True

    def __init__(
        self,
        text: str,
        prose_width: int,
        wide: int,
        starts: Sequence[int | None] = (),
        columns: list[int] | None = None,
    ) -> None:
        """`starts` are the first numbers of the lists that the text begins with, the outermost first.

        `columns` are the least widths of a table's columns; afterwards it has those that were drawn.
        """
        # Not super().__init__: it creates a parser per text, which takes as long as parsing a page.
        self.markup, self.parsed = text, _with_boxes(_numbered(parse(text), starts))
        self.prose_width, self.wide = prose_width, wide
        self.columns = columns if columns is not None else []

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from super().__rich_console__(console, options.update(width=self.prose_width))

    def flatten(self, tokens: Iterable[Token]) -> Iterator[Token]:
        """Tokens in reading order, with the address after each link's text."""
        for token in tokens:
            if token.type == "inline":
                yield from _with_addresses(token.children or ())
            else:
                yield token


def _numbered(tokens: list[Token], starts: Sequence[int | None]) -> list[Token]:
    """Continue the numbers of lists that began in an earlier piece."""
    lists = (token for token in tokens if token.type in ("ordered_list_open", "bullet_list_open"))
    for token, start in zip(lists, starts, strict=False):
        if start is not None and token.type == "ordered_list_open":
            token.attrs["start"] = start
    return tokens


def _with_boxes(tokens: list[Token]) -> list[Token]:
    """Replace the bullets of items that begin with `[ ]` or `[x]` by a box."""
    for item, _, words in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_bullet = item.type == "list_item_open" and item.markup in ("-", "*", "+")
        first = words.children[0] if is_bullet and words.children else None
        if first is not None and first.type == "text" and (bullet := _BOXES.get(first.content[:4].lower())):
            item.meta[BULLET], first.content = bullet, first.content[4:]
    return tokens


def _with_addresses(tokens: Iterable[Token]) -> Iterator[Token]:
    """Append each link's address, unless it is the link's text; only web addresses stay links."""
    address = words = ""
    for token in tokens:
        if token.type == "image":
            yield from _image_tokens(token)
        elif token.type == "link_open":
            address, words = str(token.attrs.get("href", "")), ""
            if is_web_address(address):
                yield token
        elif token.type == "link_close":
            if is_web_address(address):
                yield token
            if words not in (address, address.removeprefix("mailto:"), PARSER.normalizeLinkText(address)):
                yield from _address_tokens(address)
        else:
            words += token.content
            yield token


def _address_tokens(address: str) -> Iterator[Token]:
    yield Token("address_open", "address", 1)
    yield Token("text", "", 0, content=f" ({address})")
    yield Token("address_close", "address", -1)


def _image_tokens(token: Token) -> Iterator[Token]:
    """An image as its description and address."""
    yield Token("text", "", 0, content=f"▣ {token.content or 'image'}")
    yield from _address_tokens(str(token.attrs.get("src", "")))
