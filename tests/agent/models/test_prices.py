"""Prices and windows known by a model's name, and where the name means nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.usage import RequestUsage

from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.agent.models.prices import is_published, price_of
from tests.support.provider import Provider
from tests.support.talks import talking


@pytest.mark.parametrize("window", [None, 9_000])
async def test_a_server_of_ones_own_has_not_the_window_of_the_model_it_is_named_after(
    home: Path, provider: Provider, window: int | None
) -> None:
    provider.model_id, provider.window = "gpt-4o", window
    config = ModelConfig(environ={}, fetched_models=home, base_url=provider.url)
    model_handle = await open_model("openai-chat:gpt-4o", config)
    assert await model_handle.window_tokens() == window
    await model_handle.close()


async def test_nor_has_it_that_models_price(home: Path, provider: Provider) -> None:
    provider.model_id = "gpt-4o"
    async with talking(home, provider, model="openai-chat:gpt-4o") as session:
        await session.submit("hi")
        assert session.state.total_cost is None


def test_a_providers_own_replies_have_a_price() -> None:
    def reply(provider: str, url: str) -> ModelResponse:
        usage = RequestUsage(input_tokens=1_000, output_tokens=10)
        return ModelResponse(
            [TextPart("x")], usage=usage, model_name="gpt-4o", provider_name=provider, provider_url=url
        )

    assert price_of(reply("openai", "https://api.openai.com/v1")) == pytest.approx(0.0026)
    assert price_of(reply("openai", "http://localhost:11434/v1")) is None
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
