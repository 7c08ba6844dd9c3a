"""What a file calls a tool, and which of ours that gives its agent: never more than it names."""

from pathlib import Path

import pytest

from co_tui.agent.delegates import delegate_of
from co_tui.agent.tool_names import OTHER_NAMES, TOOLS, unknown_tools
from co_tui.events.tool_calls import TOOL_LABELS, tool_label
from co_tui.settings import AgentFile

OURS = (
    "read_file",
    "write_file",
    "run_command",
    "start_command",
    "delegate_task",
    "recall",
    "mcp__git__log",
    "mcp__db__ask",
)


@pytest.mark.parametrize(
    ("tools", "withheld", "given", "unknown"),
    [
        (None, (), OURS, []),
        ((), (), (), []),
        (("Read", "Bash"), (), ("read_file", "run_command", "start_command"), []),
        (("read_file", "Read", "NotebookRead"), (), ("read_file",), ["NotebookRead"]),
        (("Bash(git diff:*)",), (), (), ["Bash(git diff:*)"]),
        (None, ("Bash", "Task"), ("read_file", "write_file", "recall", "mcp__git__log", "mcp__db__ask"), []),
        (("mcp__git__log",), (), ("mcp__git__log",), []),
        (("mcp__db",), (), ("mcp__db__ask",), []),
        (("mcp__run__command", "mcp__", "mcp"), (), (), ["mcp"]),
        (("READ", "read_FILE"), (), (), ["READ"]),
    ],
)
def test_the_tools_an_agent_gets(
    tools: tuple[str, ...] | None, withheld: tuple[str, ...], given: tuple[str, ...], unknown: list[str]
) -> None:
    file = AgentFile(file=Path("a.md"), name="a", tools=tools, withheld_tools=withheld)
    assert tuple(tool for tool in OURS if delegate_of(file).allows(tool)) == given
    assert unknown_tools(file) == unknown


def test_every_tool_has_a_name_for_people() -> None:
    assert TOOL_LABELS.keys() >= TOOLS.keys() | OTHER_NAMES.keys()
    assert not [label for label in TOOL_LABELS.values() if "_" in label]


@pytest.mark.parametrize(
    ("tool", "label"),
    [("run_command", "run"), ("mcp__git__log", "git log"), ("their_tool\x1b[31m", "their_tool␛[31m"), ("", "")],
)
def test_a_tool_by_its_name_for_people(tool: str, label: str) -> None:
    assert tool_label(tool) == label
