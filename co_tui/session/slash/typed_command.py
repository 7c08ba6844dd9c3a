"""Tell a slash command from an ordinary prompt, and find the command that a name means."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from co_tui.actions import COMMANDS, SlashCommand
from co_tui.inert import one_line
from co_tui.nearest import nearest
from co_tui.paths import Paths
from co_tui.settings import CommandFiles, Settings, commands_in_force
from co_tui.settings.permission_rules import MCP

if TYPE_CHECKING:
    from co_tui.agent.mcp.server_prompts import ServerPrompt

_BY_NAME: Final = {command.name: command for command in COMMANDS}
_BY_ALIAS: Final = {alias: command for command in COMMANDS for alias in command.aliases}


class TypedCommand(NamedTuple):
    """A command as it was typed."""

    name: str
    arguments: str


def parse_command(text: str) -> TypedCommand | None:
    """The command in a prompt; None for an ordinary prompt, also one that begins with a path."""
    text = text.strip()
    if not text.startswith("/") or "\n" in text:
        return None
    name, _, arguments = text[1:].partition(" ")
    return None if "/" in name else TypedCommand(name, arguments.strip())


def find(name: str, own: Sequence[SlashCommand] = ()) -> SlashCommand | None:
    """The built-in command of that name; by another name only if none of the user's `own` commands has it."""
    return _BY_NAME.get(name) or (_BY_ALIAS.get(name) if find_own(name, own) is None else None)


def find_without_screen(name: str, settings: Settings, paths: Paths, cwd: Path) -> SlashCommand | None:
    """The same where the user's own commands are not known yet; reads them only for another name of a command."""
    own = own_commands(commands_in_force(paths, cwd, settings)) if name in _BY_ALIAS else ()
    return find(name, own)


def own_commands(files: CommandFiles, prompts: "Sequence[ServerPrompt]" = ()) -> list[SlashCommand]:
    """The commands that files and MCP servers offer."""
    from_files = [
        SlashCommand(each.name, "prompt", each.description, each.argument_hint, source=each.source)
        for each in files.commands
    ]
    from_servers = [
        SlashCommand(each.name, "prompt", each.description, each.hint, source=f"MCP server {each.server}")
        for each in prompts
    ]
    return [*from_files, *from_servers]


def find_own(name: str, own: Sequence[SlashCommand]) -> SlashCommand | None:
    """The command from a file or a server of that name; one in a subfolder also by its last part, if that is unique."""
    exact = next((command for command in own if command.name == name), None)
    ending = [command for command in own if command.name.endswith(f":{name}")]
    return exact or (ending[0] if len(ending) == 1 else None)


def refusal(called: TypedCommand, settings: Settings, paths: Paths, cwd: Path) -> str:
    """Why a typed command cannot run without a screen; empty if it can."""
    if (row := find_without_screen(called.name, settings, paths, cwd)) is not None:
        return f"{row.slash} needs the screen. Use {row.instead}." if row.instead else ""
    own = own_commands(commands_in_force(paths, cwd, settings))
    if find_own(called.name, own) is not None or _is_of_server(called.name, settings):
        return ""
    return unknown_command(one_line(called.name, 40), own)


def _is_of_server(name: str, settings: Settings) -> bool:
    """Whether it names a prompt of a configured MCP server, which only that server knows."""
    if not name.startswith(MCP):
        return False
    from co_tui.agent.tool_names import mcp_server_and_tool

    return "mcp" in settings.tools and mcp_server_and_tool(name)[0] in settings.mcp_servers


def unknown_command(name: str, own: Sequence[SlashCommand] = ()) -> str:
    """The message for an unknown command."""
    close = nearest(name, [*_BY_NAME, *_BY_ALIAS, *(command.name for command in own)], cutoff=0.5)
    hint = f"Did you mean /{close}?" if close else "See /help."
    return f"Unknown command /{name}. {hint}"
