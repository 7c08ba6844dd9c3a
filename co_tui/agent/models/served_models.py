"""What a server that speaks like OpenAI's tells about its models."""

from collections.abc import Mapping
from typing import Any

from co_tui.agent.models.listed_limits import told_window
from co_tui.agent.models.native_answers import ASK_SERVER_TIMEOUT_S, believed_window
from co_tui.agent.redact import redact
from co_tui.agent.wire.http import NoAnswer, ask
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.events.storable import storable_text


async def list_models(base_url: str, key: str, *, timeout_s: float = ASK_SERVER_TIMEOUT_S) -> list[Mapping[str, Any]]:
    """What the server says it serves. Raises `NoAnswer`."""
    listed = await ask(f"{base_url.rstrip('/')}/models", key, timeout_s=timeout_s)
    models = listed.get("data") if isinstance(listed, dict) else None
    return [entry for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []


async def first_model(base_url: str, key: str) -> str:
    """The name of the first one it serves. Raises `ModelUnusable`."""
    try:
        name = next((name for entry in await list_models(base_url, key) if (name := name_of(entry))), None)
        if name is None:
            raise NoAnswer("it lists no model")
    except NoAnswer as why:
        raise ModelUnusable(f"{told_silent(base_url, key, why)} Name one with --model openai-chat:NAME.") from None
    return name


async def window_from_server(base_url: str, name: str, key: str) -> int | None:
    """The window as llama.cpp or vLLM tell it; None when the server does not."""
    try:
        entries = await list_models(base_url, key)
    except NoAnswer:
        return None
    entry = next((entry for entry in entries if entry.get("id") == name), None)
    return window_of(entry) if entry is not None else None


def name_of(entry: Mapping[str, Any]) -> str:
    """How to ask for a model of the list; empty for an entry without a name."""
    name = entry.get("id")
    return storable_text(name) if isinstance(name, str) else ""


def window_of(entry: Mapping[str, Any]) -> int | None:
    return believed_window(told_window(entry))


def told_silent(base_url: str, key: str, why: NoAnswer) -> str:
    """The sentence about a server that does not list its models."""
    told = f"The server at {redact(base_url, (key,))} does not tell its models ({redact(str(why), (key,))});"
    return f"{told} is it running?"
