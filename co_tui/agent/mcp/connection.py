"""Connect to one server with the library's client.

Imported only by `servers`, which sets the environment up for it: the libraries read settings when they are imported.
"""

import asyncio
import contextlib
import re
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx2
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client import streamable_http
from mcp_types import ElicitRequestFormParams
from pydantic_ai.mcp import MCPToolset

from co_tui.agent.mcp.child_server import MOST_MESSAGE_BYTES, SHALLOW, ChildServer
from co_tui.agent.mcp.confined_server import ServerSandbox
from co_tui.agent.mcp.elicitation import LONGEST_ANSWER_S, Elicitations
from co_tui.agent.mcp.server_tools import leaf
from co_tui.agent.redact import KEY_VARIABLES, keys_of_ours, without_secrets
from co_tui.agent.wire import http
from co_tui.inert import one_line
from co_tui.settings.hook_entries import PROJECT_VARIABLE
from co_tui.settings.markdown.agent_files import project_folder
from co_tui.settings.mcp_servers import McpServer, VariableRefused, variables_in, with_variables
from co_tui.settings.rules import ENVIRONMENT_PREFIX

# One deep value would lose a whole message.
streamable_http.jsonrpc_message_adapter = SHALLOW  # type: ignore[assignment,attr-defined]
INHERITED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE")
"""Variables every program needs, none of which holds a key; as for the model's commands."""
LEAST_SECRET_CHARS: Final = 8
_KEY_NAME: Final = re.compile("key|token|secret|auth|cookie|passw|credential", re.IGNORECASE)
LONGEST_REASON: Final = 200
POLL_INTERVAL_S: Final = 1.0
"""How often the connection to an address is checked."""


class Connection:
    """The connection to a server, its variables filled in. Raises `VariableMissing`."""

    def __init__(
        self,
        name: str,
        server: McpServer,
        cwd: Path,
        environ: Mapping[str, str],
        elicitations: Elicitations,
        sandbox: ServerSandbox,
    ) -> None:
        keys = keys_of_ours(environ)
        environ = {**environ, **server.variables, PROJECT_VARIABLE: str(project_folder(cwd))}
        if server.is_project:
            _refuse_keys(server, environ, keys)
        env, headers = (_filled(table, environ) for table in (server.env, server.headers))
        self.secrets = _secrets(server, environ)
        self._server = server
        self._child: ChildServer | None = None
        self._client: httpx2.AsyncClient | None = None
        self._refusal = ""
        if server.url:
            source: Any = with_variables(server.url, environ)
            self._client = http.new_client(source, most_bytes=MOST_MESSAGE_BYTES)
            self._client.headers.update(headers)  # redirects are not followed, so they go only to this address
            self._client.event_hooks["response"].append(self._note)
        else:
            source = self._child = _child(server, cwd, environ, env, sandbox)
        self.toolset: MCPToolset[Any] = MCPToolset(
            source,
            id=name,
            tool_error_behavior="failed",
            init_timeout=server.start_timeout_s + 1,  # our own timeout comes first
            read_timeout=max(server.timeout_s, LONGEST_ANSWER_S),  # ours come first
            elicitation_handler=_answering(elicitations),
            log_handler=_ignore_log,
            http_client=self._client,
        )
        # The library would warn on the terminal about servers that, by their newer protocol, cannot ask.
        vars(self.toolset).get("_server_initiated_handlers", []).clear()
        transport = self.toolset.client.transport
        if isinstance(transport, StreamableHttpTransport):
            transport.max_sse_event_size = MOST_MESSAGE_BYTES

    async def _note(self, response: httpx2.Response) -> None:
        """Record why a response failed, which the library does not report."""
        self._refusal = "" if response.is_success else f"it answered with HTTP {response.status_code}"
        if response.has_redirect_location:
            self._refusal += ", a redirect; use the address it redirects to"

    async def lost(self) -> None:
        """Returns when the server is gone."""
        if self._child is not None:
            await self._child.ended.wait()
        else:
            while self.toolset.client.is_connected():  # noqa: ASYNC110 - the client has no event for it
                await asyncio.sleep(POLL_INTERVAL_S)

    @property
    def unsandboxed(self) -> str:
        """Why it runs files of the folder outside of a sandbox; empty if it does not."""
        return self._child.unsandboxed if self._child is not None else ""

    async def close(self) -> None:
        """Close the connection; pending calls get no answer."""
        with contextlib.suppress(Exception):  # it raises the earlier failure again
            await self.toolset.client.close()  # type: ignore[no-untyped-call]  # the library leaves it untyped
        if self._client is not None:
            await self._client.aclose()

    def why(self, error: BaseException | None = None) -> str:
        """Why it cannot be used, in a few words."""
        word = self._child.because if self._child is not None else ""
        sandboxed = f". It runs in the sandbox because its command names {one_line(word, 80)} of the project"
        return self._why(error) + (sandboxed if word else "")

    def _why(self, error: BaseException | None) -> str:
        child = self._child
        if isinstance(error, RuntimeError) and error.__cause__ is not None:
            error = error.__cause__  # the client's own error only says that it did not connect
        if child is not None and child.trouble:
            return child.trouble
        if isinstance(error, TimeoutError):
            return f"no answer within {self._server.start_timeout_s:g} s"
        if isinstance(error, OSError) and child is not None:
            return f"cannot use {one_line(str(error.filename), 80)}: {(error.strerror or str(error)).lower()}"
        if child is not None and child.exit_code is not None:
            words = f": {one_line(child.last_error_line, LONGEST_REASON)}" if child.last_error_line else ""
            how = f"with exit code {child.exit_code}" if child.exit_code >= 0 else f"by signal {-child.exit_code}"
            return f"its process exited {how}{words}"
        if self._refusal:
            return self._refusal
        return one_line(leaf(error), LONGEST_REASON) if error is not None else "connection lost"


def _filled(table: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    return {key: with_variables(value, environ) for key, value in table.items()}


def _child(
    server: McpServer, cwd: Path, environ: Mapping[str, str], env: Mapping[str, str], sandbox: ServerSandbox
) -> ChildServer:
    clean = without_secrets({key: environ[key] for key in INHERITED if key in environ})
    words = [with_variables(each, environ) for each in (server.command, *server.args)]
    folder = str(cwd / Path(with_variables(server.cwd, environ)).expanduser())
    return ChildServer(partial(sandbox.started, words, folder, {**clean, **server.variables, **env}), folder)


def _refuse_keys(server: McpServer, environ: Mapping[str, str], keys: Collection[str]) -> None:
    """Raises `VariableRefused` if a project's server would be given a key of ours, under any name."""
    for variable in variables_in(" ".join(_texts(server))):
        value = environ.get(variable, "")
        if variable in KEY_VARIABLES or variable.startswith(ENVIRONMENT_PREFIX) or any(key in value for key in keys):
            raise VariableRefused(variable)


def _texts(server: McpServer) -> tuple[str, ...]:
    """All texts in which variables are filled in."""
    return server.command, *server.args, server.cwd, server.url, *server.env.values(), *server.headers.values()


def _secrets(server: McpServer, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What must not be shown, longest first: the values of variables, and values whose name says they are keys.

    Each word of a value counts, too: a key often follows a word such as `Bearer`.
    """
    named = {**server.variables, **server.env, **server.headers}
    values = [environ.get(variable, "") for text in _texts(server) for variable in variables_in(text)]
    values += [value for name, value in named.items() if re.search(_KEY_NAME, name)]
    words = {word for value in values for word in (value, *value.split()) if len(word) >= LEAST_SECRET_CHARS}
    return tuple(sorted(words, key=len, reverse=True))


def _answering(elicitations: Elicitations) -> Any:
    async def answer(message: str, _: Any, params: Any, __: Any) -> ElicitResult[Any]:
        schema = params.requested_schema if isinstance(params, ElicitRequestFormParams) else None
        answers = await elicitations.answers(message, schema)
        return ElicitResult(action="decline") if answers is None else ElicitResult(action="accept", content=answers)

    return answer


async def _ignore_log(_: Any) -> None:
    """Drop log messages of servers, which are not for the screen."""
