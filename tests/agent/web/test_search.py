"""Search: the provider's own where it has one, else a configured server, else none."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.native_tools import WebSearchTool

from co_tui.agent.delegates import _ProviderTools, delegate_of
from co_tui.agent.web.search import has_native_search, search
from co_tui.agent.wire.guarded_model import GuardedModel, RefusedSearch
from co_tui.agent.wire.http import NoAnswer
from co_tui.session.session import Session
from co_tui.settings import AgentFile
from co_tui.settings.permission_rules import RuleInForce, parse_rule
from tests.support.approving import Person
from tests.support.web_pages import page, serving
from tests.support.working import Working, working_in

FOUND = {
    "results": [
        {"title": "On *foxes*\n", "url": "http://a.test/", "content": "They run.", "publishedDate": "2024-05-06T00:00"},
        {"title": "", "url": "http://b.test/", "content": None},
        {"title": "no address"},
        "odd",
    ]
}


def _with_its_own_search() -> Iterator[tuple[Model, bool]]:
    """Models of each client, imported here: at the top, every process would load all of them."""
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    yield AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(api_key="x")), True
    yield AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(api_key="x", base_url="http://a.test")), False
    yield OpenAIResponsesModel("gpt-5", provider=OpenAIProvider(api_key="x")), True
    yield OpenAIResponsesModel("gpt-5", provider=OpenAIProvider(api_key="x", base_url="http://a.test/v1")), False
    yield OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="x")), False
    yield GoogleModel("gemini-3-pro", provider=GoogleProvider(api_key="x")), True
    yield GoogleModel("gemini-2.0-flash", provider=GoogleProvider(api_key="x")), False
    yield FunctionModel(stream_function=lambda messages, info: None), False


def test_a_provider_with_its_own_search_uses_it() -> None:
    for model, has_one in _with_its_own_search():
        assert has_native_search(GuardedModel(model)) is has_one, model.model_name


async def test_a_server_answers_with_results() -> None:
    async with serving({"/s/search?q=red+foxes&format=json": page(json.dumps(FOUND), "application/json")}) as site:
        for server in (site.url("/s"), site.url("/s/search")):
            got = await search(server, "red foxes")
            assert got == "**On *foxes***\nhttp://a.test/ · 2024-05-06\nThey run.\n\n**http://b.test/**\nhttp://b.test/"
        assert await search(site.url("/s"), "red foxes", 1) == got.partition("\n\n")[0]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (page("<html>", "text/html"), "not JSON"),
        (page("[]", "application/json"), "no list of results; SearXNG needs `json`"),
        (page("", "text/html", status="403 Forbidden"), "HTTP 403"),
    ],
)
async def test_a_server_without_results_is_explained(answer: bytes, sentence: str) -> None:
    async with serving({"/search?q=x&format=json": answer}) as site:
        with pytest.raises(NoAnswer, match=sentence):
            await search(site.url("/"), "x")


async def offered_and_returned(tmp_path: Path, **settings: Any) -> tuple[list[str], list[str]]:
    model = Working(("web_search", {"query": "x"}))
    environment = working_in(tmp_path, tmp_path / "home", model, Person(), **settings)
    session = await Session.start(environment, "scripted")
    await session.submit("search")
    await session.close()
    environment.store.close()
    return model.offered, model.returned


async def test_a_session_searches_with_the_configured_server(tmp_path: Path) -> None:
    allowed = (RuleInForce("allow", parse_rule("WebSearch"), "test"),)
    async with serving({"/search?q=x&format=json": page('{"results": []}', "application/json")}) as site:
        offered, (got,) = await offered_and_returned(tmp_path, web_search=site.url("/"), permissions=allowed)
    assert "web_search" in offered
    assert got.endswith("not the user's.]\n\nNo results.")


@pytest.mark.parametrize("setting", ["provider", "off"])
async def test_without_a_search_the_tool_is_absent(tmp_path: Path, setting: str) -> None:
    offered, _ = await offered_and_returned(tmp_path, web_search=setting)
    assert "web_search" not in offered and "web_fetch" in offered


async def test_a_rule_that_denies_searching_removes_the_tool(tmp_path: Path) -> None:
    denied = (RuleInForce("deny", parse_rule("WebSearch"), "test"),)
    offered, _ = await offered_and_returned(tmp_path, web_search="http://a.test", permissions=denied)
    assert "web_search" not in offered


def test_a_search_that_the_provider_refuses_is_left_out_from_then_on() -> None:
    refused, parameters = RefusedSearch(), ModelRequestParameters(native_tools=[WebSearchTool()])
    assert refused.removed_from(parameters) is parameters
    other = ModelHTTPError(400, "claude", {"message": "max_tokens is too large"})
    assert refused.after(other, parameters) is None
    about = ModelHTTPError(400, "claude", {"message": "Web search is not enabled for this organization"})
    assert refused.after(about, ModelRequestParameters()) is None
    less = refused.after(about, parameters)
    assert less is not None and less.native_tools == []
    assert refused.removed_from(parameters).native_tools == []


async def test_an_agent_that_may_not_search_gets_no_search_of_the_provider_either() -> None:
    for tools, kept in ((("Read",), []), (("Read", "WebSearch"), ["web_search"]), (None, ["web_search"])):
        delegate = delegate_of(AgentFile(name="a", description="", instructions="", file=Path("a.md"), tools=tools))
        request: Any = SimpleNamespace(model_request_parameters=ModelRequestParameters(native_tools=[WebSearchTool()]))
        ctx: Any = None
        left = await _ProviderTools(delegate).before_model_request(ctx, request)
        assert [tool.kind for tool in left.model_request_parameters.native_tools] == kept
