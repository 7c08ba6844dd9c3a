"""The MCP servers of this process: started beside everything else, ended with it; none of them holds anything up."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from co_tui.agent.redact import redact
from co_tui.inert import inert
from co_tui.settings.mcp_servers import McpServer

if TYPE_CHECKING:
    from co_tui.agent.mcp.connection import Connection
    from co_tui.agent.mcp.server_tools import ServerTools

PATIENCE_S: Final = 8.0
"""So long, from a server's start on, what is asked first waits for its tools; they may come later, too."""
MOST_RESTARTS: Final = 3
"""In a row, of a server that was lost after it ran."""
STEADY_S: Final = 60.0
"""One that ran so long was not lost in a row."""
CLOSING_S: Final = 5.0

Stage: TypeAlias = Literal["off", "starting", "running", "ending", "failed"]


class ServerReport(NamedTuple):
    """How a server is."""

    name: str
    stage: Stage
    tools: int = 0
    left_out: int = 0
    """Tools that nobody gets: they are too many or too large."""
    unlisted: bool = False
    """Whether it runs, but did not list its tools for the latest request."""
    why: str = ""
    """Why it failed the last time."""
    times: int = 0
    """How often it failed so far."""

    @property
    def told(self) -> str:
        match self.stage:
            case "running":
                more = f"; {self.left_out} more are too many or too large" if self.left_out else ""
                return f"running with {self.tools} {'tool' if self.tools == 1 else 'tools'}{more}"
            case "failed":
                return f"failed: {self.why}"
            case _:
                return self.stage


class McpServers:
    """Those that the settings name. A server runs in a task of its own from its start to its end."""

    def __init__(self, *, waits_for_start: bool = False) -> None:
        """`waits_for_start`: requests wait until each server runs or failed, at most its `start_timeout_s`; without
        it, no longer than a person would."""
        self._waits_for_start = waits_for_start
        self._servers: dict[str, _Server] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def use(self, wanted: Mapping[str, McpServer], cwd: Path, environ: Mapping[str, str]) -> None:
        """Start what is wanted and not there, end what is there and not wanted so. Starts again what was lost."""
        for name in [name for name, server in self._servers.items() if wanted.get(name) != server.settings]:
            self._end(self._servers.pop(name))
        for name, settings in wanted.items():
            if name not in self._servers:
                self._servers[name] = _Server(name, settings)
            self._servers[name].begin(cwd, environ)

    async def ready(self, wanted: Mapping[str, McpServer], cwd: Path, environ: Mapping[str, str]) -> None:
        """Use them, and wait a little for those that are not there yet; one that was just lost is started again."""
        for _ in range(2):
            self.use(wanted, cwd, environ)
            await self.settle()

    def forget_failed(self) -> None:
        """The next time they are wanted, they are started anew."""
        for name in [report.name for report in self.reports if report.stage == "failed"]:
            self._end(self._servers.pop(name))

    async def settle(self, patience_s: float | None = None) -> None:
        """Wait for those that are starting or ending, each no longer than so long since it began."""
        await asyncio.gather(*(server.wait(self._patience_s(server, patience_s)) for server in self._servers.values()))

    def _patience_s(self, server: "_Server", patience_s: float | None) -> float:
        if patience_s is not None:
            return patience_s
        # The time limit of its start counts from when its libraries are loaded; ending what hangs takes a moment.
        return server.settings.start_timeout_s + CLOSING_S if self._waits_for_start else PATIENCE_S

    @property
    def reports(self) -> list[ServerReport]:
        return [server.report for server in self._servers.values()]

    def toolsets(self, room_chars: int) -> "Sequence[ServerTools]":
        """Of those that run; their definitions share the room there is for them."""
        running = [server.tools for server in self._servers.values() if server.tools is not None]
        for tools in running:
            tools.room_chars = room_chars // len(running)
        return running

    async def close(self) -> None:
        """End all of them, and what they started."""
        servers, self._servers = self._servers, {}
        for server in servers.values():
            self._end(server)
        if self._ending:
            await asyncio.wait(self._ending, timeout=CLOSING_S)

    def _end(self, server: "_Server") -> None:
        if (task := server.stop()) is not None:
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)


class _Server:
    """One server, from its start to its end, and perhaps once more."""

    def __init__(self, name: str, settings: McpServer) -> None:
        self.settings = settings
        self.tools: ServerTools | None = None
        self._name = name
        self._stage: Stage = "starting" if settings.enabled else "off"
        self._why = ""
        self._failures = 0
        self._began = 0.0
        self._restarts_left = 0
        self._known = asyncio.Event()
        """Whether it runs or failed is known."""
        self._task: asyncio.Task[None] | None = None

    @property
    def report(self) -> ServerReport:
        told = ServerReport(self._name, self._stage, why=self._why, times=self._failures)
        if (tools := self.tools) is None:
            return told
        return told._replace(tools=tools.count, left_out=tools.left_out, unlisted=tools.unlisted)

    def begin(self, cwd: Path, environ: Mapping[str, str]) -> None:
        """Does nothing for one that runs, that is off, or that never ran."""
        again = self._stage == "failed" and self._restarts_left > 0
        if not self.settings.enabled or (self._task is not None and not (again and self._task.done())):
            return
        self._restarts_left -= again
        self._change("starting")
        self._task = asyncio.create_task(self._live(cwd, environ), name=f"MCP server {self._name}")

    def _change(self, stage: Stage) -> None:
        self.tools = None
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

    async def _live(self, cwd: Path, environ: Mapping[str, str]) -> None:
        try:
            # Its libraries take a second to load.
            connections = await asyncio.to_thread(import_module, "co_tui.agent.mcp.connection")
            connection = connections.Connection(self._name, self.settings, cwd, environ)
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
        """Until it is lost."""
        from co_tui.agent.mcp.server_tools import ServerTools

        async with asyncio.timeout(self.settings.start_timeout_s) as starting, connection.toolset as toolset:
            count = len(await toolset.list_tools())
            starting.reschedule(None)
            timeout_s, secrets = self.settings.timeout_s, connection.secrets
            self.tools = ServerTools(toolset, self._name, timeout_s, self._runs, secrets, count)
            self._stage = "running"
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
        self.tools = None
        self._stage, self._why = "failed", inert(why)
        self._failures += 1
        self._known.set()
