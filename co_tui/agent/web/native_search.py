"""The provider's own web search, offered where it is known to work."""

from typing import Any, Final

from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.tools import RunContext

from co_tui.agent.web.page_address import AddressRefused, read_address

HOSTS: Final = frozenset(
    ("api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "api.x.ai", "openrouter.ai")
)
"""Servers with a search of their own. A compatible server elsewhere may refuse every request that names one."""


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
