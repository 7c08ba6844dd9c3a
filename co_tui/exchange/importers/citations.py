"""What a reply cites, as a list of sources behind its words."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pydantic_ai.messages import ModelResponsePart, TextPart

from co_tui.exchange.importers.foreign_files import Record
from co_tui.exchange.importers.foreign_values import count, objects, text
from co_tui.inert import one_line

HEADING: Final = "Sources:"
MOST_SOURCES: Final = 200
_LINE_CHARS: Final = 400
_QUOTE_CHARS: Final = 160
_NAMES: Final = ("title", "document_title", "filename", "file_name")
_INSIDE: Final = ("url_citation", "file_citation", "metadata")
"""Where programs put what they know about a source."""


def sources(citations: Iterable[Any]) -> list[ModelResponsePart]:
    """One part with each source once; none if nothing is cited."""
    lines = dict.fromkeys(line for each in citations for line in _lines(each))
    shown = list(lines)[:MOST_SOURCES]
    return [TextPart("\n".join((HEADING, *(f"- {line}" for line in shown))))] if shown else []


def _lines(citation: Any) -> Iterator[str]:
    if isinstance(citation, str):
        yield from filter(None, [one_line(citation, _LINE_CHARS)])
    if not isinstance(citation, dict):
        return
    for each in objects(citation.get("items")):  # several pages for one place
        yield from _lines(each)
    about: Record = dict(citation)
    for key in _INSIDE:
        about |= inner if isinstance(inner := citation.get(key), dict) else {}
    name = next(filter(None, (text(about.get(key)) for key in _NAMES)), "")
    page = f"page {number}" if (number := count(about, "start_page_number")) else ""
    address = text(about.get("url")) or text(about.get("source"))
    quote = one_line(text(about.get("cited_text")), _QUOTE_CHARS) if not address else ""
    said = ", ".join(filter(None, (name, page, address, f"“{quote}”" if quote else "")))
    if name or address:
        yield one_line(said, _LINE_CHARS)
