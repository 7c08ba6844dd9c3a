"""What a model is called on the screen. Model strings are `PROVIDER:NAME`, `openai-chat:NAME@ADDRESS`, `gguf:PATH`."""

from typing import Final, NamedTuple

from co_tui.settings.rules import GGUF, SERVED

EXAMPLE_MODEL: Final = "example:demo-32k"
"""The model of the example session: a name in a recording, which answers nothing."""
EXAMPLE_WINDOW_TOKENS: Final = 32_768


class Served(NamedTuple):
    """A model on an OpenAI-compatible server."""

    name: str
    address: str = ""
    """The server's address; empty means the configured one."""

    @property
    def model(self) -> str:
        return f"{SERVED}:{self.name}" + (f"@{self.address}" if self.address else "")


def served(model: str) -> Served | None:
    """Parse `openai-chat:NAME` and `openai-chat:NAME@ADDRESS`; None for other model strings."""
    prefix, _, rest = model.partition(":")
    if prefix != SERVED:
        return None
    name, at, address = rest.rpartition("@")
    return Served(name, address) if at and address.startswith(("http://", "https://")) else Served(rest)


def is_file(model: str) -> bool:
    """Whether a model string names a GGUF file on this machine."""
    return model.startswith(f"{GGUF}:")


def model_name(model: str) -> str:
    """Only the name: `walker` for `openai-chat:walker@http://127.0.0.1:8765/v1`."""
    at = served(model)
    name = at.name if at is not None else model.partition(":")[2]
    return name.rpartition("/")[2] or model.removesuffix(":")


def short_name(model: str) -> str:
    """The name and who answers: `anthropic:claude-sonnet-5`, `walker @ 127.0.0.1:8765`."""
    if is_file(model):
        return f"{GGUF}:{model_name(model)}"
    at = served(model)
    if at is not None and at.address:
        return f"{at.name} @ {at.address.partition('://')[2].partition('/')[0]}"
    return model


def answering_name(model: str) -> str:
    """Who is waited for: the provider, or the model itself where the prefix names only a protocol or a file."""
    is_own = is_file(model) or served(model) is not None
    return model_name(model) if is_own else model.partition(":")[0]
