"""What a project requests that needs trust, and what is in force of its files and the user's."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from co_tui.paths import PROJECT_FILE, Paths, path_text
from co_tui.record import Record
from co_tui.settings.all_settings import USERS_OWN, Settings, needs_trust
from co_tui.settings.files import read_table
from co_tui.settings.markdown.agent_files import AgentFiles, project_folder, read_agents, read_project_agents
from co_tui.settings.markdown.command_files import (
    CommandFiles,
    read_commands,
    read_project_commands,
    read_user_commands,
)
from co_tui.settings.rules import SettingsError
from co_tui.trust import AGENTS, COMMANDS, INSTRUCTIONS, Trust, TrustRequest

if TYPE_CHECKING:
    from co_tui.settings.claude_code.instruction_files import InstructionFile, InstructionFiles
    from co_tui.settings.claude_code.project_files import ClaudeFiles

FOR_CLAUDE_CODE: Final = (".claude", ".mcp.json", "CLAUDE.local.md")
"""Without any of these, a project has nothing for Claude Code that needs trust."""
INSTRUCTION_FILES: Final = ("AGENTS.md", "CLAUDE.md")
"""Those that need no trust in the project of a session."""


class ProjectFiles(Record):
    """What a project defines in files other than its own settings, read once: what is judged is what is used."""

    folder: Path
    agents: AgentFiles = AgentFiles()
    commands: CommandFiles = CommandFiles()
    claude: "ClaudeFiles | None" = None

    @property
    def problems(self) -> list[str]:
        """A sentence for each file that cannot be used."""
        found = [*self.agents.problems, *self.commands.problems]
        if self.claude is not None:
            found += [*self.claude.broken.values(), *self.claude.instructions.problems]
        return found


def read_project_files(folder: Path) -> ProjectFiles:
    """Of the project with this root."""
    return ProjectFiles(
        folder=folder,
        agents=read_project_agents(folder),
        commands=read_project_commands(folder),
        claude=_claude_files(folder),
    )


def _claude_files(folder: Path) -> "ClaudeFiles | None":
    if not any(os.path.lexists(folder / name) for name in FOR_CLAUDE_CODE):
        return None
    from co_tui.settings.claude_code.project_files import read_claude_files  # most first paints do not need it

    return read_claude_files(folder)


def unused_below(cwd: Path, root: Path) -> list[str]:
    """A sentence for each folder between a project's root and `cwd` whose files for Claude Code are not used."""
    below = [folder for folder in (cwd, *cwd.parents) if folder != root and folder.is_relative_to(root)]
    return [
        f"{path_text(folder / name)} is not used: the project is {path_text(root)}. "
        f"A {PROJECT_FILE} in {path_text(folder)}, even an empty one, makes that a project."
        for folder in below
        for name in FOR_CLAUDE_CODE
        if os.path.lexists(folder / name)
    ]


def project_trust_request(folder: Path) -> TrustRequest | None:
    """What the project around `folder` requests that needs trust; None if it has nothing of the kind.

    Raises `SettingsError` for a file that cannot be read.
    """
    request = _request(read_project_files(project_folder(folder)))
    return request if request.file.exists() or request.requested or request.files else None


def added_folder_request(folder: Path) -> TrustRequest | None:
    """What a folder that is added to a session requests that needs trust; None without instruction files."""
    own, further = [name for name in INSTRUCTION_FILES if (folder / name).is_file()], further_instructions(folder)
    names = [*own, *(each.access_text for each in further)]
    request = TrustRequest(
        file=folder / PROJECT_FILE,
        requested={INSTRUCTIONS: names},
        exact={INSTRUCTIONS: [*own, *(each.access for each in further)]} if further else {},
        instructions=tuple(names),
        is_added=True,
    )
    return request if names else None


def added_folder_answer(trust: Trust, folder: Path) -> bool | None:
    """Whether the user trusts an added folder, or the project that it is in, with what it requests now; None before
    they were asked about that."""
    added = added_folder_request(folder)
    if added is not None and (answer := trust.answer(added)) is not None:
        return answer
    with suppress(SettingsError):
        if (around := project_trust_request(folder)) is not None:
            return trust.answer(around)
    return None


def further_instructions(folder: Path) -> "tuple[InstructionFile, ...]":
    """The instruction files of a folder that need trust in any session."""
    found = _claude_files(folder)
    return found.instructions.files if found is not None else ()


def agents_in_force(paths: Paths, cwd: Path, settings: Settings) -> AgentFiles:
    """The agents to delegate to, as files and trust are now."""
    found = read_project_files(project_folder(cwd))
    own = own_agents(paths, settings)
    return found.agents.before(own) if not found.agents.agents or _is_trusted(paths, found) else own


def commands_in_force(paths: Paths, cwd: Path, settings: Settings) -> CommandFiles:
    """The slash commands from files, as files and trust are now."""
    found = read_project_files(project_folder(cwd))
    own = own_commands(paths, settings)
    return found.commands.before(own) if not found.commands.commands or _is_trusted(paths, found) else own


def instructions_in_force(paths: Paths, cwd: Path, settings: Settings) -> "tuple[InstructionFile, ...]":
    """The instruction files, as files and trust are now: the user's own first."""
    found = read_project_files(project_folder(cwd))
    files = found.claude.instructions.files if found.claude is not None else ()
    own = own_instructions(paths, settings)
    return (*(own.files if own is not None else ()), *(files if files and _is_trusted(paths, found) else ()))


def _is_trusted(paths: Paths, found: ProjectFiles) -> bool:
    """Whether the user trusts the project with what it requests now."""
    try:
        return Trust(paths.trust_file).has(_request(found))
    except SettingsError:
        return False


def _request(found: ProjectFiles) -> TrustRequest:
    file = found.folder / PROJECT_FILE
    return trust_request(read_table(file) if os.path.lexists(file) else {}, found)


def trust_request(table: Mapping[str, object], found: ProjectFiles) -> TrustRequest:
    """What a project's own settings and its other files request."""
    agents, commands = found.agents.agents, found.commands.commands
    files = found.claude.files if found.claude is not None else ()
    instructions = found.claude.instructions.files if found.claude is not None else ()
    requested = _requested({key: value for key, value in table.items() if key not in USERS_OWN})
    requested |= {each.name: asked for each in files if (asked := _requested(each.settings))}
    lists = {
        AGENTS: [each.access_text for each in agents],
        COMMANDS: [each.access_text for each in commands],
        INSTRUCTIONS: [each.access_text for each in instructions],
    }
    requested |= {key: listed for key, listed in lists.items() if listed}
    return TrustRequest(
        file=found.folder / PROJECT_FILE,
        requested=requested,
        exact={
            key: [each.access for each in found]
            for key, found in ((AGENTS, agents), (COMMANDS, commands), (INSTRUCTIONS, instructions))
            if found
        },
        files=files,
        instructions=tuple(lists[INSTRUCTIONS]),
        agents=tuple(f"{agent.name} on {agent.model}" if agent.model else agent.name for agent in agents),
        agent_files=tuple(agent.file for agent in agents),
        commands=tuple(each.listed for each in sorted(commands, key=lambda command: not command.allowed)),
        command_files=tuple(command.file for command in commands),
    )


def _requested(table: Mapping[str, object]) -> dict[str, object]:
    """The parts of a table that need trust."""
    found = {key: _after_trust(key, value) for key, value in sorted(table.items()) if needs_trust(key)}
    return {key: value for key, value in found.items() if value is not None}


def allowed_before_trust(table: Mapping[str, object]) -> dict[str, object]:
    """The parts of a table that need no trust."""
    return {key: left for key, value in table.items() if (left := before_trust(key, value)) is not None}


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


def own_agents(paths: Paths, settings: Settings) -> AgentFiles:
    """The user's own win over those for other programs."""
    own = read_agents(paths.agents)
    return own.before(read_agents(folder / "agents")) if (folder := _claude(paths, settings)) else own


def own_commands(paths: Paths, settings: Settings) -> CommandFiles:
    own, folder = read_user_commands(paths.slash_commands, paths.skills), _claude(paths, settings)
    return own.before(read_user_commands(folder / "commands", folder / "skills")) if folder else own


def own_skill_folders(paths: Paths, settings: Settings) -> tuple[Path, ...]:
    folder = _claude(paths, settings)
    return (paths.skills, folder / "skills") if folder else (paths.skills,)


def own_instructions(paths: Paths, settings: Settings) -> "InstructionFiles | None":
    """`AGENTS.md` of Codex, then `CLAUDE.md` of Claude Code; None if they are not used."""
    return _own_instructions(paths) if settings.files_of_other_agents == "on" else None


def found_own_files(paths: Paths) -> list[str]:
    """What the user has for other programs, each in a few words; empty without any."""
    found = [each.name for each in _own_instructions(paths).files]
    if paths.claude is not None:
        numbers = {
            "command": len(read_commands(paths.claude / "commands").commands),
            "agent": len(read_agents(paths.claude / "agents").agents),
            "skill": len(list((paths.claude / "skills").glob("*/SKILL.md"))),
        }
        found += [f"{count} {what}{'s' if count > 1 else ''}" for what, count in numbers.items() if count]
    return found


def _claude(paths: Paths, settings: Settings) -> Path | None:
    """The folder of Claude Code, if it is used."""
    return paths.claude if settings.files_of_other_agents == "on" else None


def _own_instructions(paths: Paths) -> "InstructionFiles":
    from co_tui.settings.claude_code.instruction_files import read_own_instructions  # not needed for most first paints

    folders = {"AGENTS.md": paths.codex, "CLAUDE.md": paths.claude}
    return read_own_instructions([folder / name for name, folder in folders.items() if folder is not None])
