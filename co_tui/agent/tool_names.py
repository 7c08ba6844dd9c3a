"""Our tools by kind, and other programs' names for them, which agent files may use."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from co_tui.events.tool_calls import CHANGING_TOOLS as CHANGING_TOOLS
from co_tui.events.tool_calls import COMMAND_TOOLS as COMMAND_TOOLS
from co_tui.events.tool_calls import WEB_FETCH, WEB_SEARCH
from co_tui.settings.permission_rules import MCP

if TYPE_CHECKING:
    from co_tui.settings import AgentFile

READING_TOOLS: Final = frozenset(("read_file", "list_directory", "search_files", "find_files"))
FREE_TOOLS: Final = READING_TOOLS | frozenset(
    ("check_command", "stop_command", "write_plan", "ask_user_question", "load_capability", "delegate_task")
)
"""Tools that change nothing in the folder, or only stop what was allowed to start."""
DELEGATE_TOOL: Final = "delegate_task"
_COMMANDS: Final = (*sorted(COMMAND_TOOLS), "check_command", "stop_command")
OTHER_NAMES: Final = {
    "Read": ("read_file",), "Write": ("write_file", "create_directory"), "Edit": ("edit_file", "edit_files"),
    "MultiEdit": ("edit_file", "edit_files"), "Glob": ("find_files",), "Grep": ("search_files",),
    "LS": ("list_directory",),
    "Bash": _COMMANDS, "BashOutput": ("check_command",), "KillShell": ("stop_command",), "Task": (DELEGATE_TOOL,),
    "Agent": (DELEGATE_TOOL,), "TodoWrite": ("write_plan",), "Skill": ("load_capability",),
    "AskUserQuestion": ("ask_user_question",), "shell": _COMMANDS,
    "apply_patch": ("edit_file", "edit_files", "write_file"), "WebFetch": (WEB_FETCH,), "WebSearch": (WEB_SEARCH,),
}  # fmt: skip
"""Other programs' names → our tools."""
WEB_TOOLS: Final = frozenset((WEB_FETCH, WEB_SEARCH))
OWN_TOOLS: Final = frozenset(("recall", "read_artifact", "request_compaction", "search_memory"))
KNOWN_TOOLS: Final = FREE_TOOLS | CHANGING_TOOLS | COMMAND_TOOLS | WEB_TOOLS | OWN_TOOLS


def mcp_tool_name(server: str, tool: str) -> str:
    return f"{MCP}{server}__{tool}"


def mcp_server_and_tool(name: str) -> tuple[str, str]:
    """Split a tool's name into server and tool; server names never contain `__`."""
    server, _, tool = name.removeprefix(MCP).partition("__")
    return server, tool


def our_names(names: Iterable[str]) -> Iterable[str]:
    """Our names for the tools. Unknown names are kept: they may be an MCP tool or server."""
    for name in names:
        yield from OTHER_NAMES.get(name, (name,))


def is_named(tool: str, names: Collection[str]) -> bool:
    """Whether a tool is named, by itself or by its server as `mcp__SERVER`."""
    server, separator, _ = tool.rpartition("__")
    return tool in names or bool(separator and server.startswith(MCP) and server in names)


def unknown_tools(file: "AgentFile") -> list[str]:
    """The unknown tools an agent file names. Names with `_` may be MCP tools, which are not known yet."""
    named = (*(file.tools or ()), *file.withheld_tools)
    return [name for name in named if "_" not in name and name not in OTHER_NAMES and name not in KNOWN_TOOLS]
