"""Find the slash command that a typed prompt names."""

import asyncio
import re
from typing import Final, NamedTuple

from co_tui.agent.mcp.server_prompts import ServerPrompt
from co_tui.agent.tool_names import mcp_server_and_tool
from co_tui.session.environment import Environment
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.settings import CommandFile, Settings, commands_in_force
from co_tui.settings.permission_rules import MCP, RuleInForce

_TYPED: Final = re.compile(r"/([^\s/]+)(?:\s+(.*))?", re.DOTALL)


class UnknownPrompt(PromptRefused):
    """An MCP server has no prompt of that name."""


class FoundCommand(NamedTuple):
    """A slash command, and what the user typed after it."""

    command: CommandFile | ServerPrompt
    typed: str
    arguments: str

    @property
    def model(self) -> str:
        """The model that it names for its turn, as written; empty for the session's own."""
        return self.command.model if isinstance(self.command, CommandFile) else ""

    @property
    def allowed(self) -> tuple[RuleInForce, ...]:
        """What it allows for its turn. A project's command is found only if the folder is trusted."""
        return self.command.allowed if isinstance(self.command, CommandFile) else ()


async def find_command(prompt: str, environment: Environment, settings: Settings) -> FoundCommand | None:
    """The command of a prompt such as `/review src`; None for an ordinary prompt.

    Raises `PromptRefused` for a prompt that a configured server does not offer, and for all of them in a read-only run.
    """
    typed = prompt.strip()
    called = _TYPED.fullmatch(typed)
    if called is None:
        return None
    name, arguments = called[1], (called[2] or "").strip()
    command: CommandFile | ServerPrompt | None = None
    if name.startswith(MCP):
        command = await _server_prompt(name, environment, settings)
    if command is None:
        files = await asyncio.to_thread(commands_in_force, environment.paths, environment.cwd, settings)
        command = files.find(name)
    return FoundCommand(command, typed, arguments) if command is not None else None


async def _server_prompt(name: str, environment: Environment, settings: Settings) -> ServerPrompt | None:
    servers = environment.mcp_servers
    if environment.read_only:
        raise PromptRefused("Not sent: MCP servers are off in this run, and so are their prompts.")
    if "mcp" in settings.tools and settings.mcp_servers:
        await servers.ready(settings.mcp_servers, environment.cwd, environment.environ)
    found = next((each for each in servers.prompts if each.name == name), None)
    server, _ = mcp_server_and_tool(name)
    report = next((each for each in servers.reports if each.name == server), None)
    if found is None and report is not None:
        if report.stage == "running":
            raise UnknownPrompt(f"Not sent: MCP server {server} has no such prompt.")
        raise PromptRefused(f"Not sent: MCP server {server} is not running ({report.text}).")
    return found
