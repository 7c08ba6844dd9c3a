"""From a model string to a model that answers; providers are imported only when they are asked for."""

import contextlib
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import KnownModelName, Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from co_tui.agent.catalogue import BASE_URL_VARIABLE, EMBEDDED, PROVIDERS, provider_of
from co_tui.agent.counting import TokenCounter
from co_tui.agent.embedded import ALIAS, EmbeddedServer
from co_tui.agent.errors import ModelUnusable
from co_tui.agent.failures import Asked
from co_tui.agent.guarded import GuardedModel
from co_tui.agent.prices import is_published
from co_tui.agent.redact import KEY_VARIABLES, redact, without_secrets
from co_tui.agent.told_limits import told_window
from co_tui.agent.wire import NoAnswer, ask, new_client
from co_tui.events.storable import storable_text, whole
from co_tui.inert import one_line
from co_tui.settings import Settings

ASK_SERVER_TIMEOUT_S = 3.0
EMBEDDED_REPLY_TOKENS = 512
SMALLEST_WINDOW, LARGEST_WINDOW = 64, 50_000_000
"""Tokens. A window outside of this is a mistake, and is not believed."""


class ModelHandle(Protocol):
    """A model ready to be asked, with what a turn needs to know about it."""

    @property
    def name(self) -> str: ...
    @property
    def settings(self) -> ModelSettings: ...
    @property
    def takes_tools(self) -> bool: ...
    @property
    def one_seat(self) -> bool:
        """Whether it serves one request at a time: a second one waits for the first."""
        ...

    @property
    def asked(self) -> Asked:
        """Whom a failure is about."""
        ...

    async def model(self) -> Model:
        """The model to send the next request to; may start a process first."""
        ...

    async def window_tokens(self) -> int | None:
        """The model's window as far as anybody tells."""
        ...

    async def count_tokens(self, text: str) -> int | None:
        """The model's own count of a text; None when nobody offers to count. Never raises."""
        ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class ModelConfig:
    """What resolving needs from settings and environment."""

    environ: Mapping[str, str]
    fetched_models: Path
    base_url: str = ""
    context_window: int = 0
    request_timeout_s: float = 300.0


def config_for(settings: Settings, environ: Mapping[str, str], fetched_models: Path) -> ModelConfig:
    """What the settings say about reaching models."""
    return ModelConfig(
        environ=environ,
        fetched_models=fetched_models,
        base_url=settings.base_url,
        context_window=settings.context_window,
        request_timeout_s=settings.request_timeout_s,
    )


async def open_model(name: str, config: ModelConfig) -> ModelHandle:
    """Resolve a model string. Raises `ModelUnusable` with a sentence; sends nothing to any model."""
    if name == EMBEDDED or name.startswith(f"{EMBEDDED}:"):
        return EmbeddedModel(config)
    if name.partition(":")[0] == "openai-chat":
        return await _open_compatible(name, config)
    return _open_provider(name, config)


async def check_model(name: str, config: ModelConfig) -> None:
    """Whether it could answer, as far as that shows without sending it anything. Raises `ModelUnusable`."""
    if name != EMBEDDED and provider_of(name) is None and name not in known_names():
        raise ModelUnusable(_unknown(name))
    opened = await open_model(name, config)
    await opened.close()
    base_url = config.base_url or config.environ.get(BASE_URL_VARIABLE, "")
    if base_url and name.partition(":")[0] == "openai-chat":
        key = config.environ.get("OPENAI_API_KEY", "")
        try:
            served = [entry.get("id") for entry in await _list_models(base_url, key)]
        except NoAnswer as why:
            raise ModelUnusable(_silent(base_url, key, why)) from None
        wanted = name.partition(":")[2]
        if wanted and served and wanted not in served:
            names = ", ".join(one_line(str(each), 60) for each in served[:5])
            raise ModelUnusable(f"The server at {redact(base_url, (key,))} does not serve {wanted}, but {names}.")


def preload(name: str) -> None:
    """Import the provider's code ahead of its first use; slow, so meant for a thread."""
    prefix = name.partition(":")[0]
    module = {"anthropic": "anthropic", "google": "google", "groq": "groq", "mistral": "mistral"}.get(prefix, "openai")
    with contextlib.suppress(ImportError):  # opening the model will say what is missing
        importlib.import_module(f"pydantic_ai.models.{module}")


def _request_settings(config: ModelConfig) -> ModelSettings:
    # Retries are ours: each is an event the user can see, so the provider's library makes none.
    return ModelSettings(max_retries=0, timeout=config.request_timeout_s)


@dataclass(slots=True)
class EmbeddedModel:
    """The model that comes along: no key, no network."""

    config: ModelConfig
    _server: EmbeddedServer = field(init=False)
    _built: "tuple[str, _Reached] | None" = None
    _counter: TokenCounter | None = None
    name: str = EMBEDDED
    takes_tools: bool = False
    one_seat: bool = True

    def __post_init__(self) -> None:
        self._server = EmbeddedServer(
            self.config.fetched_models, self.config.context_window, without_secrets(self.config.environ)
        )

    @property
    def settings(self) -> ModelSettings:
        # At temperature 0 so small a model repeats itself for ever; much above this it loses the thread.
        return ModelSettings(
            **_request_settings(self.config),
            temperature=0.2,
            top_p=0.9,
            max_tokens=EMBEDDED_REPLY_TOKENS,
            extra_body={"repeat_penalty": 1.1},
        )

    @property
    def asked(self) -> Asked:
        return Asked(self.name)

    async def model(self) -> Model:
        address = await self._server.address()
        if self._built is None or self._built[0] != address:
            await self._disconnect()
            self._built = (address, _compatible(ALIAS, f"{address}/v1", "embedded"))
        return self._built[1].model

    async def window_tokens(self) -> int | None:
        address = await self._server.address()
        return await _window_from_server(f"{address}/v1", ALIAS, "")

    async def count_tokens(self, text: str) -> int | None:
        try:
            address = await self._server.address()
        except (ModelUnusable, OSError):
            return None
        if self._counter is None or self._counter.base_url != address:
            self._counter = TokenCounter(address, ALIAS)
        return await self._counter.count(text)

    async def close(self) -> None:
        await self._disconnect()
        await self._server.close()

    async def _disconnect(self) -> None:
        built, self._built = self._built, None
        if built is not None:
            await built[1].close()


@dataclass(slots=True)
class _Reached:
    """A model and the connections to its server."""

    model: Model
    client: httpx2.AsyncClient

    async def close(self) -> None:
        await self.client.aclose()


@dataclass(slots=True)
class ProviderModel:
    """A model of a provider, or of any server that speaks like one."""

    name: str
    settings: ModelSettings
    asked: Asked
    reached: _Reached
    known_window_tokens: int | None
    counter: TokenCounter | None = None
    """Only for a server the user named: a public provider would be told what was not meant for it yet."""
    takes_tools: bool = True
    one_seat: bool = False

    async def model(self) -> Model:
        return self.reached.model

    async def window_tokens(self) -> int | None:
        return self.known_window_tokens

    async def count_tokens(self, text: str) -> int | None:
        return await self.counter.count(text) if self.counter else None

    async def close(self) -> None:
        await self.reached.close()


def _open_provider(name: str, config: ModelConfig) -> ProviderModel:
    provider = provider_of(name)
    if provider is not None and not provider.has_key(config.environ):
        variables = " or ".join(provider.key_variables)
        raise ModelUnusable(f"{name} needs a key: set {variables}, or choose another model with --model.")
    client = new_client()
    try:
        model = infer_model(name, lambda prefix: _provider(prefix, client))
    except ImportError as error:
        raise ModelUnusable(f"{name} needs a package that is not installed: {error}") from None
    except (UserError, ValueError) as error:
        if provider is not None:
            raise ModelUnusable(f"{name} cannot be used: {redact(str(error), _secrets(config))}") from None
        raise ModelUnusable(_unknown(name)) from None
    return ProviderModel(
        name=name,
        settings=_request_settings(config),
        asked=Asked(name, _address_of(model), _secrets(config)),
        reached=_Reached(GuardedModel(model), client),
        known_window_tokens=_believed(model.context_window),
    )


def _provider(prefix: str, client: httpx2.AsyncClient) -> Provider[Any]:
    """The library's provider, on our own client where it takes one: replies are bounded, redirects not followed."""
    build: Callable[..., Provider[Any]] = infer_provider_class(prefix)  # each kind has arguments of its own
    takes_client = "http_client" in inspect.signature(build).parameters
    return build(http_client=client) if takes_client else build()


async def _open_compatible(name: str, config: ModelConfig) -> ProviderModel:
    """`openai-chat:NAME` on the configured server; without a name, the server's first model."""
    base_url = config.base_url or config.environ.get(BASE_URL_VARIABLE, "")
    key = config.environ.get("OPENAI_API_KEY", "")
    model_name = name.partition(":")[2]
    if not base_url:
        if not key:
            raise ModelUnusable(
                f"{name} needs a server: set base_url or {BASE_URL_VARIABLE} to its address, "
                "or OPENAI_API_KEY to ask OpenAI."
            )
        return _open_provider(name, config)
    if not model_name:
        model_name = await _first_model(base_url, key)
        name = f"openai-chat:{model_name}"
    reached = _compatible(model_name, base_url, key)
    window = await _window_from_server(base_url, model_name, key)
    return ProviderModel(
        name=name,
        settings=_request_settings(config),
        asked=Asked(name, base_url, _secrets(config)),
        reached=reached,
        known_window_tokens=window or (_believed(reached.model.context_window) if is_published(base_url) else None),
        counter=TokenCounter(base_url, model_name, key),
    )


def _compatible(name: str, base_url: str, key: str) -> _Reached:
    from co_tui.agent.compatible import compatible_model

    client = new_client()
    return _Reached(GuardedModel(compatible_model(name, base_url, key, client)), client)


async def _list_models(base_url: str, key: str) -> list[dict[str, object]]:
    """What the server says it serves. Raises `NoAnswer`."""
    listed = await ask(f"{base_url.rstrip('/')}/models", key, timeout_s=ASK_SERVER_TIMEOUT_S)
    models = listed.get("data") if isinstance(listed, dict) else None
    return [entry for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []


async def _first_model(base_url: str, key: str) -> str:
    try:
        names = [entry.get("id") for entry in await _list_models(base_url, key)]
        name = next((name for name in names if isinstance(name, str) and name), None)
        if name is None:
            raise NoAnswer("it lists no model")
    except NoAnswer as why:
        raise ModelUnusable(f"{_silent(base_url, key, why)} Name one with --model openai-chat:NAME.") from None
    return storable_text(name)


def _silent(base_url: str, key: str, why: NoAnswer) -> str:
    told = f"The server at {redact(base_url, (key,))} does not tell its models ({redact(str(why), (key,))});"
    return f"{told} is it running?"


async def _window_from_server(base_url: str, name: str, key: str) -> int | None:
    """The window as llama.cpp or vLLM tell it; None when the server does not."""
    try:
        entries = await _list_models(base_url, key)
    except NoAnswer:
        return None
    entry = next((entry for entry in entries if entry.get("id") == name), None)
    if entry is None:
        return None
    return _believed(told_window(entry))


def _believed(tokens: object) -> int | None:
    """A window as somebody told it, when it can be one."""
    counted = whole(tokens, LARGEST_WINDOW)
    return counted if counted is not None and counted >= SMALLEST_WINDOW else None


def _address_of(model: Model) -> str:
    try:
        return model.base_url or ""
    except Exception:  # each provider's client has its own way of not having one
        return ""


def _secrets(config: ModelConfig) -> tuple[str, ...]:
    return tuple(value for variable in KEY_VARIABLES if (value := config.environ.get(variable)))


def known_names() -> list[str]:
    """Every model string the provider library lists."""
    return list(KnownModelName.__value__.__args__)


def recorded_window(name: str) -> int | None:
    """A model's window in tokens as the price list records it."""
    from genai_prices.data_snapshot import get_snapshot

    prefix, _, model = name.partition(":")
    try:
        _, found = get_snapshot().find_provider_model(model, provider=None, provider_id=prefix, provider_api_url=None)
    except LookupError:
        return None
    return found.context_window


def _unknown(name: str) -> str:
    known = known_names()
    close = get_close_matches(name, known, n=3) or [each for each in known if each.endswith(f":{name}")][:3]
    prefixes = ", ".join(provider.prefix for provider in PROVIDERS)
    if close:
        return f"There is no model {name!r}. Did you mean {' or '.join(close)}?"
    return f"There is no model {name!r}. Write PROVIDER:NAME with one of {prefixes}, or {EMBEDDED}."
