"""The MCP servers of this process: started in the background, ended with it, and never blocking anything."""

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from co_tui.agent.mcp.confined_server import ServerSandbox, sandbox_of
from co_tui.agent.mcp.elicitation import Answers, AskForm, Elicitations, Form, decline
from co_tui.agent.redact import redact
from co_tui.inert import inert, one_line
from co_tui.settings import Loaded
from co_tui.settings.mcp_servers import McpServer

if TYPE_CHECKING:
    from co_tui.agent.mcp.connection import Connection
    from co_tui.agent.mcp.server_prompts import ServerPrompt
    from co_tui.agent.mcp.server_resources import ServerResource, ServerResources
    from co_tui.agent.mcp.server_tools import ServerTools

START_WAIT_S: Final = 8.0
"""How long the first request waits for a starting server's tools; they may also arrive later."""
LOADING_S: Final = 5.0
"""Added to `start_timeout_s`, which only starts once its libraries are loaded; ending a hung server takes a moment."""
MOST_RESTARTS: Final = 3
"""In a row, for a server that was lost while running."""
STEADY_S: Final = 60.0
"""After running this long, a loss is not counted as in a row."""
CLOSING_S: Final = 5.0

Stage: TypeAlias = Literal["off", "starting", "running", "ending", "failed"]


class ServerReport(NamedTuple):
    """The state of a server."""

    name: str
    stage: Stage
    tools: int = 0
    left_out: int = 0
    """Tools not offered: too many or too large."""
    unlisted: bool = False
    """Whether it runs, but did not list its tools for the latest request."""
    why: str = ""
    """Why it last failed."""
    times: int = 0
    """How often it failed so far."""
    unsandboxed: str = ""
    """Why it runs files of the folder outside of a sandbox; empty if it does not."""

    @property
    def text(self) -> str:
        match self.stage:
            case "running":
                more = f"; {self.left_out} more are too many or too large" if self.left_out else ""
                free = f"; runs files of this folder, not sandboxed: {self.unsandboxed}" if self.unsandboxed else ""
                return f"running, {self.tools} {'tool' if self.tools == 1 else 'tools'}{more}{free}"
            case "failed":
                return f"failed: {self.why}"
            case _:
                return self.stage


class McpServers:
    """The configured servers, each running in its own task."""

    def __init__(self, *, waits_for_start: bool = False) -> None:
        """With `waits_for_start`, requests wait until each server is running or has failed, at most its
        `start_timeout_s`; otherwise only a few seconds."""
        self._waits_for_start = waits_for_start
        self.ask: AskForm = decline
        """Answers the forms of servers."""
        self.sandbox: ServerSandbox | None = None
        """Of the session's folders; without one, that of the folder they are started in."""
        self._servers: dict[str, _Server] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def use(self, configured: Mapping[str, McpServer], cwd: Path, environ: Mapping[str, str]) -> None:
        """Start the configured servers, restart lost ones, and end those no longer configured like this."""
        for name in [name for name, server in self._servers.items() if configured.get(name) != server.settings]:
            self._end(self._servers.pop(name))
        for name, settings in configured.items():
            if name not in self._servers:
                self._servers[name] = _Server(name, settings, self._ask)
            self._servers[name].begin(cwd, environ, self.sandbox or sandbox_of(cwd, environ, configured))

    async def ready(self, configured: Mapping[str, McpServer], cwd: Path, environ: Mapping[str, str]) -> None:
        """Use the configured servers and wait briefly for those starting, once more for one just lost."""
        for _ in range(2):
            self.use(configured, cwd, environ)
            await self.settle()

    def forget_failed(self) -> None:
        """Drop failed servers, so that the next use starts them again."""
        for name in [report.name for report in self.reports if report.stage == "failed"]:
            self._end(self._servers.pop(name))

    async def settle(self, patience_s: float | None = None) -> None:
        """Wait for servers that are starting or ending, each at most `patience_s` from when it began."""
        await asyncio.gather(*(server.wait(self._patience_s(server, patience_s)) for server in self._servers.values()))

    def _patience_s(self, server: "_Server", patience_s: float | None) -> float:
        if patience_s is not None:
            return patience_s
        return server.settings.start_timeout_s + LOADING_S if self._waits_for_start else START_WAIT_S

    @property
    def reports(self) -> list[ServerReport]:
        return [server.report for server in self._servers.values()]

    def toolsets(self, room_chars: int) -> "Sequence[ServerTools]":
        """The toolsets of running servers; they share the room for definitions."""
        running = [server.tools for server in self._servers.values() if server.tools is not None]
        for tools in running:
            tools.room_chars = room_chars // len(running)
        return running

    def is_read_only(self, tool: str) -> bool:
        """Whether the server of a tool marks it as read-only."""
        return any(server.tools is not None and tool in server.tools.read_only for server in self._servers.values())

    @property
    def prompts(self) -> "list[ServerPrompt]":
        """The prompts of the running servers."""
        return [prompt for server in self._servers.values() for prompt in server.prompts]

    async def prompt_text(self, prompt: "ServerPrompt", words: Sequence[str]) -> str:
        """The text of a prompt with these arguments, in order. Raises `PromptRefusedByServer`."""
        from co_tui.agent.mcp.server_prompts import PromptRefusedByServer, prompt_text

        server = self._servers.get(prompt.server)
        if server is None or server.tools is None:
            raise PromptRefusedByServer(f"MCP server {prompt.server} is not running.")
        tools = server.tools
        return await prompt_text(tools.wrapped, prompt, prompt.filled(words), tools.timeout_s, tools.secrets)

    @property
    def instructions(self) -> dict[str, str]:
        """What running servers say about themselves."""
        running = {name: server for name, server in self._servers.items() if server.tools is not None}
        return {name: server.instructions for name, server in running.items() if server.instructions.strip()}

    def take_notices(self) -> list[str]:
        """Sentences about refused questions of servers, each once."""
        notices = [notice for server in self._servers.values() for notice in server.elicitations.notices]
        for server in self._servers.values():
            server.elicitations.notices.clear()
        return notices

    async def resources(self) -> "list[ServerResource]":
        """The resources that servers list now; those just starting are waited for."""
        await self.settle()
        running = [server.resources for server in self._servers.values() if server.tools is not None]
        found = await asyncio.gather(*(each.listed() for each in running if each is not None))
        return [resource for listed in found for resource in listed]

    def resources_of(self, name: str) -> "ServerResources | None":
        """Of a running server."""
        server = self._servers.get(name)
        return server.resources if server is not None and server.tools is not None else None

    async def _ask(self, form: Form) -> Answers | None:
        return await self.ask(form)

    async def close(self) -> None:
        """End all servers and their child processes."""
        servers, self._servers = self._servers, {}
        for server in servers.values():
            self._end(server)
        if self._ending:
            await asyncio.wait(self._ending, timeout=CLOSING_S)

    def _end(self, server: "_Server") -> None:
        if (task := server.stop()) is not None:
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)


_LOADING: Final = threading.Lock()
"""Several servers may start at once, each in a thread; the environment is changed by one of them at a time."""


def load_connection() -> "type[Connection]":
    """Import the MCP libraries, which takes a second: call it in a thread.

    They read settings from the environment when they are imported, and would log to the terminal.
    """
    with _LOADING, _library_settings():
        from co_tui.agent.mcp.connection import Connection
    for library in ("mcp", "fastmcp"):
        logger = logging.getLogger(library)
        if logger.propagate:
            logger.addHandler(logging.NullHandler())
            logger.propagate = False
    return Connection


@contextlib.contextmanager
def _library_settings() -> Iterator[None]:
    """Keep fastmcp from reading `.env` in the current folder, which is untrusted, and from logging."""
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


class _Server:
    """One server through starts, failures and restarts."""

    def __init__(self, name: str, settings: McpServer, ask: AskForm) -> None:
        self.settings = settings
        self.tools: ServerTools | None = None
        """None unless it is running."""
        self.prompts: Sequence[ServerPrompt] = ()
        self.resources: ServerResources | None = None
        self.instructions = ""
        """What it said about itself when it last started."""
        self.elicitations = Elicitations(name, ask)
        self._name = name
        self._stage: Stage = "starting" if settings.enabled else "off"
        self._why = ""
        self._unsandboxed = ""
        self._failures = 0
        self._began = 0.0
        self._restarts_left = 0
        self._known = asyncio.Event()
        """Set once it is running or has failed."""
        self._task: asyncio.Task[None] | None = None

    @property
    def report(self) -> ServerReport:
        report = ServerReport(self._name, self._stage, why=self._why, times=self._failures)
        if (tools := self.tools) is None:
            return report
        counts = report._replace(tools=tools.count, left_out=tools.left_out, unlisted=tools.unlisted)
        return counts._replace(unsandboxed=self._unsandboxed)

    def begin(self, cwd: Path, environ: Mapping[str, str], sandbox: ServerSandbox) -> None:
        """Start it, unless it is running, switched off, or failed before it ever ran."""
        again = self._stage == "failed" and self._restarts_left > 0
        if not self.settings.enabled or (self._task is not None and not (again and self._task.done())):
            return
        self._restarts_left -= again
        self._change("starting")
        self._task = asyncio.create_task(self._live(cwd, environ, sandbox), name=f"MCP server {self._name}")

    def _change(self, stage: Stage) -> None:
        self.tools, self.prompts = None, ()
        self._stage = stage
        self._known.clear()
        self._began = asyncio.get_running_loop().time()

    async def wait(self, patience_s: float) -> None:
        left = self._began + patience_s - asyncio.get_running_loop().time()
        if self._stage in ("starting", "ending") and left > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._known.wait(), left)

    def stop(self) -> "asyncio.Task[None] | None":
        if self._task is not None:
            self._task.cancel()
        return self._task

    async def _live(self, cwd: Path, environ: Mapping[str, str], sandbox: ServerSandbox) -> None:
        try:
            new_connection = await asyncio.to_thread(load_connection)
            connection = new_connection(self._name, self.settings, cwd, environ, self.elicitations, sandbox)
        except Exception as error:
            self._fail(str(error))
            return
        failure: Exception | None = None
        try:
            await self._serve(connection)
        except Exception as error:
            failure = error
        finally:
            self.tools = None
            await connection.close()
        self._fail(redact(connection.why(failure), connection.secrets))

    async def _serve(self, connection: "Connection") -> None:
        """Run it until it is lost."""
        from co_tui.agent.mcp.server_prompts import list_prompts
        from co_tui.agent.mcp.server_resources import ServerResources
        from co_tui.agent.mcp.server_tools import ServerTools
        from co_tui.agent.mcp.tool_results import result_text

        async with asyncio.timeout(self.settings.start_timeout_s) as starting, connection.toolset as toolset:
            count = len(await toolset.list_tools())
            self.prompts = await list_prompts(toolset, self._name)
            starting.reschedule(None)
            timeout_s, secrets = self.settings.timeout_s, connection.secrets
            self.instructions = inert(result_text(connection.toolset.instructions or "", secrets))
            self.resources = ServerResources(connection.toolset, self._name, timeout_s, secrets)
            self.tools = ServerTools(toolset, self._name, timeout_s, self._runs, self.elicitations, secrets, count)
            self._stage, self._unsandboxed = "running", connection.unsandboxed
            self._known.set()
            await self._run(connection)

    async def _run(self, connection: "Connection") -> None:
        now = asyncio.get_running_loop().time
        began = now()
        await connection.lost()
        self._change("ending")
        if self._failures == 0 or now() - began > STEADY_S:
            self._restarts_left = MOST_RESTARTS

    def _runs(self) -> bool:
        return self.tools is not None

    def _fail(self, why: str) -> None:
        self.tools, self.prompts = None, ()
        self._stage, self._why = "failed", inert(why)
        self._failures += 1
        self._known.set()


def server_states(loaded: Loaded, reports: Iterable[ServerReport]) -> list[tuple[str, str]]:
    """Each configured server and its state, for the screen and the command line."""
    known = {report.name: report.text for report in reports}
    otherwise = "not started yet" if "mcp" in loaded.settings.tools else "off: `mcp` is not among the tools"
    configured = loaded.settings.mcp_servers
    states = [(name, f"{known.get(name, otherwise)} · {server.where}") for name, server in configured.items()]
    return [*states, *((name, "not trusted: trust this folder to start it") for name in _withheld(loaded))]


def _withheld(loaded: Loaded) -> list[str]:
    tables = loaded.withheld.values("mcp_servers").values() if loaded.withheld is not None else ()
    return [one_line(str(name), 40) for servers in tables if isinstance(servers, Mapping) for name in servers]
