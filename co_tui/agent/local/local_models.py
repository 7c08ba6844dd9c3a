"""Models that run in a child process of co-tui: the embedded one, and any GGUF file."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from co_tui.agent.local.embedded import RUNTIME_PACKAGE, embedded_weights, find_runtime
from co_tui.agent.local.weights_server import Weights, WeightsServer
from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.agent.models.model_handle import Connected, ModelConfig, connect_compatible, request_settings
from co_tui.agent.models.native_answers import ASK_SERVER_TIMEOUT_S
from co_tui.agent.models.served_models import window_from_server
from co_tui.agent.models.server_counting import TokenCounter
from co_tui.agent.redact import without_secrets
from co_tui.agent.wire.http import NoAnswer, ask
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.inert import one_line
from co_tui.settings.rules import GGUF

EMBEDDED_REPLY_TOKENS: Final = 512
MAGIC: Final = b"GGUF"
ALIAS_CHARS: Final = 60
SHOWN_CHARS: Final = 200


def open_embedded(config: ModelConfig) -> "LocalModel":
    """The embedded model, which needs no key and no network. Whether it is installed is checked on first use."""
    # At temperature 0 so small a model repeats itself endlessly; much above this it rambles.
    settings = ModelSettings(
        **request_settings(config, caches=False),
        temperature=0.2,
        top_p=0.9,
        max_tokens=EMBEDDED_REPLY_TOKENS,
        extra_body={"repeat_penalty": 1.1},
    )
    found = partial(embedded_weights, config.fetched_models, config.context_window)
    return LocalModel(EMBEDDED, settings, found, WeightsServer(without_secrets(config.environ)))


def open_gguf(name: str, config: ModelConfig) -> "LocalModel":
    """The model in a GGUF file. Raises `ModelUnusable`."""
    weights = gguf_weights(name, config.fetched_models, config.context_window)
    server = WeightsServer(without_secrets(config.environ))
    return LocalModel(f"{GGUF}:{weights.file}", request_settings(config, caches=False), lambda: weights, server)


@dataclass(slots=True)
class LocalModel:
    """A model with a process of its own, so that conversations share no memory."""

    name: str
    settings: ModelSettings
    find_weights: Callable[[], Weights]
    """Raises `ModelUnusable`."""
    server: WeightsServer
    takes_tools: bool = False
    one_at_a_time: bool = True
    _connected: tuple[str, Connected] | None = None
    _counter: TokenCounter | None = None
    _inspected: str = ""
    """Address of the process whose chat template is known."""

    @property
    def asked(self) -> RequestTarget:
        return RequestTarget(self.name, secrets=(self.server.key,))

    async def model(self) -> Model:
        address, alias = await self._started()
        if self._connected is None or self._connected[0] != address:
            await self._disconnect()
            connected = connect_compatible(alias, f"{address}/v1", self.server.key, takes_images=False)
            self._connected = (address, connected)
        return self._connected[1].model

    async def window_tokens(self) -> int | None:
        address, alias = await self._started()
        return await window_from_server(f"{address}/v1", alias, self.server.key)

    async def count_tokens(self, text: str) -> int | None:
        try:
            address, alias = await self._started()
        except (ModelUnusable, OSError):
            return None
        if self._counter is None or self._counter.base_url != address:
            self._counter = TokenCounter(address, alias, self.server.key)
        return await self._counter.count(text)

    async def close(self) -> None:
        await self._disconnect()
        await self.server.close()

    async def _started(self) -> tuple[str, str]:
        """The server's address and the model's name there, after starting it if necessary."""
        weights = self.find_weights()
        address = await self.server.address(weights)
        if self._inspected != address:
            self.takes_tools = self.name != EMBEDDED and await _template_has_tools(address, self.server.key)
            self._inspected = address
        return address, weights.alias

    async def _disconnect(self) -> None:
        connected, self._connected = self._connected, None
        if connected is not None:
            await connected[1].close()


async def _template_has_tools(address: str, key: str) -> bool:
    """Whether the file's chat template supports tools and tool calls, as the server reports."""
    try:
        properties: Any = await ask(f"{address}/props", key, timeout_s=ASK_SERVER_TIMEOUT_S)
    except NoAnswer:
        return False
    caps = properties.get("chat_template_caps") if isinstance(properties, dict) else None
    return isinstance(caps, dict) and caps.get("supports_tools") is True and caps.get("supports_tool_calls") is True


def gguf_weights(name: str, fetched: Path, window_tokens: int) -> Weights:
    """The weights that `gguf:PATH` names. Raises `ModelUnusable`."""
    file = _checked(name.removeprefix(f"{GGUF}:").strip())
    if not find_runtime(fetched):
        raise ModelUnusable(
            f"{one_line(name, SHOWN_CHARS)} needs a package to run weights. "
            f"Run `pip install {RUNTIME_PACKAGE}`, or `co-tui doctor`."
        )
    alias = one_line(file.stem, ALIAS_CHARS)
    return Weights(file=file, alias=alias, called=f"{GGUF}:{file.name}", window_tokens=window_tokens, runtime=fetched)


def _checked(path: str) -> Path:
    """The file's absolute path: a session may be resumed in another folder."""
    if not path:
        raise ModelUnusable(f"{GGUF}: needs a file path, such as {GGUF}:~/models/NAME.gguf.")
    try:
        file = Path(path).expanduser().resolve()
        with file.open("rb") as opened:
            magic = opened.read(len(MAGIC))
    except FileNotFoundError:
        raise ModelUnusable(f"No file {one_line(path, SHOWN_CHARS)}. {GGUF}: needs a file path.") from None
    except IsADirectoryError:
        raise ModelUnusable(f"{one_line(path, SHOWN_CHARS)} is a folder. Name a .gguf file.") from None
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in the path, or `~` of an unknown user
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelUnusable(f"Cannot read {one_line(path, SHOWN_CHARS)}: {reason}.") from None
    if magic != MAGIC:
        raise ModelUnusable(f"{one_line(path, SHOWN_CHARS)} is not a GGUF file.")
    return file
