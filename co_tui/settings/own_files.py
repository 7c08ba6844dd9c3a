"""The user's own agents, slash commands, skills and instructions: in the config folder, and, if the user says so, those
for Claude Code and Codex."""

from pathlib import Path

from co_tui.paths import Paths
from co_tui.settings.all_settings import Settings
from co_tui.settings.claude_code.instruction_files import InstructionFiles, read_own_instructions
from co_tui.settings.markdown.agent_files import AgentFiles, read_agents
from co_tui.settings.markdown.command_files import CommandFiles, read_commands


def own_agents(paths: Paths, settings: Settings) -> AgentFiles:
    """The user's own win over those for other programs."""
    own = read_agents(paths.agents)
    return own.before(read_agents(folder / "agents")) if (folder := _claude(paths, settings)) else own


def own_commands(paths: Paths, settings: Settings) -> CommandFiles:
    own = read_commands(paths.slash_commands)
    return own.before(read_commands(folder / "commands")) if (folder := _claude(paths, settings)) else own


def own_skill_folders(paths: Paths, settings: Settings) -> tuple[Path, ...]:
    folder = _claude(paths, settings)
    return (paths.skills, folder / "skills") if folder else (paths.skills,)


def own_instructions(paths: Paths, settings: Settings) -> InstructionFiles:
    """`AGENTS.md` of Codex, then `CLAUDE.md` of Claude Code."""
    if settings.files_of_other_agents != "on":
        return InstructionFiles()
    return read_own_instructions(_instruction_files(paths))


def found_own_files(paths: Paths) -> list[str]:
    """What the user has for other programs, each in a few words; empty without any."""
    found = [each.name for each in read_own_instructions(_instruction_files(paths)).files]
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


def _instruction_files(paths: Paths) -> list[Path]:
    folders = {"AGENTS.md": paths.codex, "CLAUDE.md": paths.claude}
    return [folder / name for name, folder in folders.items() if folder is not None]
