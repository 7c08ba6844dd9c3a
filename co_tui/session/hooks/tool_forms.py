"""Tool calls as hooks get them: also under the names of Claude Code, so that scripts written for it work."""

import os.path
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.agent.tool_names import EDIT_SEVERAL, LOAD_SKILL, TOOLS, OtherNames
from co_tui.events.storable import storable
from co_tui.events.stored_messages import text_of
from co_tui.events.tool_calls import objects_in
from co_tui.session.processes.printed_output import NOTHING_PRINTED, PrintedOutput

MOST_RESPONSE_CHARS: Final = 100_000
MS: Final = 1000
_FILE: Final = {"path": "file_path"}
_KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "read_file": _FILE,
    "write_file": _FILE,
    "create_directory": _FILE,
    "edit_file": {**_FILE, "old_text": "old_string", "new_text": "new_string"},
    EDIT_SEVERAL: _FILE,
    "search_files": {"include_glob": "glob"},
    "check_command": {"command_id": "bash_id"},
    "stop_command": {"command_id": "shell_id"},
    "delegate_task": {"agent_name": "subagent_type", "task": "prompt"},
    "transfer_to_agent": {"agent_name": "subagent_type", "message": "prompt"},
    "write_plan": {"items": "todos"},
    LOAD_SKILL: {"id": "skill"},
}
"""Our arguments → their names there, by tool."""
_WRITE: Final = "Write"
_EDIT: Final = ("old_string", "new_string")


class InputNotTaken(ValueError):
    """A hook's input cannot be made one of the tool; the text is a sentence."""


class HookInput(NamedTuple):
    """A tool call, or the part of one that changes one file, as hooks get it."""

    tool: str
    arguments: Mapping[str, Any]
    """Ours: those of the call, or of the file."""
    names: tuple[str, ...]
    """The names a matcher is compared with; the first is the one in the input."""
    given: dict[str, Any]
    """The arguments under our names and theirs; paths of files are absolute there."""
    is_part: bool = False
    """Whether it is the change of one file."""


def claude_name(tool: str) -> str:
    """The tool's name in Claude Code; unknown ones and those of MCP servers keep theirs."""
    return names_of(tool)[0]


def names_of(tool: str) -> tuple[str, ...]:
    """The names a matcher is compared with."""
    return (*TOOLS.get(tool, OtherNames()).hooks, tool)


def inputs_of(tool: str, arguments: Mapping[str, Any], cwd: Path) -> Sequence[HookInput]:
    """What hooks get for a call: one input, or one for each file that it changes."""
    files = objects_in(arguments.get("files")) if tool == EDIT_SEVERAL else []
    if not files:
        return [HookInput(tool, arguments, names_of(tool), given_input(tool, arguments, cwd))]
    return [
        HookInput(tool, each, _names_for(each), given_input(tool, each, cwd) | _edits(each), is_part=True)
        for each in files
    ]


def rejoined(
    arguments: Mapping[str, Any], inputs: Sequence[HookInput], parts: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The arguments of a call whose inputs now have the arguments `parts`."""
    if inputs[0].is_part:
        return {**arguments, "files": [dict(each) for each in parts]}
    return dict(parts[0])


def _names_for(file: Mapping[str, Any]) -> tuple[str, ...]:
    """One file of several: with its whole content it is written, else edited; a guard for either matches."""
    return tuple(dict.fromkeys((*([_WRITE] if "content" in file else []), *names_of(EDIT_SEVERAL))))


def _edits(file: Mapping[str, Any]) -> dict[str, Any]:
    edits = [{"old_string": each.get("old_text"), "new_string": each.get("new_text")} for each in _replacements(file)]
    joined = {key: "\n".join(str(each[key]) for each in edits) for key in _EDIT}
    return storable({"edits": edits, **joined}) if edits else {}


def _replacements(file: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return objects_in(file.get("replacements"))


def given_input(tool: str, arguments: Mapping[str, Any], cwd: Path) -> dict[str, Any]:
    """The arguments under our names and theirs; paths of files are absolute there."""
    keys = _KEYS.get(tool, {})
    theirs = {keys[key]: value for key, value in arguments.items() if key in keys}
    if isinstance(path := theirs.get("file_path"), str):
        theirs["file_path"] = os.path.normpath(cwd / path)
    if isinstance(seconds := arguments.get("timeout_seconds"), int | float):
        theirs["timeout"] = int(seconds * MS)
    if tool == "start_command":
        theirs["run_in_background"] = True
    given: dict[str, Any] = storable({**arguments, **theirs})
    return given


def updated_arguments(
    given: HookInput, updated: Mapping[str, Any], known: Collection[str], cwd: Path
) -> dict[str, Any]:
    """Our arguments after a hook changed its input, under either name. Names unknown to the tool are dropped.

    Raises `InputNotTaken`.
    """
    new = {key: value for key, value in updated.items() if key not in given.given or given.given[key] != value}
    if given.tool == LOAD_SKILL and new:
        raise InputNotTaken("A hook cannot change which skill is loaded.")
    if given.tool == EDIT_SEVERAL and (_replacements(given.arguments) or "edits" in new):
        new, known = _with_replacements(given.arguments, new), {"path", "replacements"}
    elif given.tool == EDIT_SEVERAL:
        known = {"path", "content"}
    ours = {theirs: mine for mine, theirs in _KEYS.get(given.tool, {}).items()}
    changed = dict(given.arguments)
    for key, value in new.items():
        if key == "file_path" and isinstance(value, str):
            value = _relative(value, cwd)
        elif key == "timeout" and isinstance(value, int | float):
            key, value = "timeout_seconds", value / MS
        key = ours.get(key, key)
        if key in known:
            changed[key] = value
    return changed


def _with_replacements(file: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The changed keys with `edits`, or with the strings of the only edit, as replacements."""
    edits = new.get("edits")
    if edits is None and any(key in new for key in _EDIT):
        if len(_replacements(file)) > 1:
            raise InputNotTaken(f"A hook changed one string of several edits in {file.get('path')}, not `edits`.")
        edits = [_edits(file)["edits"][0] | {key: new[key] for key in _EDIT if key in new}]
    if edits is None:
        return dict(new)
    return {**new, "replacements": [_replacement(each) for each in edits] if isinstance(edits, list) else edits}


def _replacement(edit: object) -> object:
    """An edit under our names; what is not one is refused by the tool."""
    return {"old_text": edit.get("old_string"), "new_text": edit.get("new_string")} if isinstance(edit, dict) else edit


def given_response(given: HookInput, result: Any, printed: PrintedOutput = NOTHING_PRINTED) -> dict[str, Any]:
    """A tool's result; with the fields that scripts for Claude Code look for."""
    value = getattr(result, "return_value", result)
    text = value if isinstance(value, str) else text_of(storable(value))
    response: dict[str, Any] = {"content": text[:MOST_RESPONSE_CHARS]}
    if given.names[0] == "Bash":
        streams = {"stdout": printed.stdout, "stderr": printed.stderr}
        response |= {name: text[:MOST_RESPONSE_CHARS] for name, text in streams.items()}
        response["interrupted"] = printed.was_stopped
    elif "file_path" in given.given:
        response |= {"filePath": given.given["file_path"], "success": True}
    sent: dict[str, Any] = storable(response)
    return sent


def _relative(path: str, cwd: Path) -> str:
    normal = Path(os.path.normpath(cwd / path))
    return str(normal.relative_to(cwd)) if normal.is_relative_to(cwd) else path
