"""Open the model a model string names; providers are imported only when needed."""

import asyncio
import contextlib
import importlib
import importlib.util
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from co_tui.agent.keys.kept_keys import KeyUnavailable
from co_tui.agent.keys.key_servers import KeyOwner, host_of, key_owner
from co_tui.agent.lean_imports import without_unused_parts
from co_tui.agent.local.local_models import open_embedded, open_gguf
from co_tui.agent.models.catalogue import BASE_URL_VARIABLE, EMBEDDED, provider_of
from co_tui.agent.models.known_models import known_names as known_names
from co_tui.agent.models.known_models import recorded_window as recorded_window
from co_tui.agent.models.known_models import unknown_model
from co_tui.agent.models.model_handle import Connected, connect_compatible, request_settings
from co_tui.agent.models.model_handle import ModelConfig as ModelConfig
from co_tui.agent.models.model_handle import ModelHandle as ModelHandle
from co_tui.agent.models.model_handle import config_for as config_for
from co_tui.agent.models.native_answers import NativeAnswer, load, native_answer, plausible_window
from co_tui.agent.models.prices import is_published
from co_tui.agent.models.served_models import first_model, list_models, name_of, silent_server_text, window_from_server
from co_tui.agent.models.server_counting import TokenCounter
from co_tui.agent.redact import KEY_VARIABLES, redact
from co_tui.agent.wire.guarded_model import GuardedModel
from co_tui.agent.wire.http import NoAnswer, new_client, new_httpx_client
from co_tui.agent.wire.model_errors import KeyMissing, ModelUnusable
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.events.model_names import EXAMPLE_MODEL, EXAMPLE_WINDOW_TOKENS, Served, is_file, served
from co_tui.inert import one_line
from co_tui.settings.rules import has_password

_OPTIONAL_PACKAGES: Final = {"groq": "groq", "mistral": "mistralai", "xai": "xai_sdk"}
"""The libraries of providers that are not installed with co-tui, by prefix."""


class FoundKey(NamedTuple):
    """A key, and where it comes from."""

    key: str = ""
    source: str = ""
    """A variable, or where it is kept, in words."""
    host: str = ""
    """The only host a kept key may be sent to; empty for one of the environment."""

    def require_host(self, model: str, address: str) -> None:
        """Refuse to send a kept key to another host than it was entered for. Raises `ModelUnusable`."""
        if self.host and host_of(address) != self.host:
            raise ModelUnusable(
                f"{model} is at {redact(host_of(address)) or 'an unknown address'}, but the saved key is for "
                f"{self.host}. Set the key in the environment instead."
            )


async def find_key(owner: KeyOwner, config: ModelConfig) -> FoundKey:
    """An owner's key; empty when there is none. Raises `ModelUnusable` when a kept one cannot be read."""
    if key := owner.key_in(config.environ):
        return FoundKey(key, owner.variable_in(config.environ))
    kept = config.keys.find(owner) if config.keys is not None else None
    if kept is None or config.keys is None:  # one that was refused may be accepted again
        name = next((name for name in owner.variables if config.environ.get(name)), "")
        return FoundKey(config.environ.get(name, ""), name)
    try:
        key = await asyncio.to_thread(config.keys.read, owner)
    except KeyUnavailable as why:
        raise ModelUnusable(str(why)) from None
    return FoundKey(key, config.keys.place_of(kept.place), owner.host)


async def _provider_key(model: str, config: ModelConfig) -> FoundKey:
    """The key that a provider's model needs; empty when it needs none. Raises `KeyMissing` or `ModelUnusable`."""
    prefix = model.partition(":")[0]
    owner = key_owner(prefix, config.environ)
    if owner is None:
        return FoundKey()
    found = await find_key(owner, config)
    if not found.key:
        variables = " or ".join(owner.variables)
        raise KeyMissing(
            f"{model} needs a key. Run `co-tui login {owner.provider}`, start co-tui with {variables} set, or choose "
            "another model with /model or --model."
        )
    return found


async def open_model(name: str, config: ModelConfig) -> ModelHandle:
    """Open a model without sending it anything. Raises `ModelUnusable` with a sentence."""
    if name == EMBEDDED or name.startswith(f"{EMBEDDED}:"):
        return open_embedded(config)
    if is_file(name):
        return open_gguf(name, config)
    _require_no_password(name, "the model")
    if name == EXAMPLE_MODEL:
        return RecordedModel()
    if (target := served(name)) is not None:
        return await _open_served(target, config)
    return await _open_provider(name, config)


def _require_no_password(address: str, what: str) -> None:
    """Raises `ModelUnusable` for an address with a user name or password, which every log would have."""
    if has_password(address):
        raise ModelUnusable(f"The address of {what} has a user name or password. Remove it; `co-tui login` keeps keys.")


async def check_model(name: str, config: ModelConfig) -> None:
    """Check a model as far as possible without sending it anything. Raises `ModelUnusable`."""
    if name != EMBEDDED and not is_file(name) and provider_of(name) is None and name not in known_names():
        raise ModelUnusable(unknown_model(name))
    opened = await open_model(name, config)
    await opened.close()
    if (target := served(name)) is not None:
        base_url, found = await _server_of(target, config)
        await _check_served(target.name, base_url, found.key)


async def _check_served(name: str, base_url: str, key: str) -> None:
    if not base_url:
        return
    try:
        names = [name_of(entry) for entry in await list_models(base_url, key)]
    except NoAnswer as why:
        raise ModelUnusable(silent_server_text(base_url, key, why)) from None
    if name and names and name not in names:
        offered = ", ".join(one_line(each, 60) for each in names[:5])
        raise ModelUnusable(f"The server at {redact(base_url, (key,))} does not serve {name}. It serves {offered}.")


def _lean_imports(name: str) -> contextlib.AbstractContextManager[None]:
    """For importing the library of a model; those that are not installed with co-tui cannot be without `httpx`."""
    return contextlib.nullcontext() if name.partition(":")[0] in _OPTIONAL_PACKAGES else without_unused_parts()


def preload(name: str) -> None:
    """Import the provider's code before its first use. Slow: call it in a thread."""
    prefix = name.partition(":")[0]
    module = {"anthropic": "anthropic", "google": "google", "groq": "groq", "mistral": "mistral"}.get(prefix, "openai")
    # Opening the model will report what is missing.
    with contextlib.suppress(ImportError), _lean_imports(name):
        importlib.import_module(f"pydantic_ai.models.{module}")


@dataclass(slots=True)
class RecordedModel:
    """The model of the example session: it has a window, and answers nothing."""

    name: str = EXAMPLE_MODEL
    settings: ModelSettings = field(default_factory=ModelSettings)
    takes_tools: bool = True
    one_at_a_time: bool = False

    @property
    def asked(self) -> RequestTarget:
        return RequestTarget(self.name)

    async def model(self) -> Model:
        raise ModelUnusable(f"{self.name} is only a recording. Choose a model with /model or --model.")

    async def window_tokens(self) -> int | None:
        return EXAMPLE_WINDOW_TOKENS

    async def count_tokens(self, text: str) -> int | None:
        return None

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(slots=True)
class ProviderModel:
    """A model of a provider or of a compatible server."""

    name: str
    settings: ModelSettings
    asked: RequestTarget
    connected: Connected
    known_window_tokens: int | None
    counter: TokenCounter | None = None
    """Only for a server the user configured: counting must not send text to a public provider early."""
    takes_tools: bool = True
    one_at_a_time: bool = False
    window_when_loaded: Callable[[], Awaitable[int | None]] | None = None
    """Loads the model and returns its window, if that is only known once it is loaded."""

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


async def _open_provider(name: str, config: ModelConfig) -> ProviderModel:
    provider = provider_of(name)
    if provider is not None:
        _require_package(name)
    found = await _provider_key(name, config)
    clients: list[Any] = []
    try:
        with _lean_imports(name):
            model = infer_model(name, lambda prefix: _provider(prefix, found.key, clients))
    except ImportError as error:
        raise ModelUnusable(f"{name} needs a missing package: {error}") from None
    except (UserError, ValueError) as error:
        if provider is not None:
            raise ModelUnusable(f"Cannot use {name}: {redact(str(error), _secrets(config))}") from None
        raise ModelUnusable(unknown_model(name)) from None
    address = _address_of(model)
    _require_no_password(address, name)
    found.require_host(name, address)
    return ProviderModel(
        name=name,
        settings=request_settings(config, caches=_knows_caches(model.system, address)),
        asked=RequestTarget(name, address, (*_secrets(config), found.key), found.source, found.key),
        connected=Connected(GuardedModel(model), clients[0] if clients else new_client()),
        known_window_tokens=plausible_window(model.context_window),
    )


def _require_package(name: str) -> None:
    """Raises `ModelUnusable` when the provider's library is missing, before anyone enters a key for it.

    Only looks for it: importing a provider takes seconds.
    """
    prefix = name.partition(":")[0]
    package = _OPTIONAL_PACKAGES.get(prefix)
    if package is not None and importlib.util.find_spec(package) is None:
        raise ModelUnusable(f"{name} needs a missing package: install `pydantic-ai-slim[{prefix}]` next to co-tui.")


def _provider(prefix: str, key: str, clients: list[Any]) -> Provider[Any]:
    """The library's provider, with our own HTTP client if possible, which is added to `clients`: bounded replies, no
    redirects. Without a key of ours, it looks for one itself."""
    build: Callable[..., Provider[Any]] = infer_provider_class(prefix)  # each kind has its own arguments
    taken = inspect.signature(build).parameters
    wanted = str(taken["http_client"].annotation) if "http_client" in taken else ""
    client = new_httpx_client() if "httpx.AsyncClient" in wanted else new_client()
    clients.append(client)
    if prefix in ("openai", "openai-chat", "openai-responses"):
        from co_tui.agent.wire.compatible import OpenAIClient

        return build(openai_client=OpenAIClient(api_key=key or None, http_client=client))
    given = {"http_client": client, **({"api_key": key} if key else {})}
    return build(**{name: value for name, value in given.items() if name in taken})


async def _open_served(target: Served, config: ModelConfig) -> ProviderModel:
    """Open a model on its own server or the configured one; without a name, the server's first."""
    base_url, found = await _server_of(target, config)
    key = found.key
    if not base_url:
        if not key:
            raise ModelUnusable(
                f"{target.model} needs a server. Set base_url or {BASE_URL_VARIABLE} to its address, or run "
                "`co-tui login openai` for OpenAI."
            )
        return await _open_provider(target.model, config)
    _require_no_password(base_url, target.model)
    if not base_url.startswith(("http://", "https://")):
        raise ModelUnusable(
            f"{BASE_URL_VARIABLE} is {one_line(redact(base_url, (key,)), 80)!r}, not a server address. "
            "It must start with http:// or https://."
        )
    if not target.name:
        target = target._replace(name=await first_model(base_url, key))
    connected = connect_compatible(target.name, base_url, key)
    window, native = await window_from_server(base_url, target.name, key), NativeAnswer()
    if window is None and is_published(base_url):
        window = plausible_window(connected.model.context_window)
    elif window is None:
        native = await native_answer(base_url, target.name, key)
    return ProviderModel(
        name=target.model,
        settings=request_settings(config, caches=_knows_caches("openai", base_url)),
        asked=RequestTarget(target.model, base_url, (*_secrets(config), key), found.source, key),
        connected=connected,
        known_window_tokens=window or native.window_tokens,
        counter=TokenCounter(base_url, target.name, key),
        takes_tools=native.takes_tools,
        window_when_loaded=partial(_load_and_ask, base_url, target.name, key) if native.sized_when_loaded else None,
    )


async def _load_and_ask(base_url: str, name: str, key: str) -> int | None:
    await load(base_url, name, key)
    return (await native_answer(base_url, name, key)).window_tokens


async def _server_of(target: Served, config: ModelConfig) -> tuple[str, FoundKey]:
    """The server's address and its key; only the configured server gets one."""
    configured = config.base_url or config.environ.get(BASE_URL_VARIABLE, "")
    if target.address and target.address.rstrip("/") != configured.rstrip("/"):
        return target.address, FoundKey()
    owner = key_owner("openai-chat", config.environ, config.base_url)
    return configured, await find_key(owner, config) if owner is not None else FoundKey()


def _knows_caches(system: str, address: str) -> bool:
    """Whether the cache option may be sent; servers that are merely compatible with OpenAI may refuse it."""
    return system != "openai" or is_published(address)


def _address_of(model: Model) -> str:
    try:
        return model.base_url or ""
    except Exception:  # clients without an address raise different errors
        return ""


def _secrets(config: ModelConfig) -> tuple[str, ...]:
    return tuple(value for variable in KEY_VARIABLES if (value := config.environ.get(variable)))
