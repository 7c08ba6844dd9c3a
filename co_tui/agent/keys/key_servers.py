"""Where each provider's key is sent, and the request that checks it at no cost. Imports nothing heavy."""

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from co_tui.agent.models.catalogue import BASE_URL_VARIABLE, PROVIDERS
from co_tui.nearest import nearest

OPENAI: Final = "openai"
_COMPATIBLE: Final = "openai-chat"
_WITH_OPENAI_KEY: Final = (_COMPATIBLE, "openai-responses")
"""Other prefixes of models that take OpenAI's key."""
DATABASE: Final = "postgresql"
"""Not a provider: the server of setting `database`."""


class KeyServer(NamedTuple):
    """The server of a provider's key."""

    address: str
    """Of the provider itself, unless a variable names another."""
    check: str
    """The path below the address that is only answered with a valid key, and costs nothing."""
    header: str = "Authorization"
    address_variable: str = ""


_SERVERS: Final = {
    "anthropic": KeyServer("https://api.anthropic.com", "/v1/models", "x-api-key", "ANTHROPIC_BASE_URL"),
    OPENAI: KeyServer("https://api.openai.com/v1", "/models", address_variable=BASE_URL_VARIABLE),
    "google": KeyServer(
        "https://generativelanguage.googleapis.com", "/v1beta/models", "x-goog-api-key", "GOOGLE_GEMINI_BASE_URL"
    ),
    "openrouter": KeyServer("https://openrouter.ai/api/v1", "/key"),
    "deepseek": KeyServer("https://api.deepseek.com", "/models"),
    "groq": KeyServer("https://api.groq.com", "/openai/v1/models", address_variable="GROQ_BASE_URL"),
    "mistral": KeyServer("https://api.mistral.ai", "/v1/models"),
    "xai": KeyServer("https://api.x.ai", "/v1/models"),
    "moonshotai": KeyServer("https://api.moonshot.ai/v1", "/models", address_variable="MOONSHOTAI_BASE_URL"),
}


_SET_ASIDE: Final[set[tuple[str, str]]] = set()
"""Hosts, and keys of the environment that this process no longer sends to them."""


def set_aside(address: str, *keys: str) -> None:
    """Send keys of the environment to this address no more in this process: its server refused them, or the user
    entered another."""
    _SET_ASIDE.update((host_of(address), key) for key in keys if key)


class KeyOwner(NamedTuple):
    """Whose key it is: a provider, and the address its key is sent to."""

    provider: str
    address: str

    @property
    def host(self) -> str:
        """The key is sent to no other host."""
        return host_of(self.address)

    @property
    def server(self) -> KeyServer:
        return _SERVERS[self.provider]

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that hold its key; none for a provider that only a newer version knows."""
        if self.provider == DATABASE:
            return ("PGPASSWORD",)
        return next((each.key_variables for each in PROVIDERS if each.prefix == self.provider), ())

    def variable_in(self, environ: Mapping[str, str]) -> str:
        """The variable whose key is used; empty if none is set, or all were set aside."""
        found = ((name, environ.get(name, "")) for name in self.variables)
        return next((name for name, key in found if key and (self.host, key) not in _SET_ASIDE), "")

    def key_in(self, environ: Mapping[str, str]) -> str:
        return environ.get(self.variable_in(environ), "")

    def lost_its_key(self, environ: Mapping[str, str]) -> bool:
        """Whether all its keys in the environment were set aside."""
        return not self.variable_in(environ) and any(map(environ.get, self.variables))


def host_of(address: str) -> str:
    """Host and port of an address; empty for one that has none."""
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"{parts.hostname or ''}{port}"


def key_owner(prefix: str, environ: Mapping[str, str], base_url: str = "") -> KeyOwner | None:
    """Whose key a provider's models need now; None for one that takes no key. `base_url` is the setting."""
    name = OPENAI if prefix in _WITH_OPENAI_KEY else prefix
    server = _SERVERS.get(name)
    if server is None:
        return None
    named = base_url if prefix == _COMPATIBLE else ""
    return KeyOwner(name, named or environ.get(server.address_variable, "") or server.address)


def key_owners(environ: Mapping[str, str]) -> list[KeyOwner]:
    """All providers that take a key."""
    return [owner for name in _SERVERS if (owner := key_owner(name, environ))]


def unknown_provider(name: str) -> str:
    """The sentence about a provider that takes no key or is not known."""
    if any(each.prefix == name for each in PROVIDERS):
        return f"{name} needs no key."
    near = nearest(name, _SERVERS)
    hint = f"Did you mean {near}?" if near else f"Providers: {', '.join(_SERVERS)}."
    return f"Unknown provider {name!r}. {hint}"
