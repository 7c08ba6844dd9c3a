"""Whether every message of an exchange is as the protocol says."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from acp import schema
from pydantic import TypeAdapter

NO_RESULT = "Notification"
METHODS = {
    "initialize": "Initialize",
    "authenticate": "Authenticate",
    "session/new": "NewSession",
    "session/load": "LoadSession",
    "session/list": "ListSessions",
    "session/delete": "DeleteSession",
    "session/fork": "ForkSession",
    "session/resume": "ResumeSession",
    "session/close": "CloseSession",
    "session/set_mode": "SetSessionMode",
    "session/set_config_option": "SetSessionConfigOption",
    "session/prompt": "Prompt",
    "session/cancel": "Cancel",
    "session/update": "Session",
    "session/request_permission": "RequestPermission",
    "elicitation/create": "CreateElicitation",
    "fs/read_text_file": "ReadTextFile",
    "fs/write_text_file": "WriteTextFile",
    "terminal/create": "CreateTerminal",
    "terminal/output": "TerminalOutput",
    "terminal/release": "ReleaseTerminal",
    "terminal/wait_for_exit": "WaitForTerminalExit",
    "terminal/kill": "KillTerminal",
}
"""What the protocol's schema calls the messages of each method."""
_MODELS = {"SetSessionConfigOptionRequest": schema.SetSessionConfigOptionSelectRequest}


class Exchanged(NamedTuple):
    """One message."""

    by_agent: bool
    message: dict[str, Any]


def named(exchange: Sequence[Exchanged]) -> Iterator[tuple[str, Any]]:
    """The name that the schema has for what each message carries, and that; failures have no name of their own."""
    asked: dict[tuple[bool, Any], str] = {}
    for by_agent, message in exchange:
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            name = METHODS[message["method"]]
            is_request = "id" in message
            if is_request:
                asked[by_agent, message["id"]] = name
            yield name + ("Request" if is_request else NO_RESULT), message["params"]
        elif "error" in message:
            yield "Error", message["error"]
        else:
            yield asked[not by_agent, message["id"]] + "Response", message["result"]


def check_exchange(exchange: Sequence[Exchanged]) -> None:
    """Every message is read by the library's own models without losing, changing or adding anything."""
    assert exchange
    for name, value in named(exchange):
        adapter = TypeAdapter[Any](_MODELS.get(name) or getattr(schema, name))
        read = adapter.validate_python(value)
        again = adapter.dump_python(read, mode="json", by_alias=True, exclude_unset=True)
        assert again == value, f"{name}: {value} is read as {again}"
