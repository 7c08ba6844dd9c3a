"""Our tools by kind, and other programs' names for them, which hooks and agent files may use."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from co_tui.events.tool_calls import CHANGING_TOOLS as CHANGING_TOOLS
from co_tui.events.tool_calls import COMMAND_TOOLS as COMMAND_TOOLS
from co_tui.events.tool_calls import PRESENT_PLAN, WEB_FETCH, WEB_SEARCH
from co_tui.settings.permission_rules import MCP

READING_TOOLS: Final = frozenset(("read_file", "list_directory", "search_files", "find_files"))
FREE_TOOLS: Final = READING_TOOLS | frozenset(
    (
        "check_command",
        "stop_command",
        "write_plan",
        "ask_user_question",
        "load_capability",
        "delegate_task",
        "transfer_to_agent",
    )
)
"""Tools that change nothing in the folder, or only stop what was allowed to start."""
DELEGATE_TOOL: Final = "delegate_task"
TRANSFER_TOOL: Final = "transfer_to_agent"
LOAD_SKILL: Final = "load_capability"
EDIT_SEVERAL: Final = "edit_files"
WEB_TOOLS: Final = frozenset((WEB_FETCH, WEB_SEARCH))
OWN_TOOLS: Final = frozenset(("recall", "read_artifact", "request_compaction", "search_memory"))
PARALLEL_READS: Final = READING_TOOLS | WEB_TOOLS | (OWN_TOOLS - {"request_compaction"})
"""Tools that change nothing, so that calls of them may run at the same time."""


class OtherNames(NamedTuple):
    """Other programs' names for one of our tools."""

    hooks: tuple[str, ...] = ()
    """Names that a hook's matcher is compared with; its script gets the first."""
    files: tuple[str, ...] = ()
    """Further names by which an agent file gives the tool."""


_SHELL: Final = ("Bash", "shell")
_PATCH: Final = ("apply_patch",)
TOOLS: Final[Mapping[str, OtherNames]] = {
    "read_file": OtherNames(("Read",)),
    "list_directory": OtherNames(("LS",)),
    "search_files": OtherNames(("Grep",)),
    "find_files": OtherNames(("Glob",)),
    "write_file": OtherNames(("Write",), _PATCH),
    "create_directory": OtherNames(("Write",)),
    "edit_file": OtherNames(("Edit", "MultiEdit"), _PATCH),
    EDIT_SEVERAL: OtherNames(("Edit", "MultiEdit"), _PATCH),
    "run_command": OtherNames(("Bash",), _SHELL),
    "start_command": OtherNames(("Bash",), _SHELL),
    "check_command": OtherNames(("BashOutput",), _SHELL),
    "stop_command": OtherNames(("KillShell",), _SHELL),
    DELEGATE_TOOL: OtherNames(("Task", "Agent")),
    TRANSFER_TOOL: OtherNames(("Agent",)),
    "write_plan": OtherNames(("TodoWrite",)),
    PRESENT_PLAN: OtherNames(("ExitPlanMode",)),
    "ask_user_question": OtherNames(("AskUserQuestion",)),
    LOAD_SKILL: OtherNames(("Skill",)),
    WEB_FETCH: OtherNames(("WebFetch",)),
    WEB_SEARCH: OtherNames(("WebSearch",)),
    **dict.fromkeys(sorted(OWN_TOOLS), OtherNames()),
}
"""Every tool of ours that a session can offer."""


def _by_other_name() -> dict[str, tuple[str, ...]]:
    pairs = [(name, tool) for tool, others in TOOLS.items() for name in dict.fromkeys((*others.hooks, *others.files))]
    return {name: tuple(tool for each, tool in pairs if each == name) for name, _ in pairs}


OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = _by_other_name()
"""Other programs' names → our tools."""


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
