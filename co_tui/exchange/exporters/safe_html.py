"""Markdown of a model as HTML in which nothing leads anywhere: no link, no image, no HTML of its own."""

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Final

from co_tui.inert import inert

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MOST_CHARS: Final = 200_000
"""Longer texts are shown as they are."""
_LEADING_SOMEWHERE: Final = ["image", "link", "autolink", "html_inline", "html_block", "reference"]


def rendered(text: str) -> str:
    text = inert(text)
    if len(text) > MOST_CHARS:
        return f"<pre>{escape(text)}</pre>"
    return str(_parser().render(text))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(_LEADING_SOMEWHERE)
