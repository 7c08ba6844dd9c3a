"""Tool calls in a line. Imports nothing heavy."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from co_tui.inert import one_line

COMMAND_TOOLS: Final = frozenset(("run_command", "start_command"))
PRINTING_TOOLS: Final = COMMAND_TOOLS | {"check_command", "stop_command"}
"""Their results have what a command printed."""
CHANGING_TOOLS: Final = frozenset(("write_file", "edit_file", "edit_files", "create_directory"))
PRESENT_PLAN: Final = "present_plan"
WRITE_PLAN: Final = "write_plan"
WEB_FETCH: Final = "web_fetch"
WEB_SEARCH: Final = "web_search"
GIST_CHARS: Final = 160
LABEL_CHARS: Final = 40
MCP_PREFIX: Final = "mcp__"
TOOL_LABELS: Final[Mapping[str, str]] = {
    "read_file": "read", "write_file": "write", "edit_file": "edit", "create_directory": "new folder",
    "list_directory": "list", "search_files": "search", "find_files": "find", "run_command": "run",
    "start_command": "start", "check_command": "check", "stop_command": "stop", "write_plan": "plan",
    "present_plan": "plan", "ask_user_question": "ask", "delegate_task": "agent", "load_capability": "skill",
    "transfer_to_agent": "hand over",
    "recall": "recall", "read_artifact": "read output", "request_compaction": "compact",
    "search_memory": "search memory", "edit_files": "edit", "web_fetch": "fetch", "web_search": "web search",
    # Imported sessions have the names of other programs.
    "Read": "read", "Write": "write", "Edit": "edit", "MultiEdit": "edit", "apply_patch": "edit", "LS": "list",
    "Grep": "search", "grep": "search", "Glob": "find", "Bash": "run", "shell": "run", "exec_command": "run",
    "BashOutput": "check", "KillShell": "stop", "TodoWrite": "plan", "update_plan": "plan", "Task": "agent",
    "Agent": "agent", "Skill": "skill", "AskUserQuestion": "ask", "WebFetch": "fetch", "WebSearch": "web search",
    "ExitPlanMode": "plan",
}  # fmt: skip
"""What people read for a tool, on the screen and in exports."""


def tool_label(tool: str) -> str:
    """A tool's name for people; unknown ones keep theirs, those of a server without its prefix."""
    if label := TOOL_LABELS.get(tool):
        return label
    if tool.startswith(MCP_PREFIX):
        tool = " ".join(tool.removeprefix(MCP_PREFIX).split("__", 1))
    return one_line(tool, LABEL_CHARS)


def call_line(tool: str, about: str) -> str:
    """A call in one line: the tool's name, and what the call is about."""
    return f"{tool_label(tool)}  {about}".rstrip()


def gist_of_call(tool: str, values: Mapping[str, Any]) -> str:
    """What a call with these arguments is about."""
    match tool:
        case "run_command" | "start_command":
            gist = values.get("command")
        case "write_plan":
            gist = f"{len(objects_in(values.get('items')))} steps"  # the plan has a line of its own
        case "present_plan":
            steps = values.get("steps")
            gist = f"{len(steps) if isinstance(steps, list) else 0} steps"
        case "ask_user_question":
            gist = "  ".join(str(each.get("question", "")) for each in objects_in(values.get("questions")))
        case "delegate_task":
            to, task = str(values.get("agent_name", "")), str(values.get("task", ""))
            gist = task if to in ("", "self") else f"{to}  {task}"
        case "search_files" | "find_files":
            gist = "  ".join(str(values[name]) for name in ("pattern", "path") if values.get(name))
        case "edit_files":
            gist = ", ".join(changed_paths(tool, values))
        case "web_fetch" | "WebFetch":
            gist = values.get("url")
        case _:
            gist = values.get("path") or "  ".join(str(value) for value in list(values.values())[:2])
    return one_line(str(gist or ""), GIST_CHARS)


def changed_paths(tool: str, values: Mapping[str, Any]) -> list[str]:
    """The files or folders that a call of a changing tool names."""
    if tool == "edit_files":
        return [str(each.get("path", "")) for each in objects_in(values.get("files"))]
    return [str(values.get("path", ""))]


def request_label(tool: str) -> str:
    """What a call that needs approval asks for."""
    if tool in COMMAND_TOOLS:
        return "asks to run"
    if tool in CHANGING_TOOLS:
        return "asks to change"
    if tool == WEB_FETCH:
        return "asks to fetch"
    return "presents a plan" if tool == PRESENT_PLAN else f"asks to use {one_line(tool, 40)}"


def objects_in(value: object) -> list[Mapping[str, Any]]:
    """The JSON objects in a list; empty for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, Iterable) else []
