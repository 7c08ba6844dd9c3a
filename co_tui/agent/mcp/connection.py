"""Reaching one server with the library's own client; loaded only when there is one, since that takes a second."""

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx2

from co_tui.agent.redact import without_secrets
from co_tui.agent.wire import http
from co_tui.inert import one_line
from co_tui.settings.mcp_servers import McpServer, variables_in, with_variables


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """The library would read a file `.env` of the folder, which may be anybody's, and write to standard error."""
    own = {"FASTMCP_ENV_FILE": os.devnull, "FASTMCP_LOG_ENABLED": "false"}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


with _undisturbed():
    from fastmcp.client.transports import StreamableHttpTransport
    from pydantic_ai.mcp import MCPToolset

    from co_tui.agent.mcp.child_server import MOST_MESSAGE_BYTES, ChildServer
    from co_tui.agent.mcp.server_tools import leaf

for _library in ("mcp", "fastmcp"):  # what they have to say to programmers is nothing for the screen
    logging.getLogger(_library).addHandler(logging.NullHandler())
    logging.getLogger(_library).propagate = False

INHERITED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE")
"""As commands that the model runs: what every program needs, and no key."""
LEAST_SECRET_CHARS: Final = 8
_KEY_NAME: Final = re.compile("key|token|secret|auth|cookie|passw|credential", re.IGNORECASE)
LONGEST_REASON: Final = 200
LOOK_EVERY_S: Final = 1.0
"""How soon it is seen that an address is no longer there."""


class Connection:
    """A server with its variables filled in. Raises `VariableMissing`."""

    def __init__(self, name: str, server: McpServer, cwd: Path, environ: Mapping[str, str]) -> None:
        env, headers = (_filled(table, environ) for table in (server.env, server.headers))
        self.secrets = _secrets(server, environ)
        self._server = server
        self._child: ChildServer | None = None
        self._client: httpx2.AsyncClient | None = None
        self._refusal = ""
        if server.url:
            source: Any = with_variables(server.url, environ)
            self._client = http.new_client(source, most_bytes=MOST_MESSAGE_BYTES)
            self._client.headers.update(headers)  # no redirect is followed: they go to this address alone
            self._client.event_hooks["response"].append(self._note)
        else:
            source = self._child = _child(server, cwd, environ, env)
        self.toolset: MCPToolset[Any] = MCPToolset(
            source,
            id=name,
            tool_error_behavior="failed",
            init_timeout=server.start_timeout_s + 1,  # whoever starts it gives up before
            read_timeout=server.timeout_s,
            log_handler=_unheard,
            http_client=self._client,
        )
        transport = self.toolset.client.transport
        if isinstance(transport, StreamableHttpTransport):
            transport.max_sse_event_size = MOST_MESSAGE_BYTES

    async def _note(self, response: httpx2.Response) -> None:
        """What the library does not tell of an answer."""
        self._refusal = "" if response.is_success else f"it answered with HTTP {response.status_code}"
        if response.has_redirect_location:
            self._refusal += ", which leads elsewhere: give the address it leads to"

    async def lost(self) -> None:
        """Returns when the server is gone."""
        if self._child is not None:
            await self._child.ended.wait()
        else:
            while self.toolset.client.is_connected():  # noqa: ASYNC110 - the client tells nobody
                await asyncio.sleep(LOOK_EVERY_S)

    async def close(self) -> None:
        """Whoever still waits for an answer gets none."""
        with contextlib.suppress(Exception):  # it says once more why it failed
            await self.toolset.client.close()  # type: ignore[no-untyped-call]  # the library leaves it untyped
        if self._client is not None:
            await self._client.aclose()

    def why(self, error: BaseException | None = None) -> str:
        """In a few words, why it cannot be used."""
        child = self._child
        if isinstance(error, RuntimeError) and error.__cause__ is not None:
            error = error.__cause__  # the client only says that it did not connect
        if child is not None and child.trouble:
            return child.trouble
        if isinstance(error, TimeoutError):
            return f"it did not answer within {self._server.start_timeout_s:g} s"
        if isinstance(error, OSError) and child is not None:
            return f"{one_line(str(error.filename), 80)} cannot be used: {(error.strerror or str(error)).lower()}"
        if child is not None and child.exit_code is not None:
            words = f": {one_line(child.last_words, LONGEST_REASON)}" if child.last_words else ""
            how = f"with exit code {child.exit_code}" if child.exit_code >= 0 else f"by signal {-child.exit_code}"
            return f"its process ended {how}{words}"
        if self._refusal:
            return self._refusal
        return one_line(leaf(error), LONGEST_REASON) if error is not None else "the connection was lost"


def _filled(table: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    return {key: with_variables(value, environ) for key, value in table.items()}


def _child(server: McpServer, cwd: Path, environ: Mapping[str, str], env: Mapping[str, str]) -> ChildServer:
    clean = without_secrets({key: environ[key] for key in INHERITED if key in environ})
    command, *args = (with_variables(each, environ) for each in (server.command, *server.args))
    folder = cwd / Path(with_variables(server.cwd, environ)).expanduser()
    return ChildServer(command, args, {**clean, **env}, str(folder))


def _secrets(server: McpServer, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What must not be shown, longest first: what variables hold, and values whose name says that they are keys.

    Also their words, since a key often stands behind one.
    """
    named = {**server.env, **server.headers}
    texts = (server.command, *server.args, server.cwd, server.url, *named.values())
    values = [environ.get(variable, "") for text in texts for variable in variables_in(text)]
    values += [value for name, value in named.items() if re.search(_KEY_NAME, name)]
    words = {word for value in values for word in (value, *value.split()) if len(word) >= LEAST_SECRET_CHARS}
    return tuple(sorted(words, key=len, reverse=True))


async def _unheard(_: Any) -> None:
    """What a server wants to have logged is nothing for the screen."""
