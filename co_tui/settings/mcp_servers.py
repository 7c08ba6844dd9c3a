"""The setting `mcp_servers`: programs and addresses that provide tools, by name."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from co_tui.inert import one_line
from co_tui.record import Record
from co_tui.settings.rules import HIDDEN, PartRefused, Rule, http_address, number, quoted, table_in

MOST_SERVERS: Final = 30
LONGEST_NAME: Final = 30
# Compiled when a server is read: most users have none, and the first paint should not wait for it.
_NAME: Final = r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*"
"""Without `__`, which separates a server's name from its tool's."""
_VARIABLE: Final = r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}"
_HEADER: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_MAY_HOLD_KEYS: Final = ("args", "env", "url", "headers")


class VariableMissing(Exception):
    """A value refers to an environment variable that is not set."""

    def __init__(self, name: str) -> None:
        super().__init__(f"environment variable {name} is not set")


class VariableRefused(Exception):
    """A project's server would be given a key of ours."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is for co-tui alone: a project's server does not get it")


class McpServer(Record):
    """One server: a program that talks on its standard streams, or an address."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    """Its environment, in addition to a few variables every program needs; never our keys."""
    cwd: str = ""
    """Its working directory; empty for co-tui's."""
    url: str = ""
    headers: Mapping[str, str] = {}
    """Sent to this address and nowhere else."""
    enabled: bool = True
    start_timeout_s: float = 30.0
    timeout_s: float = 120.0
    """How long one call of a tool may take."""
    variables: Mapping[str, str] = {}
    """The setting `env`, weaker than its own `env`. Not written in a settings file."""
    is_project: bool = False
    """Whether a project's file names it: then no key of ours is filled in. Not written in a settings file."""

    @property
    def where(self) -> str:
        """Its program or address, without parts that may be a key."""
        return one_line(re.sub(r"://[^/@]*@", "://", self.url.partition("?")[0]) or self.command or "-", 80)

    def __repr__(self) -> str:
        return self.where if self.enabled else f"{self.where} (off)"

    def as_table(self) -> dict[str, Any]:
        """As written in a settings file."""
        values = {name: getattr(self, name) for name in _PARTS}
        return {name: _plain(value) for name, value in values.items() if value != self._defaults[name]}


NO_SERVERS: Final[Mapping[str, McpServer]] = {}


def with_variables(text: str, environ: Mapping[str, str]) -> str:
    """Fill in `${NAME}` and `${NAME:-otherwise}`. Raises `VariableMissing`."""

    def value_of(found: re.Match[str]) -> str:
        value = environ.get(found[1], found[2])
        if value is None:
            raise VariableMissing(found[1])
        return value

    return re.sub(_VARIABLE, value_of, text)


def variables_in(text: str) -> list[str]:
    return [found[0] for found in re.findall(_VARIABLE, text)]


def mcp_server_table() -> Rule:
    allowed = f"a table of at most {MOST_SERVERS} MCP servers, each a table with a command or a url; or none"

    def read(value: object) -> object:
        try:
            table = table_in(value)
        except (ValueError, RecursionError):
            raise PartRefused("", HIDDEN, allowed) from None
        if not isinstance(table, Mapping) or len(table) > MOST_SERVERS:
            raise PartRefused("", HIDDEN, allowed)
        return {name: _server(name, each) for name, each in table.items()}

    return Rule(allowed, read)


def _server(name: object, table: object) -> McpServer:
    if not isinstance(name, str) or not re.fullmatch(_NAME, name) or len(name) > LONGEST_NAME:
        allowed = f"a name of at most {LONGEST_NAME} letters and digits, separated by single - or _"
        raise PartRefused(one_line(str(name), 40), HIDDEN, allowed)
    if not isinstance(table, Mapping):
        raise PartRefused(name, HIDDEN, "a table with a command or a url")
    for key in table:
        if key not in _PARTS:
            raise PartRefused(f"{name}.{one_line(str(key), 40)}", HIDDEN, f"one of {', '.join(_PARTS)}")
    parts: dict[str, Any] = {key: _part(f"{name}.{key}", key, each) for key, each in table.items()}
    server = McpServer(**parts)
    if bool(server.command) == bool(server.url) and server.enabled:
        raise PartRefused(
            name, ", ".join(map(str, table)) or "an empty table", "a table with either a command or a url"
        )
    for key in ("args", "env", "cwd") if server.url else ("headers",):
        if key in table:
            raise PartRefused(f"{name}.{key}", HIDDEN, f"it with a {'command' if server.url else 'url'} only")
    return server


def _part(path: str, key: str, value: object) -> object:
    allowed, read = _PARTS[key]
    if key in ("env", "headers") and isinstance(value, Mapping):
        return {_key(path, key, name): _secret(f"{path}.{name}", each) for name, each in value.items()}
    try:
        return read(value)
    except (ValueError, TypeError, OverflowError):
        raise PartRefused(path, HIDDEN if key in _MAY_HOLD_KEYS else quoted(value), allowed) from None


def _key(path: str, key: str, name: str) -> str:
    good = re.fullmatch(_HEADER, name) if key == "headers" else name and not re.search(r"[=\0]", name)
    if not good:
        raise PartRefused(f"{path}.{one_line(name, 40)}", HIDDEN, f"a name that {key} can have")
    return name


def _secret(path: str, value: object) -> str:
    try:
        text = _text(value)
        if "\n" in text or "\r" in text:
            raise ValueError
    except ValueError:
        raise PartRefused(one_line(path, 80), HIDDEN, f"one line, {_TEXT}") from None
    return text


def _text(value: object) -> str:
    """Refuses a misspelt `${`, which would be sent as it is."""
    if not isinstance(value, str) or "\0" in value or "${" in re.sub(_VARIABLE, "", value):
        raise ValueError
    return value


def _some_text(value: object) -> str:
    if not (text := _text(value).strip()):
        raise ValueError
    return text


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError
    return tuple(map(_text, value))


def _table(value: object) -> object:
    raise ValueError  # a table is read part by part


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _address(value: object) -> object:
    return http_address(_some_text(value))


_TEXT: Final = "text, with environment variables as ${NAME} or ${NAME:-default}"
_SECONDS: Final = number(0.1, 3_600)
_PARTS: Final[Mapping[str, tuple[str, Callable[[object], object]]]] = {
    "command": (f"a program name, {_TEXT}", _some_text),
    "args": (f"a list of texts, each {_TEXT}", _texts),
    "env": ("a table of text values", _table),
    "cwd": (f"a folder, {_TEXT}", _some_text),
    "url": ("an address starting with http:// or https://", _address),
    "headers": ("a table of text values", _table),
    "enabled": ("true or false", _switch),
    "start_timeout_s": (_SECONDS.allowed, _SECONDS.read),
    "timeout_s": (_SECONDS.allowed, _SECONDS.read),
}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
