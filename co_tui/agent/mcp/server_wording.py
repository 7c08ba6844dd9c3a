"""How the MCP servers are, in words, for the screen and the command line."""

from collections.abc import Iterable, Mapping

from co_tui.agent.mcp.servers import ServerReport
from co_tui.inert import one_line
from co_tui.settings import Loaded


def told_servers(loaded: Loaded, reports: Iterable[ServerReport]) -> list[tuple[str, str]]:
    """Each server that somebody wants, and its state."""
    known = {report.name: report.told for report in reports}
    otherwise = "not started yet" if "mcp" in loaded.settings.tools else "not used: `mcp` is not among the tools"
    wanted = loaded.settings.mcp_servers
    told = [(name, f"{server.where}, {known.get(name, otherwise)}") for name, server in wanted.items()]
    return [*told, *((name, "not trusted: waits until you trust this folder") for name in _withheld(loaded))]


def _withheld(loaded: Loaded) -> list[str]:
    wanted = loaded.withheld.requested.get("mcp_servers") if loaded.withheld is not None else None
    return [one_line(str(name), 40) for name in wanted] if isinstance(wanted, Mapping) else []
