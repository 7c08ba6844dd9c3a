"""What servers tell about the length of a prompt."""

import json
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.models import ModelConfig, open_model
from co_tui.agent.told_limits import told_window
from tests.support.provider import Provider, Reply


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"meta": {"n_ctx": 8192}}, 8_192),
        ({"max_model_len": 32_768}, 32_768),
        ({"capabilities": {"limits": {"max_prompt_tokens": 64_000, "max_context_window_tokens": 128_000}}}, 64_000),
        ({"capabilities": {"limits": {"max_context_window_tokens": 128_000}}}, 128_000),
        ({"max_input_tokens": 200_000}, 200_000),
        ({}, None),
        ({"meta": None, "capabilities": [1], "max_model_len": "many"}, None),
        ({"max_model_len": True}, None),
        ({"meta": {"n_ctx": 0}}, None),
    ],
)
def test_the_longest_prompt_a_server_tells_of(entry: dict[str, Any], expected: int | None) -> None:
    assert told_window(entry) == expected


@pytest.mark.parametrize(
    ("loaded", "expected"),
    [
        ([{"model": "llama3.2:latest", "context_length": 4096}], 4096),
        ([{"model": "another", "context_length": 4096}], None),
        ([{"model": "llama3.2:latest"}, 7], None),
        (None, None),
    ],
)
async def test_ollama_tells_the_window_of_a_model_it_has_loaded(
    tmp_path: Path, provider: Provider, loaded: Any, expected: int | None
) -> None:
    # One answer to both questions: the list of what there is, and of what is loaded.
    answer = json.dumps({"object": "list", "data": [{"id": "llama3.2:latest"}], "models": loaded}).encode()
    provider.models = Reply(raw=(answer,))
    model = await open_model(
        f"openai-chat:llama3.2:latest@{provider.url}", ModelConfig(environ={}, fetched_models=tmp_path)
    )
    assert await model.window_tokens() == expected
    await model.close()
