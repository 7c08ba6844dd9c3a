"""`.mcp.json`: the MCP servers of a project under our names."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from co_tui.settings.all_settings import check
from co_tui.settings.claude_code.json_files import shown_key
from co_tui.settings.mcp_servers import MOST_SERVERS
from co_tui.settings.rules import SettingsError
from co_tui.trust import ProgramFile

SERVERS: Final = "mcpServers"
STDIO: Final = "stdio"
HTTP: Final = ("http", "streamable-http", "streamableHttp")
SSE: Final = "sse"
_OURS: Final = ("command", "args", "env", "cwd", "url", "headers")
LONGEST_MS: Final = 3_600_000


def from_mcp_json(name: str, found: Mapping[str, Any], folder: Path, off: Collection[str]) -> ProgramFile:
    """The servers of a file; those that are `off` are named as such. They run in the project's `folder`."""
    unused = [shown_key(key) for key in found if key not in (SERVERS, "$schema")]
    servers = found.get(SERVERS, {})
    if not isinstance(servers, Mapping):
        return ProgramFile(name=name, unused=(*unused, f"{SERVERS}: it is not an object"))
    used: dict[str, object] = {}
    for server, table in servers.items():
        if server in off:
            unused.append(f"{shown_key(SERVERS, server)}: off by disabledMcpjsonServers")
        elif len(used) == MOST_SERVERS:
            unused.append(f"{shown_key(SERVERS, server)}: over {MOST_SERVERS} servers")
        elif (ours := _server(server, table, folder, unused)) is not None:
            used[server] = ours
    return ProgramFile(name=name, settings={"mcp_servers": used} if used else {}, unused=tuple(unused))


def _server(name: str, table: object, folder: Path, unused: list[str]) -> dict[str, Any] | None:
    """A server's table in our form; None if it cannot be used."""
    path = shown_key(SERVERS, name)
    if not isinstance(table, Mapping):
        unused.append(f"{path}: it is not an object")
        return None
    if reason := _unsupported(table):
        unused.append(f"{path}: {reason}")
        return None
    ours = {key: table[key] for key in _OURS if table.get(key) not in (None, "", {}, [])}
    if "command" in ours and "cwd" not in ours and "${" not in str(folder):
        ours["cwd"] = str(folder)
    for key in [key for key in table if key not in (*_OURS, "type", "timeout")]:
        unused.append(f"{path}.{shown_key(key)}")
    if isinstance(limit := table.get("timeout"), int | float) and not isinstance(limit, bool):
        ours["timeout_s"] = max(min(limit, LONGEST_MS) / 1_000, 0.1)
    try:
        check("mcp_servers", {name: ours})
    except SettingsError as error:
        unused.append(f"{path}: {error}")
        return None
    return ours


def _unsupported(table: Mapping[str, Any]) -> str:
    """Why a server's kind is not supported; empty if it is."""
    kind = table.get("type") or (STDIO if table.get("command") else HTTP[0])
    if kind == SSE and not re.search(r"/sse(/|\?|&|$)", str(table.get("url", ""))):
        return "servers of type sse need an address that ends in /sse"
    return "" if kind in (STDIO, SSE, *HTTP) else f"servers of type {shown_key(kind)} are not supported"
