"""Search the web through a server the user configured: SearXNG, or another with the same JSON answers."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from co_tui.agent.wire.http import NoAnswer, ask
from co_tui.events.storable import storable_text
from co_tui.inert import one_line

TIMEOUT_S: Final = 20.0
MOST_RESULTS: Final = 20
RESULTS: Final = 8
TEXT_CHARS: Final = 500
QUERY_CHARS: Final = 500
NO_RESULTS: Final = "No results."


async def search(server: str, query: str, results: int = RESULTS, *, timeout_s: float = TIMEOUT_S) -> str:
    """The first results as Markdown: title, address, date and an excerpt of each. Raises `NoAnswer`."""
    answer = await ask(_search_url(server, query[:QUERY_CHARS]), timeout_s=timeout_s)
    listed = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        raise NoAnswer("its reply has no list of results; SearXNG needs `json` among its search formats")
    shown = [_result(each) for each in listed if isinstance(each, dict) and each.get("url")]
    return "\n\n".join(shown[: max(1, min(results, MOST_RESULTS))]) or NO_RESULTS


def _search_url(server: str, query: str) -> str:
    parts = urlsplit(server)
    path = parts.path.rstrip("/")
    path = path if path.endswith("/search") else f"{path}/search"
    given = [parts.query] if parts.query else []
    return urlunsplit(
        (parts.scheme, parts.netloc, path, "&".join([*given, urlencode({"q": query, "format": "json"})]), "")
    )


def _result(found: Mapping[str, Any]) -> str:
    title, url, date, text = (_line(found.get(name)) for name in ("title", "url", "publishedDate", "content"))
    return "\n".join(filter(None, (f"**{title or url}**", f"{url}{f' · {date[:10]}' if date else ''}", text)))


def _line(value: object) -> str:
    return one_line(storable_text(str(value)), TEXT_CHARS) if isinstance(value, str) else ""
