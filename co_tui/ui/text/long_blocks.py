"""Where to cut a long block of Markdown, so that both parts are read as in the whole.

A list is cut before an item, a table before a row, a paragraph after a sentence. The second part gets a lead: source
that restores its context and is not drawn (except a table's header).
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from markdown_it.token import Token

from co_tui.ui.text.markdown_lines import NestedTooDeeply, parse
from co_tui.ui.text.markdown_pieces import MARKER, NO_LEAD, Lead, LongCut, OpenItem

_BULLET: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]{0,4}")
_SENTENCE_END: Final = re.compile(r"[.!?…:;][\"')\]*_`]*(?= +\S)")
_QUOTES: Final = re.compile(r"(?:[ ]{0,3}>[ ]?)*")
_PAIRED: Final = ("`", "**", "__", "~~")


class _Block(NamedTuple):
    """A place where a cut is possible, or the text at the end."""

    line: int
    items: tuple[OpenItem, ...]
    number: int | None = None
    """Of the item that begins here."""
    header: tuple[int, int] = (0, 0)
    """The lines of the table's header, if a row begins here."""
    is_item: bool = False
    opens_list: bool = False
    """Whether it is the first item of its list."""
    is_paragraph: bool = False
    is_quoted: bool = False

    @property
    def can_be_first(self) -> bool:
        """Whether a piece may begin with it."""
        return not self.is_paragraph or (not self.items and not self.is_quoted)


def cut_long(text: str, lead: Lead) -> LongCut | None:
    """Where to cut; None if no place keeps the structure."""
    source = lead.text + text
    lines = source.split("\n")
    try:
        blocks = _blocks(parse(source), lines, lead.starts)
    except NestedTooDeeply:  # drawn as it is written
        return LongCut(text.rfind("\n") + 1 or len(text), NO_LEAD)
    first = lead.text.count("\n")
    incomplete = len(lines) - 1  # the last line may go on
    places = [each for each in blocks if first < each.line < incomplete and each.can_be_first]
    ending = blocks[-1] if blocks and blocks[-1].is_paragraph else None
    if places and (
        ending is None or places[-1].line > ending.line or _offset(lines, places[-1].line) > len(source) // 3
    ):
        return _before(places[-1], lines, len(lead.text))
    if ending is not None:
        return _inside(ending, text, source, lines)
    return _before(places[-1], lines, len(lead.text)) if places else None


def open_items(text: str, lead: Lead) -> tuple[OpenItem, ...]:
    """The list items that a line after the text, indented as deep as the deepest, belongs to."""
    source = f"{lead.text}{text.rstrip()}\n"
    lines = source.split("\n")
    try:
        found = _blocks(parse(source), lines, lead.starts)
    except NestedTooDeeply:
        return ()
    return found[-1].items if found else ()


def lead_after(items: Sequence[OpenItem], indent: int) -> Lead:
    """The context of a line that follows code in list items, by its indent."""
    kept = [item for item in items if item.indent <= indent]
    left = items[len(kept)] if len(kept) < len(items) else None
    following = left.number + 1 if left is not None and left.number is not None else None
    stubs = _stubs(kept)
    return Lead("".join(f"{stub}\n" for stub in stubs), len(stubs), (*(item.number for item in kept), following))


def _blocks(tokens: Sequence[Token], lines: Sequence[str], starts: Sequence[int | None]) -> list[_Block]:
    return [block for block in map(_Containers(lines, starts).enter, tokens) if block is not None]


class _Containers:
    """The lists, items, quotations and tables that are open while the tokens of a text are read."""

    def __init__(self, lines: Sequence[str], starts: Sequence[int | None]) -> None:
        self._lines = lines
        self._starts = list(starts)
        self._numbers: list[int | None] = []
        """The next number of each open list."""
        self._items: list[OpenItem] = []
        self._opens_list = False
        self._quotes = 0
        self._header = (0, 0)
        """The lines of the open table's header."""

    def enter(self, token: Token) -> _Block | None:
        """Follow a token; returns the block that begins with it. Inside a quotation only paragraphs count."""
        line = token.map[0] if token.map else 0
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._numbers.append(self._first_number(token))
                self._opens_list = True
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "list_item_open":
                return self._open_item(line)
            case "list_item_close":
                self._close_item()
            case "blockquote_open" | "blockquote_close":
                return self._quote(token.nesting, line)
            case "paragraph_open":
                return _Block(line, tuple(self._items), is_paragraph=True, is_quoted=self._quotes > 0)
            case "thead_open" | "table_close" | "tr_open":
                return self._table(token.type, line)
            case "table_open" | "heading_open" | "hr" | "code_block" if not self._items and not self._quotes:
                return _Block(line, ())
        return None

    def _first_number(self, token: Token) -> int | None:
        earlier = self._starts.pop(0) if self._starts else None
        if token.type == "bullet_list_open":
            return None
        return earlier if earlier is not None else int(token.attrs.get("start", 1))

    def _open_item(self, line: int) -> _Block | None:
        above, number = tuple(self._items), self._numbers[-1]
        opens_list, self._opens_list = self._opens_list, False
        start = above[-1].indent if above and above[-1].line == line else 0
        bullet = _BULLET.match(self._lines[line], start)
        end = bullet.end() if bullet else start
        stub = self._lines[line][:end]
        self._items.append(OpenItem(end, line, stub if stub.endswith((" ", "\t")) else f"{stub} ", number))
        return None if self._quotes else _Block(line, above, number, is_item=True, opens_list=opens_list)

    def _close_item(self) -> None:
        self._items.pop()
        number = self._numbers[-1]
        self._numbers[-1] = number + 1 if number is not None else None

    def _quote(self, nesting: int, line: int) -> _Block | None:
        self._quotes += nesting
        is_outermost = nesting > 0 and self._quotes == 1 and not self._items
        return _Block(line, ()) if is_outermost else None

    def _table(self, kind: str, line: int) -> _Block | None:
        """A row begins a block, except for the header and the first one, which stays with it."""
        if kind == "thead_open":
            self._header = (line, line + 2)
        elif kind == "table_close":
            self._header = (0, 0)
        elif self._header != (0, 0) and line > self._header[1]:
            return _Block(line, tuple(self._items), header=self._header)
        return None


def _stubs(items: Sequence[OpenItem]) -> list[str]:
    """A short line for each item; one for items that begin on the same line."""
    last = {item.line: f"{item.stub}{MARKER}" for item in items}
    return list(last.values())


def _before(place: _Block, lines: Sequence[str], lead_chars: int) -> LongCut:
    at = _offset(lines, place.line) - lead_chars
    stubs = _stubs(place.items)
    header = lines[place.header[0] : place.header[1]]
    is_inside = bool(place.items or header or place.is_item)
    numbers = tuple(item.number for item in place.items)
    starts = (*numbers, place.number) if place.is_item else numbers
    text = "".join(f"{line}\n" for line in (*stubs, *header))
    lead = Lead(text, len(stubs), starts, is_table=bool(header)) if is_inside else NO_LEAD
    begins_list = place.opens_list and not place.items
    return LongCut(at, lead, joined=is_inside and not begins_list)


def _offset(lines: Sequence[str], line: int) -> int:
    return sum(len(each) + 1 for each in lines[:line])


def _inside(paragraph: _Block, text: str, source: str, lines: Sequence[str]) -> LongCut:
    """After a sentence, or else after a word. In a line: the next one may begin with a sign of its own."""
    least = max(len(text) // 2, _offset(lines, paragraph.line) - (len(source) - len(text)) + 1)
    at = _sentence_end(text, min(least, len(text) - 1))
    space = " " if at < len(text) and text[at] == " " else ""
    at += len(space)
    if paragraph.is_quoted and not paragraph.items:
        quotes = _QUOTES.match(lines[paragraph.line])
        return LongCut(at, Lead(f"{quotes[0] if quotes else ''}{MARKER}{space}", 0, hangs=True))
    if not paragraph.items:
        return LongCut(at, Lead(f"{MARKER}{space}", 0, flows=True, space=space))
    stubs = _stubs(paragraph.items)
    starts = tuple(item.number for item in paragraph.items)
    own = f"{stubs[-1]}{space}"
    return LongCut(at, Lead("".join(f"{stub}\n" for stub in stubs[:-1]) + own, len(stubs) - 1, starts, hangs=True))


def _sentence_end(text: str, least: int) -> int:
    """The last place from `least` on where no emphasis or code is open: after a sentence, a word, or anywhere."""
    sentences = [match.end() for match in _SENTENCE_END.finditer(text, least)]
    words = [match.start() for match in re.finditer(r"(?<=\S) (?=\S)", text[least:])]
    spaces = [least + word for word in words]
    for places in (sentences, spaces):
        for at in reversed(places):
            if _is_closed(text[:at]):
                return at
    return spaces[-1] if spaces else len(text)


def _is_closed(text: str) -> bool:
    """Whether marks of emphasis, code and links are in pairs."""
    for mark in _PAIRED:
        if text.count(mark) % 2:
            return False
    return text.replace("**", "").count("*") % 2 == 0 and text.count("[") == text.count("]")
