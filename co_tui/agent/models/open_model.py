"""From a model string to a model that answers; providers are imported only when they are asked for."""

import contextlib
import importlib
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from co_tui.agent.local.local_models import open_embedded, open_gguf
from co_tui.agent.models.catalogue import BASE_URL_VARIABLE, EMBEDDED, Served, is_file, provider_of, served
from co_tui.agent.models.connected_model import Connected, connect_compatible
from co_tui.agent.models.known_models import known_names as known_names
from co_tui.agent.models.known_models import recorded_window as recorded_window
from co_tui.agent.models.known_models import unknown_model
from co_tui.agent.models.model_handle import ModelConfig as ModelConfig
from co_tui.agent.models.model_handle import ModelHandle as ModelHandle
from co_tui.agent.models.model_handle import config_for as config_for
from co_tui.agent.models.model_handle import request_settings
from co_tui.agent.models.native_answers import NativeAnswer, believed_window, load, native_answer
from co_tui.agent.models.prices import is_published
from co_tui.agent.models.served_models import first_model, list_models, name_of, told_silent, window_from_server
from co_tui.agent.models.server_counting import TokenCounter
from co_tui.agent.redact import KEY_VARIABLES, redact
from co_tui.agent.wire.guarded_model import GuardedModel
from co_tui.agent.wire.http import NoAnswer, new_client
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.agent.wire.request_failures import Asked
from co_tui.inert import one_line


async def open_model(name: str, config: ModelConfig) -> ModelHandle:
    """Resolve a model string. Raises `ModelUnusable` with a sentence; sends nothing to any model."""
    if name == EMBEDDED or name.startswith(f"{EMBEDDED}:"):
        return open_embedded(config)
    if is_file(name):
        return open_gguf(name, config)
    if (wanted := served(name)) is not None:
        return await _open_served(wanted, config)
    return _open_provider(name, config)


async def check_model(name: str, config: ModelConfig) -> None:
    """Whether it could answer, as far as that shows without sending it anything. Raises `ModelUnusable`."""
    if name != EMBEDDED and not is_file(name) and provider_of(name) is None and name not in known_names():
        raise ModelUnusable(unknown_model(name))
    opened = await open_model(name, config)
    await opened.close()
    if (wanted := served(name)) is not None:
        await _check_served(wanted.name, *_server_of(wanted, config))


async def _check_served(name: str, base_url: str, key: str) -> None:
    if not base_url:
        return
    try:
        names = [name_of(entry) for entry in await list_models(base_url, key)]
    except NoAnswer as why:
        raise ModelUnusable(told_silent(base_url, key, why)) from None
    if name and names and name not in names:
        told = ", ".join(one_line(each, 60) for each in names[:5])
        raise ModelUnusable(f"The server at {redact(base_url, (key,))} does not serve {name}, but {told}.")


def preload(name: str) -> None:
    """Import the provider's code ahead of its first use; slow, so meant for a thread."""
    prefix = name.partition(":")[0]
    module = {"anthropic": "anthropic", "google": "google", "groq": "groq", "mistral": "mistral"}.get(prefix, "openai")
    with contextlib.suppress(ImportError):  # opening the model will say what is missing
        importlib.import_module(f"pydantic_ai.models.{module}")


@dataclass(slots=True)
class ProviderModel:
    """A model of a provider, or of any server that speaks like one."""

    name: str
    settings: ModelSettings
    asked: Asked
    connected: Connected
    known_window_tokens: int | None
    counter: TokenCounter | None = None
    """Only for a server the user named: a public provider would be told what was not meant for it yet."""
    takes_tools: bool = True
    one_seat: bool = False
    window_when_loaded: Callable[[], Awaitable[int | None]] | None = None
    """Has its server load it and tell the window it then has; for one whose window nobody knows before."""

    async def model(self) -> Model:
        return self.connected.model

    async def window_tokens(self) -> int | None:
        find_out, self.window_when_loaded = self.window_when_loaded, None
        if find_out is not None:
            self.known_window_tokens = await find_out()
        return self.known_window_tokens

    async def count_tokens(self, text: str) -> int | None:
        return await self.counter.count(text) if self.counter else None

    async def close(self) -> None:
        await self.connected.close()


def _open_provider(name: str, config: ModelConfig) -> ProviderModel:
    provider = provider_of(name)
    if provider is not None and not provider.has_key(config.environ):
        variables = " or ".join(provider.key_variables)
        raise ModelUnusable(
            f"{name} needs a key: start co-tui with {variables} in its environment, or choose another model with "
            "/model or --model."
        )
    client = new_client()
    try:
        model = infer_model(name, lambda prefix: _provider(prefix, client))
    except ImportError as error:
        raise ModelUnusable(f"{name} needs a package that is not installed: {error}") from None
    except (UserError, ValueError) as error:
        if provider is not None:
            raise ModelUnusable(f"{name} cannot be used: {redact(str(error), _secrets(config))}") from None
        raise ModelUnusable(unknown_model(name)) from None
    address = _address_of(model)
    return ProviderModel(
        name=name,
        settings=request_settings(config, caches=_knows_caches(model.system, address)),
        asked=Asked(name, address, _secrets(config)),
        connected=Connected(GuardedModel(model), client),
        known_window_tokens=believed_window(model.context_window),
    )


def _provider(prefix: str, client: httpx2.AsyncClient) -> Provider[Any]:
    """The library's provider, on our own client where it takes one: replies are bounded, redirects not followed."""
    build: Callable[..., Provider[Any]] = infer_provider_class(prefix)  # each kind has arguments of its own
    if prefix in ("openai", "openai-chat", "openai-responses"):
        from co_tui.agent.wire.openai_client import OpenAIClient

        return build(openai_client=OpenAIClient(http_client=client))
    takes_client = "http_client" in inspect.signature(build).parameters
    return build(http_client=client) if takes_client else build()


async def _open_served(wanted: Served, config: ModelConfig) -> ProviderModel:
    """On its own server or the configured one; without a name, the server's first model."""
    base_url, key = _server_of(wanted, config)
    if not base_url:
        if not key:
            raise ModelUnusable(
                f"{wanted.model} needs a server: set base_url or {BASE_URL_VARIABLE} to its address, "
                "or OPENAI_API_KEY to ask OpenAI."
            )
        return _open_provider(wanted.model, config)
    if not base_url.startswith(("http://", "https://")):
        raise ModelUnusable(
            f"{BASE_URL_VARIABLE} is {one_line(redact(base_url, (key,)), 80)!r}, which is no address of a server: "
            "it has to begin with http:// or https://."
        )
    if not wanted.name:
        wanted = wanted._replace(name=await first_model(base_url, key))
    connected = connect_compatible(wanted.name, base_url, key)
    window, native = await window_from_server(base_url, wanted.name, key), NativeAnswer()
    if window is None and is_published(base_url):
        window = believed_window(connected.model.context_window)
    elif window is None:
        native = await native_answer(base_url, wanted.name, key)
    return ProviderModel(
        name=wanted.model,
        settings=request_settings(config, caches=_knows_caches("openai", base_url)),
        asked=Asked(wanted.model, base_url, _secrets(config)),
        connected=connected,
        known_window_tokens=window or native.window_tokens,
        counter=TokenCounter(base_url, wanted.name, key),
        takes_tools=native.takes_tools,
        window_when_loaded=partial(_load_and_ask, base_url, wanted.name, key) if native.sized_when_loaded else None,
    )


async def _load_and_ask(base_url: str, name: str, key: str) -> int | None:
    await load(base_url, name, key)
    return (await native_answer(base_url, name, key)).window_tokens


def _server_of(wanted: Served, config: ModelConfig) -> tuple[str, str]:
    """The server's address, and the key that is meant for it: one that was found or typed gets none."""
    configured = config.base_url or config.environ.get(BASE_URL_VARIABLE, "")
    key = config.environ.get("OPENAI_API_KEY", "")
    if wanted.address and wanted.address.rstrip("/") != configured.rstrip("/"):
        return wanted.address, ""
    return configured, key


def _knows_caches(system: str, address: str) -> bool:
    """Servers that only speak like OpenAI's may refuse what they never heard of."""
    return system != "openai" or is_published(address)


def _address_of(model: Model) -> str:
    try:
        return model.base_url or ""
    except Exception:  # each provider's client has its own way of not having one
        return ""


def _secrets(config: ModelConfig) -> tuple[str, ...]:
    return tuple(value for variable in KEY_VARIABLES if (value := config.environ.get(variable)))
