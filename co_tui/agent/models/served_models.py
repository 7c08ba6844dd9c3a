"""Ask an OpenAI-compatible server about its models."""

from collections.abc import Iterator, Mapping
from typing import Any

from co_tui.agent.models.native_answers import ASK_SERVER_TIMEOUT_S, plausible_window
from co_tui.agent.redact import redact
from co_tui.agent.wire.http import NoAnswer, ask
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.events.storable import storable_text


async def list_models(base_url: str, key: str, *, timeout_s: float = ASK_SERVER_TIMEOUT_S) -> list[Mapping[str, Any]]:
    """The server's list of models. Raises `NoAnswer`."""
    listed = await ask(f"{base_url.rstrip('/')}/models", key, timeout_s=timeout_s)
    models = listed.get("data") if isinstance(listed, dict) else None
    return [entry for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []


async def first_model(base_url: str, key: str) -> str:
    """The name of the server's first model. Raises `ModelUnusable`."""
    try:
        name = next((name for entry in await list_models(base_url, key) if (name := name_of(entry))), None)
        if name is None:
            raise NoAnswer("it lists no models")
    except NoAnswer as why:
        raise ModelUnusable(
            f"{silent_server_text(base_url, key, why)} Name a model with --model openai-chat:NAME."
        ) from None
    return name


async def window_from_server(base_url: str, name: str, key: str) -> int | None:
    """The window as llama.cpp or vLLM report it; None when the server does not."""
    try:
        entries = await list_models(base_url, key)
    except NoAnswer:
        return None
    entry = next((entry for entry in entries if entry.get("id") == name), None)
    return window_of(entry) if entry is not None else None


def name_of(entry: Mapping[str, Any]) -> str:
    """The name of a listed model; empty without one."""
    name = entry.get("id")
    return storable_text(name) if isinstance(name, str) else ""


def window_of(entry: Mapping[str, Any]) -> int | None:
    return plausible_window(listed_window(entry))


def silent_server_text(base_url: str, key: str, why: NoAnswer) -> str:
    """The sentence about a server that does not list its models."""
    text = f"The server at {redact(base_url, (key,))} does not list its models ({redact(str(why), (key,))})."
    return f"{text} Is it running?"


def listed_window(entry: Mapping[str, Any]) -> int | None:
    """The longest prompt, else the window, in tokens, from a server's list of models; None when it names neither."""
    limits = [value for value in _limits(entry) if isinstance(value, int) and not isinstance(value, bool) and value > 0]
    return min(limits, default=None)


def _limits(entry: Mapping[str, Any]) -> Iterator[Any]:
    """The fields that the servers we know use for it."""
    capabilities = entry.get("capabilities")
    limits = capabilities.get("limits") if isinstance(capabilities, Mapping) else None
    if isinstance(limits, Mapping):
        yield from (limits.get("max_prompt_tokens"), limits.get("max_context_window_tokens"))
    meta = entry.get("meta")
    if isinstance(meta, Mapping):
        yield meta.get("n_ctx")
    yield from (entry.get("max_model_len"), entry.get("max_input_tokens"), entry.get("max_prompt_tokens"))
