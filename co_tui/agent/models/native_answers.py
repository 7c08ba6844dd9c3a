"""Ask model servers about a model through their own APIs, next to the OpenAI-compatible one."""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from typing import Any, Final

from co_tui.agent.models.usual_servers import LLAMA_CPP, LM_STUDIO, OLLAMA
from co_tui.agent.wire.http import NoAnswer, ask
from co_tui.events.storable import whole_number
from co_tui.record import Record

ASK_SERVER_TIMEOUT_S: Final = 3.0
LOAD_TIMEOUT_S: Final = 120.0
"""How long loading weights may take; the first prompt would wait just as long."""
SMALLEST_WINDOW, LARGEST_WINDOW = 64, 50_000_000
"""Tokens. A window outside this range is a mistake and ignored."""
_NUM_CTX: Final = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)


class NativeAnswer(Record):
    """What a server reports about one of its models."""

    window_tokens: int | None = None
    """As the model is loaded, or certainly will be."""
    most_tokens: int | None = None
    """The model's largest window; its server may give it less."""
    takes_tools: bool = True
    makes_replies: bool = True
    """False for an embedding model."""
    sized_when_loaded: bool = False
    """Whether its server chooses the window by the available memory when it loads the weights."""


def root_of(base_url: str) -> str:
    """The base address of a server's own API."""
    return base_url.rstrip("/").removesuffix("/v1")


def plausible_window(tokens: object) -> int | None:
    """A reported window, if it is plausible."""
    counted = whole_number(tokens, LARGEST_WINDOW)
    return counted if counted is not None and counted >= SMALLEST_WINDOW else None


async def native_answer(
    base_url: str, name: str, key: str = "", *, program: str = "", timeout_s: float = ASK_SERVER_TIMEOUT_S
) -> NativeAnswer:
    """What the server reports about a model. If its program is unknown, every known API is tried."""
    apis = [_APIS[program]] if program in _APIS else list(_APIS.values())
    answers = await asyncio.gather(*(api(root_of(base_url), name, key, timeout_s) for api in apis))
    return next((each for each in answers if each is not None), NativeAnswer())


async def load(base_url: str, name: str, key: str = "") -> None:
    """Make Ollama load the weights now instead of on the first prompt; a request without a prompt only loads."""
    with contextlib.suppress(NoAnswer):  # the first prompt will report what is wrong
        await ask(f"{root_of(base_url)}/api/generate", key, {"model": name, "stream": False}, timeout_s=LOAD_TIMEOUT_S)


async def _from_ollama(root: str, name: str, key: str, timeout_s: float) -> NativeAnswer | None:
    """Ollama often loads a model with less than its full window and silently cuts longer prompts."""
    loaded, shown = await asyncio.gather(
        _asked(f"{root}/api/ps", key, timeout_s), _asked(f"{root}/api/show", key, timeout_s, {"model": name})
    )
    present = next((each for each in _objects(loaded.get("models")) if each.get("model") == name), {})
    in_use = plausible_window(present.get("context_length"))
    capabilities = shown.get("capabilities")
    most = _largest_window(shown.get("model_info"))
    if in_use is None and not shown:
        return None
    configured = _configured_window(shown.get("parameters"))
    will_have = min(configured, most or configured) if configured else None
    return NativeAnswer(
        window_tokens=in_use or will_have,
        most_tokens=most,
        takes_tools="tools" in capabilities if isinstance(capabilities, list) else True,
        makes_replies="completion" in capabilities if isinstance(capabilities, list) else True,
        sized_when_loaded=in_use is None and will_have is None,
    )


def _largest_window(model_info: object) -> int | None:
    """The window in the weights file; its key begins with the architecture."""
    if not isinstance(model_info, Mapping):
        return None
    windows = (value for key, value in model_info.items() if str(key).endswith(".context_length"))
    return plausible_window(next(windows, None))


def _configured_window(parameters: object) -> int | None:
    """The window that a Modelfile sets, in its parameters as text."""
    found = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    return plausible_window(int(found[1])) if found and len(found[1]) < 12 else None


async def _from_lm_studio(root: str, name: str, key: str, timeout_s: float) -> NativeAnswer | None:
    listed = _objects((await _asked(f"{root}/api/v0/models", key, timeout_s)).get("data"))
    entry = next((each for each in listed if each.get("id") == name), None)
    return _lm_studio_model(entry) if entry is not None and "state" in entry else None


def _lm_studio_model(entry: Mapping[str, Any]) -> NativeAnswer:
    return NativeAnswer(
        window_tokens=plausible_window(entry.get("loaded_context_length")),
        most_tokens=plausible_window(entry.get("max_context_length")),
        makes_replies=entry.get("type") != "embeddings",
    )


async def _from_llama_cpp(root: str, _: str, key: str, timeout_s: float) -> NativeAnswer | None:
    """For builds whose list of models lacks the window."""
    settings = (await _asked(f"{root}/props", key, timeout_s)).get("default_generation_settings")
    window = plausible_window(settings.get("n_ctx")) if isinstance(settings, Mapping) else None
    return NativeAnswer(window_tokens=window) if window is not None else None


async def _asked(url: str, key: str, timeout_s: float, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """A server's JSON object; empty for any other answer."""
    try:
        answer = await ask(url, key, body, timeout_s=timeout_s)
    except NoAnswer:
        return {}
    return answer if isinstance(answer, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


_APIS: Final = {OLLAMA: _from_ollama, LM_STUDIO: _from_lm_studio, LLAMA_CPP: _from_llama_cpp}
