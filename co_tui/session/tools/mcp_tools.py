"""The tools of MCP servers for a session. Tools missing from a request are reported in the log."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic_ai.capabilities import AbstractCapability, Toolset
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset

from co_tui.agent.mcp.servers import McpServers, ServerReport
from co_tui.agent.tool_names import mcp_server_and_tool
from co_tui.events import SessionError
from co_tui.events.stored_messages import text_of
from co_tui.session.recorder import Recorder
from co_tui.settings.mcp_servers import McpServer

SHARE: Final = 0.25
"""Share of the window for all their definitions; what does not fit is left out."""
CHARS_PER_TOKEN: Final = 3
MOST_TOOLS: Final = 100
"""Of all servers together: some providers take 128, including ours."""


class McpTools:
    """Read before every request: servers come and go while a turn runs."""

    def __init__(self, servers: McpServers, recorder: Recorder, cwd: Path, environ: Mapping[str, str]) -> None:
        self._servers = servers
        self._recorder = recorder
        self._cwd = cwd
        self._environ = environ
        self._reported: dict[str, ServerReport] = {}
        self._reported_missing: set[str] = set()
        """Sentences about missing tools that are already logged."""

    def capability(self, servers: Mapping[str, McpServer], window_tokens: int) -> AbstractCapability[Any]:
        """The tools of these servers, which start when first needed."""
        room_chars = int(window_tokens * SHARE * CHARS_PER_TOKEN)

        async def present(_: RunContext[Any]) -> AbstractToolset[Any]:
            await self._servers.ready(servers, self._cwd, self._environ)
            await self._report_failures(self._servers.reports)
            return CombinedToolset(self._servers.toolsets(room_chars)).prepared(self._for_request)

        return Toolset(present)

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
        """Log each failure once."""
        for report in reports:
            before = self._reported.get(report.name)
            self._reported[report.name] = report
            if report.times and (before is None or before.times < report.times):
                what = f"MCP server {report.name} failed: {report.why}."
                then = "restarting" if report.stage != "failed" else "no tools"
                outcome, where = f"{report.name} {then}", f"MCP server {report.name}"
                await self._recorder.record(SessionError(what=what, where=where, outcome=outcome, kind="mcp"))


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


def _counted(tools: int) -> str:
    return f"{tools:,} tool{'' if tools == 1 else 's'}"


def mcp_call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """The server, tool and arguments of a call."""
    server, name = mcp_server_and_tool(tool)
    lines = [f"{key}: {text_of(value)}" for key, value in arguments.items()]
    return "\n".join([f"{name} of MCP server {server}{'' if lines else ', without arguments'}", *lines])
