"""What a project requests that needs trust, and the sentences about it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.inert import one_line
from co_tui.paths import PROJECT_FILE, Paths, find_upwards
from co_tui.settings.agent_files import AgentFiles, project_folder, read_agents, read_project_agents
from co_tui.settings.all_settings import SettingsError, needs_trust
from co_tui.settings.files import read_table
from co_tui.settings.rules import SHOWN_CHARS, quoted
from co_tui.trust import AGENTS, Trust, TrustRequest

AGENTS_CHARS: Final = 200


def project_trust_request(folder: Path) -> TrustRequest | None:
    """What the project around `folder` requests that needs trust; None without settings and agents.

    Raises `SettingsError` for a file that cannot be read.
    """
    file = find_upwards(PROJECT_FILE, folder)
    request = trust_request(
        folder, read_table(file) if file is not None else {}, read_project_agents(project_folder(folder))
    )
    return request if file is not None or request.requested else None


def agents_in_force(paths: Paths, cwd: Path) -> AgentFiles:
    """The agents to delegate to, as files and trust are now."""
    own, found = read_agents(paths.agents), read_project_agents(project_folder(cwd))
    if not found.agents:
        return found.before(own)
    try:
        file = find_upwards(PROJECT_FILE, cwd)
        request = trust_request(cwd, read_table(file) if file is not None else {}, found)
    except SettingsError:
        return own
    return found.before(own) if Trust(paths.trust_file).has(request) else own


def trust_request(cwd: Path, table: Mapping[str, object], agents: AgentFiles) -> TrustRequest:
    """What a project's table and agents request."""
    found = {key: _after_trust(key, value) for key, value in sorted(table.items()) if needs_trust(key)}
    requested = {key: value for key, value in found.items() if value is not None}
    if agents.agents:
        requested[AGENTS] = [agent.access_text for agent in agents.agents]
    return TrustRequest(
        file=project_folder(cwd) / PROJECT_FILE,
        requested=requested,
        agents=tuple(f"{agent.name} on {agent.model}" if agent.model else agent.name for agent in agents.agents),
        agent_files=tuple(agent.file for agent in agents.agents),
    )


def before_trust(key: str, value: object) -> object | None:
    """The part of a value that needs no trust; of permissions, only what restricts."""
    if not needs_trust(key):
        return value
    if key == "permissions" and isinstance(value, Mapping):
        return {effect: rules for effect, rules in value.items() if effect != "allow"} or None
    return None


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
    return warnings


def waiting_agents_text(request: TrustRequest) -> str:
    """The sentence about the agents of an untrusted folder."""
    are = "are" if len(request.agents) > 1 else "is"
    return f"{agents_text(request)} {are} ignored until you run `co-tui trust`."


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
