"""What model servers report in their own words: the window a request may really take, and whether tools go along."""

import json
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.models.open_model import ModelConfig, ModelHandle, open_model
from tests.support import model_servers as servers
from tests.support.provider import Provider, Reply


async def opened(provider: Provider, home: Path, name: str, list_: Any, native: Any) -> ModelHandle:
    provider.models, provider.native = Reply(raw=(json.dumps(list_).encode(),)), native
    return await open_model(f"openai-chat:{name}@{provider.url}", ModelConfig(environ={}, fetched_models=home))


@pytest.mark.parametrize(
    ("name", "list_", "native", "window"),
    [
        ("Qwen/Qwen3-8B", servers.VLLM, lambda *_: None, 32_768),
        ("qwen3-0.6b", servers.LLAMA_CPP, servers.llama_cpp, 8_192),
        ("qwen3-0.6b", servers.LLAMA_CPP_BEFORE, servers.llama_cpp, 8_192),
        ("qwen3-8b", servers.LM_STUDIO, servers.lm_studio, 16_384),
        ("gemma-3-4b", servers.LM_STUDIO, servers.lm_studio, None),
        ("llama3.2:latest", servers.OLLAMA, servers.Ollama("num_ctx 16384\nstop <|end|>"), 16_384),
        ("llama3.2:latest", servers.OLLAMA, servers.Ollama("num_ctx 999999"), 131_072),
        ("llama3.2:latest", servers.OLLAMA, lambda *_: [1], None),
        ("llama3.2:latest", servers.OLLAMA, lambda *_: {"models": 7, "model_info": [], "parameters": {}}, None),
    ],
)
async def test_the_window_that_counts(
    tmp_path: Path, provider: Provider, name: str, list_: Any, native: Any, window: int | None
) -> None:
    model = await opened(provider, tmp_path, name, list_, native)
    assert await model.window_tokens() == window
    await model.close()


async def test_ollama_is_asked_to_load_a_model_whose_window_it_decides_then(tmp_path: Path, provider: Provider) -> None:
    ollama = servers.Ollama(default_tokens=32_768)
    model = await opened(provider, tmp_path, "llama3.2:latest", servers.OLLAMA, ollama)
    assert ollama.asked_to_load == [], "to be chosen is not yet to be used"
    assert [await model.window_tokens(), await model.window_tokens()] == [32_768, 32_768]
    assert ollama.asked_to_load == [{"model": "llama3.2:latest", "stream": False}], "once, and without a word"
    await model.close()
    again = await opened(provider, tmp_path, "llama3.2:latest", servers.OLLAMA, ollama)
    assert await again.window_tokens() == 32_768 and len(ollama.asked_to_load) == 1
    assert not provider.requests
    await again.close()


@pytest.mark.parametrize(
    ("capabilities", "takes"), [(("completion", "tools"), True), (("completion", "vision"), False)]
)
async def test_a_model_that_cannot_call_tools_is_given_none(
    tmp_path: Path, provider: Provider, capabilities: tuple[str, ...], takes: bool
) -> None:
    ollama = servers.Ollama(capabilities=capabilities)
    model = await opened(provider, tmp_path, "llama3.2:latest", servers.OLLAMA, ollama)
    assert model.takes_tools is takes
    await model.close()
