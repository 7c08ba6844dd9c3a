"""Which calls are asked about, and which of them an earlier answer allows: rules as data."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.agent.command_rules import is_asked_every_time, only_reads, pattern_for_command
from co_tui.events import ApprovalDecided

FREE_TOOLS: Final = frozenset(
    ("read_file", "list_directory", "search_files", "find_files", "check_command", "stop_command", "write_plan",
     "ask_user_question", "load_capability", "delegate_task",)
)  # fmt: skip
"""Tools of the working directory that change nothing there, or end what was allowed to begin."""
COMMAND_TOOLS: Final = frozenset(("run_command", "start_command"))
MCP_TOOLS: Final = "mcp__"
"""What the tools of MCP servers are called begins with this. They always ask: what a server says of them is its own
word."""
CHANGING_TOOLS: Final = frozenset(("write_file", "edit_file", "create_directory"))

_STEERS = r";&|<>$`(){}\\\n\r"
"""Signs by which one command line becomes another: a pattern's star never stands for them."""


class AllowedCalls(NamedTuple):
    """Calls that need not be asked about again."""

    tool: str
    pattern: str = ""
    """What the call is about, with `*` for any part of it; empty for every call of the tool."""


def asks_first(tool: str, arguments: Mapping[str, Any], folder: Path) -> bool:
    """Whether a call of a tool of the working directory has to be allowed. Reading inside of the folder is free."""
    if tool == "run_command":
        return not only_reads(str(arguments.get("command", "")), folder)
    return tool in CHANGING_TOOLS or tool in COMMAND_TOOLS or tool.startswith(MCP_TOOLS)


def mcp_tool_name(server: str, tool: str) -> str:
    return f"{MCP_TOOLS}{server}__{tool}"


def mcp_server_and_tool(name: str) -> tuple[str, str]:
    """Whose tool it is, and what its server calls it; no server's name has two `_` in a row."""
    server, _, tool = name.removeprefix(MCP_TOOLS).partition("__")
    return server, tool


def rule_from(tool: str, decided: ApprovalDecided) -> AllowedCalls | None:
    """What an answer allows beyond the call it was about."""
    if not decided.approved:
        return None
    if decided.scope == "pattern" and decided.pattern:
        return AllowedCalls(tool, decided.pattern)
    return AllowedCalls(tool) if decided.scope == "session" else None


def is_allowed(rules: Iterable[AllowedCalls], tool: str, arguments: Mapping[str, Any]) -> bool:
    if asks_every_time(arguments):
        return False
    return any(
        rule.tool == tool and (not rule.pattern or _matches(rule.pattern, subject_of(arguments, tool)))
        for rule in rules
    )


def asks_every_time(arguments: Mapping[str, Any]) -> bool:
    """Whether no earlier answer covers this call: what it does cannot be taken back, or reaches others."""
    command = arguments.get("command")
    return isinstance(command, str) and is_asked_every_time(command)


def subject_of(arguments: Mapping[str, Any], tool: str = "") -> str:
    """What a call is about: its command or its path. A call with neither can only be allowed as a whole.

    What the arguments of a server's tool mean, nobody but the server knows.
    """
    if tool.startswith(MCP_TOOLS):
        return tool
    for name in ("command", "path"):
        if isinstance(value := arguments.get(name), str):
            return value
    return ""


def pattern_for(arguments: Mapping[str, Any], tool: str = "") -> str:
    """A pattern for calls like this one: the same program, folder or server's tool; empty when none is narrower."""
    if tool.startswith(MCP_TOOLS):
        return tool
    subject = subject_of(arguments).strip()
    if not subject or re.search(f"[{_STEERS}*]", subject):
        return ""
    if "command" in arguments:
        return pattern_for_command(subject)
    folder, slash, _ = subject.rpartition("/")
    return f"{folder}/*" if slash and folder else subject


def _matches(pattern: str, subject: str) -> bool:
    subject = re.sub(" +", " ", subject.strip())
    if ".." in re.split(r"[/\s]", subject):
        return False  # a way out of the folder that the pattern names
    if pattern.endswith(" *") and subject == pattern.removesuffix(" *"):
        return True
    shape = f"[^{_STEERS}]*".join(re.escape(piece) for piece in pattern.split("*"))
    return re.fullmatch(shape, subject) is not None
