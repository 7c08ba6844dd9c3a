"""Prices and windows known by a model's name, and where the name means nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.usage import RequestUsage

from co_tui.agent.models import prices
from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.agent.models.prices import Pricing, assumed_price, is_own_server, is_published, price_of, pricing_of
from co_tui.events import SessionError
from co_tui.session.slash.applying import apply_setting
from co_tui.session.slash.reports_commands import limit_note, session_cost
from co_tui.session.state.context_report import context_report
from co_tui.settings import Loaded
from tests.support.cases import each_case
from tests.support.provider import Provider
from tests.support.talks import served_environment, talking


@pytest.mark.parametrize("window", [None, 9_000])
async def test_a_server_of_ones_own_has_not_the_window_of_the_model_it_is_named_after(
    home: Path, provider: Provider, window: int | None
) -> None:
    provider.model_id, provider.window = "gpt-4o", window
    config = ModelConfig(environ={}, fetched_models=home, base_url=provider.url)
    model_handle = await open_model("openai-chat:gpt-4o", config)
    assert await model_handle.window_tokens() == window
    await model_handle.close()


async def test_its_window_is_assumed_from_the_catalogue_and_its_price_only_if_others_run_it(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.model_id, provider.window = "openai/gpt-5", None
    environment = served_environment(home, provider, max_session_cost=5.0)
    async with talking(home, provider, environment=environment) as session:
        await session.switcher.switch_model("openai-chat:openai/gpt-5")
        monkeypatch.setattr(prices, "is_own_server", lambda address: False)
        await session.submit("hi")
        await session.submit("and now?")
        state, usage = session.state, session.state.usage
        assert usage is not None and (usage.token_limit, usage.limit_known) == (400_000, False)
        assert state.total_cost is None and state.assumed_cost > 0
        figures = context_report(state)
        assert limit_note(figures) == " (assumed from the catalogue)"
        text = session_cost(figures)
        assert text.startswith("~$0.000") and text.endswith("(assumed from the catalogue)")
        loaded = Loaded(settings=environment.settings, origins={}, problems=(), warnings=())
        limited = await apply_setting("max_session_cost", loaded, session)
        assert limited.endswith("openai/gpt-5 is assumed from the catalogue, for session limits only")
        (warned,) = [each.fact.what for each in state.timeline if isinstance(each.fact, SessionError)]
        assert warned.startswith("max_session_cost counts openai-chat:openai/gpt-5 by an assumption")
        monkeypatch.setattr(prices, "is_own_server", is_own_server)
        await session.submit("and on this machine?")
        assert session.state.assumed_cost == state.assumed_cost
        assert session.state.usage is not None and session.state.usage.limit_source == "catalogue"


async def test_a_name_that_no_maker_has_means_nothing(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await session.submit("hi")
        usage = session.state.usage
        assert usage is not None and (usage.limit_source, usage.assumed_cost) == ("", None)


@each_case(
    ("model", "address", "known"),
    [
        ("anthropic:claude-sonnet-4-5", "https://api.anthropic.com", Pricing.PUBLISHED),
        ("openai-chat:gpt-4o", "https://api.openai.com/v1", Pricing.PUBLISHED),
        ("openai-chat:gpt-4o", "https://proxy.example/v1", Pricing.ASSUMED),
        ("openai-chat:anthropic/claude-sonnet-4-5", "https://proxy.example/v1", Pricing.ASSUMED),
        ("openai-chat:gpt-4o", "http://localhost:4000/v1", Pricing.UNKNOWN),
        ("openai-chat:gpt-4o", "http://192.168.0.7:8000/v1", Pricing.UNKNOWN),
        ("openai-chat:gpt-4o", "http://gpu.local:8000/v1", Pricing.UNKNOWN),
        ("openai-chat:qwen3:8b", "https://proxy.example/v1", Pricing.UNKNOWN),
        ("embedded", "", Pricing.FREE),
    ],
)
def test_what_is_known_of_a_price_before_a_model_is_asked(model: str, address: str, known: Pricing) -> None:
    assert pricing_of(model, address) is known


def test_a_providers_own_replies_have_a_price() -> None:
    def reply(provider: str, url: str) -> ModelResponse:
        usage = RequestUsage(input_tokens=1_000, output_tokens=10)
        return ModelResponse(
            [TextPart("x")], usage=usage, model_name="gpt-4o", provider_name=provider, provider_url=url
        )

    assert price_of(reply("openai", "https://api.openai.com/v1")) == pytest.approx(0.0026)
    elsewhere = reply("openai", "https://proxy.example/v1")
    assert price_of(elsewhere) is None and assumed_price(elsewhere, "openai-chat:gpt-4o") == pytest.approx(0.0026)
    assert assumed_price(reply("openai", "https://api.openai.com/v1"), "openai-chat:gpt-4o") is None, "it is known"
    assert assumed_price(reply("openai", "http://127.0.0.1:4000/v1"), "openai-chat:gpt-4o") is None, "it runs here"
    assert is_published("https://api.anthropic.com") and not is_published("http://192.168.0.7:8000/v1")


PRICED: Final = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from genai_prices import data, data_snapshot
from co_tui.agent.models import price_list
from co_tui.agent.models.price_list import keep_prices_of

def every_model():
    snapshot = data_snapshot.get_snapshot()
    return [[each.id, model.id, model.context_window] for each in snapshot.providers for model in each.models]

def loaded():
    return sorted(each.id for each in data_snapshot.get_snapshot().providers if list.__len__(each.models))

whole = every_model()
keep_prices_of("anthropic:claude-sonnet-4-5")
found = {"first": loaded(), "module": "genai_prices.data" in sys.modules}
find = data_snapshot.get_snapshot().find_provider_model
found["known"] = find("claude-sonnet-4-5", None, "anthropic", None)[1].context_window
found["still"] = loaded()
load, both, found["loads"] = price_list._all_providers, Barrier(2), 0

def load_at_the_same_time():
    found["loads"] += 1
    with suppress(BrokenBarrierError):
        both.wait(.2)
    return load()

price_list._all_providers = load_at_the_same_time
with ThreadPoolExecutor(2) as threads:
    asked = threads.map(find, *zip(*[("mistral-large-latest", None, "mistral", None)] * 2))
    found["other"], = {model.id for _, model in asked}
price_list._all_providers = load
found["same"] = every_model() == whole and len(whole) > 1_000
print(json.dumps(found))
"""


def test_only_the_price_list_of_the_provider_in_use_is_kept_and_all_others_are_there_when_asked_for() -> None:
    found = json.loads(subprocess.run([sys.executable, "-c", PRICED], check=True, capture_output=True).stdout)
    assert found["first"] == found["still"] == ["anthropic", "openai"] and not found["module"]
    assert found["known"] and found["other"].startswith("mistral-large") and found["same"]
    assert found["loads"] == 1  # for two threads that ask at the same time
