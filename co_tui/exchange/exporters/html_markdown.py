"""A model's Markdown as HTML: links to the web only, no images, no HTML of its own, code in colours."""

from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Final

from co_tui.inert import inert
from co_tui.web_addresses import is_web_address

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_MARKDOWN_CHARS: Final = 200_000
"""Longer texts are shown as plain text."""
MAX_COLOURED_CHARS: Final = 50_000
DEEPEST: Final = 120
"""How deeply blocks and emphasis may be nested."""
_BOXES: Final = {"[ ] ": "☐", "[x] ": "☑"}
_LINK: Final = {"rel": "noreferrer noopener nofollow"}


def as_html(text: str) -> str:
    text = inert(text)
    if len(text) > MAX_MARKDOWN_CHARS:
        return f"<pre>{escape(text)}</pre>"
    parser = _parser()
    tokens = parser.parse(text)
    if any(each.level >= DEEPEST - 1 for token in tokens for each in (token, *(token.children or ()))):
        return f"<pre>{escape(text)}</pre>"  # the parser would leave out what is nested deeper
    for token in tokens:
        if token.children:
            token.children = list(_with_addresses(token.children))
    return str(parser.renderer.render(_with_boxes(tokens), parser.options, {}))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    options = {"html": False, "linkify": True, "maxNesting": DEEPEST, "highlight": _coloured}
    parser = MarkdownIt("commonmark", options)
    # Definitions of references would vanish from the page.
    parser.enable(["table", "strikethrough", "linkify"]).disable(["html_inline", "html_block", "reference"])
    assert parser.linkify is not None
    # Link only addresses with a scheme: README.md is a file.
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    return parser


def _coloured(code: str, language: str, _: Any) -> str:
    """Code with a class for each kind of token; the page's style has the colours."""
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if len(code) > MAX_COLOURED_CHARS:
        return escape(code)
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        return escape(code)
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def _with_addresses(tokens: Iterable["Token"]) -> Iterator["Token"]:
    """Links say where they lead, as on the screen; an address that is not one of the web is text."""
    address = words = ""
    for token in tokens:
        if token.type == "image":
            yield _html(f"▣ {escape(token.content or 'image')}{_address(str(token.attrs.get('src', '')))}")
        elif token.type == "link_open":
            address, words = str(token.attrs.get("href", "")), ""
            if is_web_address(address):
                token.attrs = {"href": address, **_LINK}
                yield token
        elif token.type == "link_close":
            if is_web_address(address):
                yield token
            if words not in (address, address.removeprefix("mailto:")):
                yield _html(_address(address))
        else:
            words += token.content
            yield token


def _with_boxes(tokens: list["Token"]) -> list["Token"]:
    """Items that begin with `[ ]` or `[x]` have a box instead of a bullet."""
    for item, _, words in zip(tokens, tokens[1:], tokens[2:], strict=False):
        first = words.children[0] if item.type == "list_item_open" and words.children else None
        if first is not None and first.type == "text" and (box := _BOXES.get(first.content[:4].lower())):
            item.attrSet("class", "task")
            first.content = f"{box} {first.content[4:]}"
    return tokens


def _address(address: str) -> str:
    return f'<span class="address"> ({escape(inert(address))})</span>'


def _html(content: str) -> "Token":
    """HTML of ours; everything in it is escaped already."""
    from markdown_it.token import Token

    return Token("html_inline", "", 0, content=content)
