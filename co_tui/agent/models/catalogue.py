"""Providers and model strings, and the default model. Imports nothing heavy."""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from co_tui.events.model_names import is_file, served
from co_tui.settings.rules import EMBEDDED as EMBEDDED

EMBEDDED_LABEL = "SmolLM2 135M"
BASE_URL_VARIABLE = "OPENAI_BASE_URL"
OLLAMA_PORT, LM_STUDIO_PORT, LLAMA_CPP_PORT, VLLM_PORT = 11434, 1234, 8080, 8000
"""Default ports of local model servers."""
_LOCAL_SERVER = re.compile(
    rf"https?://(?:127\.0\.0\.1|localhost|\[::1\]):(?:{OLLAMA_PORT}|{LM_STUDIO_PORT}|{LLAMA_CPP_PORT}|{VLLM_PORT})(?:/|$)"
)


class Provider(NamedTuple):
    """A model provider: its prefix in a model string, and the variables that hold its key."""

    prefix: str
    key_variables: tuple[str, ...]
    default_model: str
    needs_key: bool = True
    address_variable: str = ""

    def has_key(self, environ: Mapping[str, str]) -> bool:
        return not self.needs_key or any(environ.get(variable) for variable in self.key_variables)


PROVIDERS = (
    Provider("anthropic", ("ANTHROPIC_API_KEY",), "claude-sonnet-5"),
    Provider("openai", ("OPENAI_API_KEY",), "gpt-6-sol", address_variable=BASE_URL_VARIABLE),
    Provider("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "gemini-flash-latest"),
    Provider("openrouter", ("OPENROUTER_API_KEY",), "anthropic/claude-sonnet-5"),
    Provider("deepseek", ("DEEPSEEK_API_KEY",), "deepseek-chat"),
    Provider("groq", ("GROQ_API_KEY",), "openai/gpt-oss-120b"),
    Provider("mistral", ("MISTRAL_API_KEY",), "mistral-large-latest"),
    Provider("xai", ("XAI_API_KEY",), "grok-4"),
    Provider("moonshotai", ("MOONSHOTAI_API_KEY",), "kimi-k2-0905-preview"),
    Provider("openai-chat", ("OPENAI_API_KEY",), "", needs_key=False, address_variable=BASE_URL_VARIABLE),
    Provider("ollama", ("OLLAMA_API_KEY",), "", needs_key=False, address_variable="OLLAMA_BASE_URL"),
)
"""In the order in which a key decides the default model."""

_BY_PREFIX = {provider.prefix: provider for provider in PROVIDERS}
_BY_PREFIX["openai-responses"] = _BY_PREFIX["openai"]


def provider_of(model: str) -> Provider | None:
    return _BY_PREFIX.get(model.partition(":")[0])


def runs_locally(model: str) -> bool:
    """Whether it runs on this machine and so costs nothing: in our own process, or on a known local server. Servers
    on other ports may forward to a paid service, and so does Ollama for its cloud models."""
    at = served(model)
    is_weights = at is not None and _LOCAL_SERVER.match(at.address) and not at.name.endswith("cloud")
    return model == EMBEDDED or is_file(model) or bool(is_weights)


class Choice(NamedTuple):
    """The chosen model, and why."""

    model: str
    reason: str


def choose(
    setting: str, origin: str, environ: Mapping[str, str], base_url: str = "", kept: Collection[str] = ()
) -> Choice:
    """The setting, else the first provider whose key is present, else the embedded model. `kept` are the providers
    whose key `co-tui login` has kept; keys in the environment come first."""
    if setting:
        return Choice(setting, f"set by {origin}")
    if base_url or environ.get(BASE_URL_VARIABLE):
        source = "base_url" if base_url else BASE_URL_VARIABLE
        return Choice("openai-chat:", f"{source} is set; using its server's first model")
    for provider in PROVIDERS:
        if provider.needs_key and provider.default_model and provider.has_key(environ):
            variable = next(variable for variable in provider.key_variables if environ.get(variable))
            return Choice(f"{provider.prefix}:{provider.default_model}", f"{variable} is set")
    for provider in PROVIDERS:
        if provider.needs_key and provider.default_model and provider.prefix in kept:
            return Choice(f"{provider.prefix}:{provider.default_model}", f"the key of {provider.prefix} is saved")
    return Choice(EMBEDDED, "no provider's key is set")
