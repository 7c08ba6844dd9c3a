"""All that a project has for Claude Code besides its commands, agents and skills."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from co_tui.record import Record
from co_tui.settings.claude_code.instruction_files import InstructionFiles, read_project_instructions
from co_tui.settings.claude_code.json_files import read_json
from co_tui.settings.claude_code.mcp_json import from_mcp_json
from co_tui.settings.claude_code.settings_json import from_settings_json
from co_tui.settings.rules import SettingsError
from co_tui.trust import ProgramFile

FOLDER: Final = ".claude"
SETTINGS_FILES: Final = (f"{FOLDER}/settings.local.json", f"{FOLDER}/settings.json")
"""The stronger first."""
HOOKS_OFF: Final = "disableAllHooks"
"""Of several files, the stronger one decides."""
SERVERS_FILE: Final = ".mcp.json"
UNUSED_FOLDERS: Final = (f"{FOLDER}/output-styles", f"{FOLDER}/workflows", f"{FOLDER}/plugins")
"""Folders of Claude Code that mean nothing here."""


class ClaudeFiles(Record):
    """What was found, each file read once."""

    files: tuple[ProgramFile, ...] = ()
    """The settings files, the strongest first."""
    instructions: InstructionFiles = InstructionFiles()
    broken: Mapping[str, str] = {}
    """The settings files that cannot be read, each with a sentence."""


def read_claude_files(project: Path) -> ClaudeFiles:
    """The files of a project's root. A broken one is named, and keeps no other from being read. Those of the home
    folder are the user's own, not a project's."""
    if os.path.realpath(project) == os.path.realpath(Path.home()):
        return ClaudeFiles()
    root, broken = Path(os.path.realpath(project)), dict[str, str]()
    tables: dict[str, Mapping[str, Any]] = {}
    for name in (*SETTINGS_FILES, SERVERS_FILE):
        try:
            if (found := read_json(project / name, root)) is not None:
                tables[name] = found
        except SettingsError as error:
            broken[name] = str(error)
    off = [each for name in SETTINGS_FILES for each in _texts(tables.get(name, {}).get("disabledMcpjsonServers"))]
    switches = [tables[name][HOOKS_OFF] for name in SETTINGS_FILES if HOOKS_OFF in tables.get(name, {})]
    from_settings = partial(from_settings_json, hooks_off=switches[:1] == [True])
    readers: dict[str, Callable[[str, Mapping[str, Any]], ProgramFile]] = {
        **dict.fromkeys(SETTINGS_FILES, from_settings),
        SERVERS_FILE: lambda name, table: from_mcp_json(name, table, root, off),
    }
    files = [readers[name](name, table) for name, table in tables.items()]
    unused = [ProgramFile(name=name, unused=("the whole folder",)) for name in UNUSED_FOLDERS if (root / name).is_dir()]
    return ClaudeFiles(files=(*files, *unused), instructions=read_project_instructions(project), broken=broken)


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
