"""What a project requests that needs trust, and the sentences about it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.inert import one_line
from co_tui.paths import PROJECT_FILE, Paths, find_upwards
from co_tui.settings.all_settings import USERS_OWN, needs_trust
from co_tui.settings.files import read_table
from co_tui.settings.markdown.agent_files import AgentFiles, project_folder, read_agents, read_project_agents
from co_tui.settings.markdown.command_files import CommandFiles, read_commands, read_project_commands
from co_tui.settings.rules import SHOWN_CHARS, SettingsError, quoted
from co_tui.trust import AGENTS, COMMANDS, INSTRUCTIONS, Trust, TrustRequest

AGENTS_CHARS: Final = 200
NO_COMMANDS: Final = CommandFiles()
INSTRUCTION_FILES: Final = ("AGENTS.md", "CLAUDE.md")


def project_trust_request(folder: Path) -> TrustRequest | None:
    """What the project around `folder` requests that needs trust; None without settings, agents and commands.

    Raises `SettingsError` for a file that cannot be read.
    """
    file = find_upwards(PROJECT_FILE, folder)
    project = project_folder(folder)
    table = read_table(file) if file is not None else {}
    request = trust_request(folder, table, read_project_agents(project), read_project_commands(project))
    return request if file is not None or request.requested else None


def added_folder_request(folder: Path) -> TrustRequest | None:
    """What a folder that is added to a session requests that needs trust; None without instruction files."""
    files = tuple(folder / name for name in INSTRUCTION_FILES if (folder / name).is_file())
    requested = {INSTRUCTIONS: [file.name for file in files]}
    return TrustRequest(file=folder / PROJECT_FILE, requested=requested, instruction_files=files) if files else None


def added_folder_answer(trust: Trust, folder: Path) -> bool | None:
    """Whether the user trusts an added folder, or the project around it; None before they were asked."""
    answers = [trust.answer_about(place) for place in dict.fromkeys((folder, project_folder(folder)))]
    return next((answer for answer in answers if answer is not None), None)


def waiting_instructions_text(request: TrustRequest) -> str:
    """The sentence about the instructions of an untrusted added folder."""
    files, folder = request.instruction_files, request.folder
    names = f"{' and '.join(file.name for file in files)} of {folder} {'are' if len(files) > 1 else 'is'}"
    return f"{names} ignored until you run `co-tui trust {folder}`."


def agents_in_force(paths: Paths, cwd: Path) -> AgentFiles:
    """The agents to delegate to, as files and trust are now."""
    own, found = read_agents(paths.agents), read_project_agents(project_folder(cwd))
    return found.before(own) if not found.agents or _is_trusted(paths, cwd) else own


def commands_in_force(paths: Paths, cwd: Path) -> CommandFiles:
    """The slash commands from files, as files and trust are now."""
    own, found = read_commands(paths.slash_commands), read_project_commands(project_folder(cwd))
    return found.before(own) if not found.commands or _is_trusted(paths, cwd) else own


def _is_trusted(paths: Paths, cwd: Path) -> bool:
    """Whether the user trusts the project with what it requests now."""
    try:
        request = project_trust_request(cwd)
    except SettingsError:
        return False
    return request is not None and Trust(paths.trust_file).has(request)


def trust_request(
    cwd: Path, table: Mapping[str, object], agents: AgentFiles, commands: CommandFiles = NO_COMMANDS
) -> TrustRequest:
    """What a project's table, agents and slash commands request."""
    found = {
        key: _after_trust(key, value)
        for key, value in sorted(table.items())
        if needs_trust(key) and key not in USERS_OWN
    }
    requested = {key: value for key, value in found.items() if value is not None}
    if agents.agents:
        requested[AGENTS] = [agent.access_text for agent in agents.agents]
    if commands.commands:
        requested[COMMANDS] = [command.access_text for command in commands.commands]
    return TrustRequest(
        file=project_folder(cwd) / PROJECT_FILE,
        requested=requested,
        agents=tuple(f"{agent.name} on {agent.model}" if agent.model else agent.name for agent in agents.agents),
        agent_files=tuple(agent.file for agent in agents.agents),
        commands=tuple(f"/{command.name}" for command in commands.commands),
        command_files=tuple(command.file for command in commands.commands),
    )


def before_trust(key: str, value: object) -> object | None:
    """The part of a value that needs no trust; of permissions, only what restricts."""
    if not needs_trust(key):
        return value
    if key != "permissions":
        return None
    if not isinstance(value, Mapping):
        return [value]  # it may deny something; a list is refused, while a text may be read as a table
    return {effect: rules for effect, rules in value.items() if effect != "allow"} or None


def _after_trust(key: str, value: object) -> object | None:
    """The part of a value that needs trust."""
    if key != "permissions" or not isinstance(value, Mapping):
        return value
    return {"allow": value["allow"]} if value.get("allow") else None


def withheld_warnings(request: TrustRequest) -> list[str]:
    """The sentences about what an untrusted folder does not get."""
    warnings = []
    if request.settings:
        warnings.append(
            f"{request.file} wants to set {requested_settings_text(request)}. Ignored until you run `co-tui trust`."
        )
    if request.agents:
        warnings.append(waiting_agents_text(request))
    if request.commands:
        warnings.append(waiting_commands_text(request))
    return warnings


def waiting_agents_text(request: TrustRequest) -> str:
    """The sentence about the agents of an untrusted folder."""
    are = "are" if len(request.agents) > 1 else "is"
    return f"{agents_text(request)} {are} ignored until you run `co-tui trust`."


def waiting_commands_text(request: TrustRequest) -> str:
    """The sentence about the slash commands of an untrusted folder."""
    are = "are" if len(request.commands) > 1 else "is"
    return f"{commands_text(request)} {are} ignored until you run `co-tui trust`."


def requested_settings_text(request: TrustRequest) -> str:
    """The settings a folder requests, with their values."""
    return ", ".join(f"{key} = {requested_value_text(key, value)}" for key, value in request.settings.items())


def requested_value_text(key: str, value: object) -> str:
    """A requested value, quoted for a sentence; only the names of MCP servers, since the rest may hold keys."""
    if key == "mcp_servers" and isinstance(value, Mapping):
        return one_line(", ".join(map(str, value)), SHOWN_CHARS)
    if key == "permissions" and isinstance(value, Mapping):
        rules = value.get("allow")
        return one_line(f"allow {', '.join(map(str, rules)) if isinstance(rules, list) else rules}", SHOWN_CHARS)
    return quoted(value)


def agents_text(request: TrustRequest) -> str:
    """How many agents a folder defines, and which."""
    count = len(request.agents)
    named = one_line(", ".join(request.agents), AGENTS_CHARS)
    return f"{count} agent{'s' if count > 1 else ''} of {request.folder} ({named})"


def commands_text(request: TrustRequest) -> str:
    """How many slash commands a folder defines, and which."""
    count = len(request.commands)
    named = one_line(", ".join(request.commands), AGENTS_CHARS)
    return f"{count} slash command{'s' if count > 1 else ''} of {request.folder} ({named})"
