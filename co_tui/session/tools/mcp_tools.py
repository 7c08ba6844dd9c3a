"""The tools of MCP servers for a session. Tools missing from a request are reported in the log."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic_ai.capabilities import AbstractCapability, Toolset
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ToolsetTool, WrapperToolset

from co_tui.agent.mcp.servers import McpServers, ServerReport
from co_tui.agent.tool_names import mcp_server_and_tool
from co_tui.events import SessionError
from co_tui.events.stored_messages import text_of
from co_tui.session.attachments import fenced
from co_tui.session.recorder import Recorder
from co_tui.session.tools.kept_output import KeptOutputs
from co_tui.settings.mcp_servers import McpServer

SHARE: Final = 0.25
"""Share of the window for all their definitions; what does not fit is left out."""
CHARS_PER_TOKEN: Final = 3
MOST_INSTRUCTIONS_CHARS: Final = 2_000
"""Of one server's own instructions; they are part of every request."""
MOST_TOOLS: Final = 100
"""Of all servers together: some providers take 128, including ours."""


class McpTools:
    """Read before every request: servers come and go while a turn runs."""

    def __init__(
        self,
        servers: McpServers,
        recorder: Recorder,
        outputs: KeptOutputs,
        cwd: Path,
        environ: Mapping[str, str],
    ) -> None:
        self._servers = servers
        self._recorder = recorder
        self._outputs = outputs
        self._cwd = cwd
        self._environ = environ
        self._reported: dict[str, ServerReport] = {}
        self._first_said: dict[str, str] = {}
        """Instructions of servers."""
        self._reported_missing: set[str] = set()
        """Sentences about missing tools that are already logged."""

    def capability(self, servers: Mapping[str, McpServer], window_tokens: int) -> AbstractCapability[Any]:
        """The tools of these servers, which start when first needed."""
        room_chars = int(window_tokens * SHARE * CHARS_PER_TOKEN)

        async def present(_: RunContext[Any]) -> AbstractToolset[Any]:
            await self._servers.ready(servers, self._cwd, self._environ)
            await self._report_failures(self._servers.reports)
            tools = CombinedToolset(self._servers.toolsets(room_chars)).prepared(self._for_request)
            return _KeptResults(tools, self._outputs)

        return Toolset(present)

    def instructions(self, servers: Mapping[str, McpServer]) -> AbstractCapability[Any]:
        """What these servers say about themselves, for the system part."""

        async def said(_: RunContext[Any]) -> str:
            await self._servers.ready(servers, self._cwd, self._environ)
            return self._said(servers)

        return _ServerInstructions(said)

    def _said(self, servers: Mapping[str, McpServer]) -> str:
        """The first text of each server that ran in this session: a changed one would invalidate the provider's
        cache."""
        for name, text in self._servers.instructions.items():
            self._first_said.setdefault(name, text)
        said = {name: text for name, text in self._first_said.items() if name in servers}
        return "\n\n".join(_instructions(name, text) for name, text in said.items())

    async def _for_request(self, _: RunContext[Any], tools: list[ToolDefinition]) -> list[ToolDefinition]:
        """As many as providers take. Reports missing tools, once all servers have listed theirs."""
        missing = [_missing(report) for report in self._servers.reports]
        if (more := len(tools) - MOST_TOOLS) > 0:
            missing.append(f"{_counted(more)} of MCP servers are left out: at most {MOST_TOOLS} tools are sent.")
        for what in filter(None, missing):
            if what not in self._reported_missing:
                self._reported_missing.add(what)
                outcome = "sent without them"
                await self._recorder.record(SessionError(what=what, outcome=outcome, kind="mcp_missing"))
        return tools[:MOST_TOOLS]

    async def _report_failures(self, reports: list[ServerReport]) -> None:
        """Log each failure once, and each refused question of a server."""
        for notice in self._servers.take_notices():
            await self._recorder.record(SessionError(what=notice, outcome="declined", kind="mcp"))
        for report in reports:
            before = self._reported.get(report.name)
            self._reported[report.name] = report
            if report.times and (before is None or before.times < report.times):
                what = f"MCP server {report.name} failed: {report.why}."
                then = "restarting" if report.stage != "failed" else "no tools"
                outcome, where = f"{report.name} {then}", f"MCP server {report.name}"
                await self._recorder.record(SessionError(what=what, where=where, outcome=outcome, kind="mcp"))


@dataclass
class _KeptResults(WrapperToolset[Any]):
    """Keeps results that are too long for a request whole, as the output of commands is kept."""

    outputs: KeptOutputs

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        try:
            result = await super().call_tool(name, tool_args, ctx, tool)
        except ToolFailed as failed:
            raise ToolFailed(await self.outputs.text(name, failed.message)) from None
        if isinstance(result, list):
            return [await self.outputs.text(name, each) if isinstance(each, str) else each for each in result]
        return await self.outputs.text(name, result) if isinstance(result, str) else result


class _ServerInstructions(AbstractCapability[Any]):
    """Adds a text that is read before each request."""

    def __init__(self, said: Callable[[RunContext[Any]], Awaitable[str]]) -> None:
        self._said = said

    def get_instructions(self) -> Any:
        return self._said


def _missing(report: ServerReport) -> str:
    """Which of a server's tools a request lacks, and why; a failed server is reported separately."""
    if report.stage in ("starting", "ending"):
        return f"MCP server {report.name} is still {report.stage}; its tools are not in this request."
    if report.unlisted:
        return f"MCP server {report.name} did not list its tools; they are not in this request."
    if report.left_out:
        left_out = _counted(report.left_out)
        return f"{left_out} of MCP server {report.name} are left out: too many or too large."
    return ""


def _instructions(server: str, text: str) -> str:
    cut = text if len(text) <= MOST_INSTRUCTIONS_CHARS else f"{text[:MOST_INSTRUCTIONS_CHARS]} …"
    return f"## MCP server {server}\nThe server itself, not the user, says about its tools:\n{fenced(cut)}"


def _counted(tools: int) -> str:
    return f"{tools:,} tool{'' if tools == 1 else 's'}"


def mcp_call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """The server, tool and arguments of a call."""
    server, name = mcp_server_and_tool(tool)
    lines = [f"{key}: {text_of(value)}" for key, value in arguments.items()]
    return "\n".join([f"{name} of MCP server {server}{'' if lines else ', without arguments'}", *lines])
