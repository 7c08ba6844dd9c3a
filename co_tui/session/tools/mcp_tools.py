"""What MCP servers give to a session's agent. One that fails is told in the log, and its tools are not there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic_ai.capabilities import AbstractCapability, Toolset
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset

from co_tui.agent.mcp.servers import McpServers, ServerReport
from co_tui.agent.tool_names import mcp_server_and_tool
from co_tui.events import SessionError
from co_tui.events.messages import text_of
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

    def capability(self, wanted: Mapping[str, McpServer], window_tokens: int) -> AbstractCapability[Any]:
        """The tools of these servers, which are started when they are first needed."""
        room_chars = int(window_tokens * SHARE * CHARS_PER_TOKEN)

        async def present(_: RunContext[Any]) -> AbstractToolset[Any]:
            await self._servers.ready(wanted, self._cwd, self._environ)
            await self._tell(self._servers.reports)
            return CombinedToolset(self._servers.toolsets(room_chars)).prepared(_not_too_many)

        return Toolset(present)

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


async def _not_too_many(_: RunContext[Any], tools: list[ToolDefinition]) -> list[ToolDefinition]:
    return tools[:MOST_TOOLS]


def told_mcp_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """Whose tool would be called, and with what."""
    server, name = mcp_server_and_tool(tool)
    lines = [f"{key}: {text_of(value)}" for key, value in arguments.items()]
    return "\n".join([f"{name} of the MCP server {server}{'' if lines else ', without arguments'}", *lines])
