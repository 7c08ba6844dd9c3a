"""Lists and changes MCP servers for their screen."""

import shutil

from co_tui import settings
from co_tui.agent.mcp.servers import server_states
from co_tui.settings import writing
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.commands.settings_commands import config_path


class McpEditor:
    """Lists and adds MCP servers for their screen."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    @property
    def file(self) -> str:
        return config_path(self._host)

    def states(self) -> list[tuple[str, str]]:
        return server_states(self._host.launch.loaded, self._host.sessions.backend.server_reports())

    def restart(self) -> None:
        self._host.sessions.restart_mcp_servers()

    def check(self, name: str, started: str) -> str:
        """What adding a server would run or connect to. Raises `SettingsError`."""
        if name in self._host.launch.settings.mcp_servers:
            raise settings.SettingsError(f"There is an MCP server {settings.quoted(name)} already.")
        table = writing.server_table(started)
        settings.check("mcp_servers", {name: table})
        if "url" in table:
            return f"{name} connects to {table['url']} whenever co-tui starts. The model can send it what it works on."
        self._require_program(str(table["command"]))
        return f"{name} runs this on your machine, outside of any sandbox, whenever co-tui starts:\n  {started}"

    def _require_program(self, command: str) -> None:
        launch = self._host.launch
        program = str(launch.cwd / command) if "/" in command else command  # where a server is started
        if "${" not in command and shutil.which(program, path=launch.environ.get("PATH")) is None:
            raise settings.SettingsError(f"The program {settings.quoted(command)} was not found or cannot run.")

    async def add(self, name: str, started: str) -> str:
        """Raises `SettingsError`."""
        launch = self._host.launch
        writing.add_server(name, started, launch.paths)
        await self._host.apply("mcp_servers", launch.reloaded(written="mcp_servers"))
        return f"Added {name} (saved)"

    async def edit_file(self) -> str:
        return await self._host.edit_config()
