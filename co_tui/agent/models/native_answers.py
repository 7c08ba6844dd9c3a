"""What servers of models tell in their own words, beside the interface that they share with OpenAI's."""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from typing import Any, Final

from co_tui.agent.wire.http import NoAnswer, ask
from co_tui.events.storable import whole_number
from co_tui.record import Record

ASK_SERVER_TIMEOUT_S: Final = 3.0
LOAD_TIMEOUT_S: Final = 120.0
"""How long weights may take to be read; the first prompt would wait for the same."""
SMALLEST_WINDOW, LARGEST_WINDOW = 64, 50_000_000
"""Tokens. A window outside of this is a mistake, and is not believed."""
_NUM_CTX: Final = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)


class NativeAnswer(Record):
    """What a server knows of one of its models."""

    window_tokens: int | None = None
    """Of the model as it is loaded, or as it surely will be."""
    most_tokens: int | None = None
    """What the model was made for; its server may give it less."""
    takes_tools: bool = True
    makes_replies: bool = True
    """False for one that makes vectors."""
    sized_when_loaded: bool = False
    """Its server decides about the window when it reads the weights, by the memory there is."""


def root_of(base_url: str) -> str:
    """Where a server has its own interface."""
    return base_url.rstrip("/").removesuffix("/v1")


def believed_window(tokens: object) -> int | None:
    """A window as somebody told it, when it can be one."""
    counted = whole_number(tokens, LARGEST_WINDOW)
    return counted if counted is not None and counted >= SMALLEST_WINDOW else None


async def native_answer(
    base_url: str, name: str, key: str = "", *, program: str = "", timeout_s: float = ASK_SERVER_TIMEOUT_S
) -> NativeAnswer:
    """Whatever the server tells about a model. When nobody knows which program it is, it is asked as each of them."""
    ways = [_WAYS[program]] if program in _WAYS else list(_WAYS.values())
    told = await asyncio.gather(*(way(root_of(base_url), name, key, timeout_s) for way in ways))
    return next((each for each in told if each is not None), NativeAnswer())


async def load(base_url: str, name: str, key: str = "") -> None:
    """Let Ollama read the weights, which the first prompt would do: a request without a prompt does only that."""
    with contextlib.suppress(NoAnswer):  # the first prompt will say what is wrong
        await ask(f"{root_of(base_url)}/api/generate", key, {"model": name, "stream": False}, timeout_s=LOAD_TIMEOUT_S)


async def _from_ollama(root: str, name: str, key: str, timeout_s: float) -> NativeAnswer | None:
    """What it gave a loaded model is often less than the model has, and what is more is cut silently."""
    loaded, shown = await asyncio.gather(
        _asked(f"{root}/api/ps", key, timeout_s), _asked(f"{root}/api/show", key, timeout_s, {"model": name})
    )
    present = next((each for each in _objects(loaded.get("models")) if each.get("model") == name), {})
    in_use = believed_window(present.get("context_length"))
    capabilities = shown.get("capabilities")
    most = _most(shown.get("model_info"))
    if in_use is None and not shown:
        return None
    wanted = _wanted(shown.get("parameters"))
    will_have = min(wanted, most or wanted) if wanted else None
    return NativeAnswer(
        window_tokens=in_use or will_have,
        most_tokens=most,
        takes_tools="tools" in capabilities if isinstance(capabilities, list) else True,
        makes_replies="completion" in capabilities if isinstance(capabilities, list) else True,
        sized_when_loaded=in_use is None and will_have is None,
    )


def _most(model_info: object) -> int | None:
    """The window in the file of weights; its key begins with the architecture."""
    if not isinstance(model_info, Mapping):
        return None
    told = (value for key, value in model_info.items() if str(key).endswith(".context_length"))
    return believed_window(next(told, None))


def _wanted(parameters: object) -> int | None:
    """The window that a Modelfile asks for, among its parameters, which come as text."""
    found = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    return believed_window(int(found[1])) if found and len(found[1]) < 12 else None


async def _from_lm_studio(root: str, name: str, key: str, timeout_s: float) -> NativeAnswer | None:
    listed = _objects((await _asked(f"{root}/api/v0/models", key, timeout_s)).get("data"))
    entry = next((each for each in listed if each.get("id") == name), None)
    return _lm_studio_model(entry) if entry is not None and "state" in entry else None


def _lm_studio_model(entry: Mapping[str, Any]) -> NativeAnswer:
    return NativeAnswer(
        window_tokens=believed_window(entry.get("loaded_context_length")),
        most_tokens=believed_window(entry.get("max_context_length")),
        makes_replies=entry.get("type") != "embeddings",
    )


async def _from_llama_cpp(root: str, _: str, key: str, timeout_s: float) -> NativeAnswer | None:
    """Builds whose list of models does not tell the window."""
    settings = (await _asked(f"{root}/props", key, timeout_s)).get("default_generation_settings")
    window = believed_window(settings.get("n_ctx")) if isinstance(settings, Mapping) else None
    return NativeAnswer(window_tokens=window) if window is not None else None


async def _asked(url: str, key: str, timeout_s: float, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """An answer that is an object; an empty one for anything else."""
    try:
        told = await ask(url, key, body, timeout_s=timeout_s)
    except NoAnswer:
        return {}
    return told if isinstance(told, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


OLLAMA, LM_STUDIO, LLAMA_CPP = "Ollama", "LM Studio", "llama.cpp"
_WAYS: Final = {OLLAMA: _from_ollama, LM_STUDIO: _from_lm_studio, LLAMA_CPP: _from_llama_cpp}
