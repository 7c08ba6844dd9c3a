"""Search the web: at the model's provider where that is known to work, or through a server the user configured."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.tools import RunContext

from co_tui.agent.web.page_address import AddressRefused, read_address
from co_tui.agent.wire.http import NoAnswer, ask
from co_tui.events.storable import storable_text
from co_tui.inert import one_line

HOSTS: Final = frozenset(
    ("api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "api.x.ai", "openrouter.ai")
)
"""Servers with a search of their own. A compatible server elsewhere may refuse every request that names one."""
TIMEOUT_S: Final = 20.0
MOST_RESULTS: Final = 20
RESULTS: Final = 8
TEXT_CHARS: Final = 500
QUERY_CHARS: Final = 500
NO_RESULTS: Final = "No results."


def native_search(ctx: RunContext[Any]) -> WebSearchTool | None:
    """The search that runs at the provider of a run's model; None if there is none."""
    return WebSearchTool(optional=True) if isinstance(ctx.model, Model) and has_native_search(ctx.model) else None


def has_native_search(model: Model) -> bool:
    while isinstance(model, WrapperModel):
        model = model.wrapped
    if WebSearchTool not in model.profile.get("supported_native_tools", ()):
        return False
    try:
        host = read_address(model.base_url or "").host
    except AddressRefused:
        return False
    # Older Gemini models take either tools of ours or Google's own.
    return host in HOSTS and (model.system != "google" or bool(model.profile.get("google_supports_tool_combination")))


async def search(server: str, query: str, results: int = RESULTS, *, timeout_s: float = TIMEOUT_S) -> str:
    """The first results as Markdown: title, address, date and an excerpt of each. Raises `NoAnswer`.

    The server is SearXNG, or another with the same JSON answers.
    """
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
