"""What MCP servers give to a session's agent. Tools that are missing from a request are reported in the log."""

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
"""Of the window that the definitions of all of them may take; what does not fit is left out."""
CHARS_PER_TOKEN: Final = 3
MOST_TOOLS: Final = 100
"""Of all servers together: some providers take 128, and there are ours."""


class McpTools:
    """Looked at before every request: servers come and go while a turn runs."""

    def __init__(self, servers: McpServers, recorder: Recorder, cwd: Path, environ: Mapping[str, str]) -> None:
        self._servers = servers
        self._recorder = recorder
        self._cwd = cwd
        self._environ = environ
        self._told: dict[str, ServerReport] = {}
        self._told_missing: set[str] = set()
        """Sentences about missing tools that are in the log already."""

    def capability(self, wanted: Mapping[str, McpServer], window_tokens: int) -> AbstractCapability[Any]:
        """The tools of these servers, which are started when they are first needed."""
        room_chars = int(window_tokens * SHARE * CHARS_PER_TOKEN)

        async def present(_: RunContext[Any]) -> AbstractToolset[Any]:
            await self._servers.ready(wanted, self._cwd, self._environ)
            await self._tell(self._servers.reports)
            return CombinedToolset(self._servers.toolsets(room_chars)).prepared(self._for_request)

        return Toolset(present)

    async def _for_request(self, _: RunContext[Any], tools: list[ToolDefinition]) -> list[ToolDefinition]:
        """As many as providers take. What is missing is said here, once all servers have listed their tools."""
        missing = [_missing(report) for report in self._servers.reports]
        if (more := len(tools) - MOST_TOOLS) > 0:
            missing.append(f"{_counted(more)} of MCP servers are missing from requests: at most {MOST_TOOLS} are sent.")
        for what in filter(None, missing):
            if what not in self._told_missing:
                self._told_missing.add(what)
                outcome = "sent without them"
                await self._recorder.record(SessionError(what=what, outcome=outcome, kind="mcp_missing"))
        return tools[:MOST_TOOLS]

    async def _tell(self, reports: list[ServerReport]) -> None:
        """Each failure once."""
        for report in reports:
            before = self._told.get(report.name)
            self._told[report.name] = report
            if report.times and (before is None or before.times < report.times):
                what = f"The MCP server {report.name} failed: {report.why}."
                then = "is started again" if report.stage != "failed" else "gives no tools"
                outcome, where = f"{report.name} {then}", f"MCP server {report.name}"
                await self._recorder.record(SessionError(what=what, where=where, outcome=outcome, kind="mcp"))


def _missing(report: ServerReport) -> str:
    """Which of a server's tools a request goes without, and why; a failed one is reported by its failure."""
    if report.stage in ("starting", "ending"):
        return f"The MCP server {report.name} is still {report.stage}: its tools are missing from this request."
    if report.unlisted:
        return f"The MCP server {report.name} did not list its tools: they are missing from this request."
    if report.left_out:
        left_out = _counted(report.left_out)
        return f"{left_out} of the MCP server {report.name} are missing from requests: they are too many or too large."
    return ""


def _counted(tools: int) -> str:
    return f"{tools:,} tool{'' if tools == 1 else 's'}"


def mcp_call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """Whose tool would be called, and with what."""
    server, name = mcp_server_and_tool(tool)
    lines = [f"{key}: {text_of(value)}" for key, value in arguments.items()]
    return "\n".join([f"{name} of the MCP server {server}{'' if lines else ', without arguments'}", *lines])
