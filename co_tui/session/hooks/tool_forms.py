"""Tool calls as hooks get them: also under the names of Claude Code, so that scripts written for it work."""

import os.path
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from co_tui.events.storable import storable
from co_tui.events.stored_messages import text_of

MOST_RESPONSE_CHARS: Final = 100_000
_NAMES: Final = {
    "run_command": "Bash", "start_command": "Bash", "check_command": "BashOutput", "stop_command": "KillShell",
    "edit_file": "Edit", "write_file": "Write", "read_file": "Read", "list_directory": "LS", "search_files": "Grep",
    "find_files": "Glob", "delegate_task": "Task", "write_plan": "TodoWrite", "load_capability": "Skill",
    "ask_user_question": "AskUserQuestion", "present_plan": "ExitPlanMode",
}  # fmt: skip
_FILES: Final = ("Edit", "Write", "Read")
_KEYS: Final = {
    "old_text": "old_string",
    "new_text": "new_string",
    "include_glob": "glob",
    "agent_name": "subagent_type",
    "task": "prompt",
}
"""Our arguments → their names there, with the same values."""
_BACK: Final = {theirs: ours for ours, theirs in _KEYS.items()}
MS: Final = 1000


def claude_name(tool: str) -> str:
    """The tool's name in Claude Code; unknown ones and those of MCP servers keep theirs."""
    return _NAMES.get(tool, tool)


def names_of(tool: str) -> tuple[str, ...]:
    """The names a matcher is compared with."""
    return tuple(dict.fromkeys((claude_name(tool), tool)))


def given_input(tool: str, arguments: Mapping[str, Any], cwd: Path) -> dict[str, Any]:
    """The arguments under our names and theirs; paths of files are absolute there."""
    theirs = {_KEYS[key]: value for key, value in arguments.items() if key in _KEYS}
    if claude_name(tool) in _FILES and isinstance(path := arguments.get("path"), str):
        theirs["file_path"] = os.path.normpath(cwd / path)
    if isinstance(seconds := arguments.get("timeout_seconds"), int | float):
        theirs["timeout"] = int(seconds * MS)
    if tool == "start_command":
        theirs["run_in_background"] = True
    given: dict[str, Any] = storable({**arguments, **theirs})
    return given


def updated_arguments(
    arguments: Mapping[str, Any],
    given: Mapping[str, Any],
    updated: Mapping[str, Any],
    known: Collection[str],
    cwd: Path,
) -> dict[str, Any]:
    """Our arguments after a hook changed its input, under either name. Names unknown to the tool are dropped."""
    changed = dict(arguments)
    for key, value in updated.items():
        if key in given and given[key] == value:
            continue
        if key == "file_path" and isinstance(value, str):
            key, value = "path", _relative(value, cwd)
        elif key == "timeout" and isinstance(value, int | float):
            key, value = "timeout_seconds", value / MS
        key = _BACK.get(key, key)
        if key in known:
            changed[key] = value
    return changed


def given_response(tool: str, arguments: Mapping[str, Any], result: Any, cwd: Path) -> dict[str, Any]:
    """A tool's result; with the fields that scripts for Claude Code look for."""
    value = getattr(result, "return_value", result)
    text = value if isinstance(value, str) else text_of(storable(value))
    response: dict[str, Any] = {"content": text[:MOST_RESPONSE_CHARS]}
    name = claude_name(tool)
    if name == "Bash":
        response |= {"stdout": response["content"], "stderr": "", "interrupted": False}
    elif name in _FILES:
        response |= {"filePath": given_input(tool, arguments, cwd).get("file_path", ""), "success": True}
    return response


def _relative(path: str, cwd: Path) -> str:
    normal = Path(os.path.normpath(cwd / path))
    return str(normal.relative_to(cwd)) if normal.is_relative_to(cwd) else path
