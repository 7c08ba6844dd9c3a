"""What a file calls a tool, and which of ours that gives its agent: never more than it names."""

from pathlib import Path

from co_tui.agent.delegates import delegate_of
from co_tui.agent.permissions.agent_limits import unknown_tools
from co_tui.agent.permissions.judge import Judge
from co_tui.agent.tool_names import OTHER_NAMES, TOOLS
from co_tui.events.tool_calls import TOOL_LABELS, tool_label
from co_tui.settings import AgentFile
from co_tui.settings.markdown.front_matter import tool_list
from tests.support.cases import each_case

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


@each_case(
    ("tools", "withheld", "given", "unknown"),
    [
        (None, (), OURS, []),
        ((), (), (), []),
        (("Read", "Bash"), (), ("read_file", "run_command", "start_command"), []),
        (("read_file", "Read", "NotebookRead"), (), ("read_file",), ["NotebookRead"]),
        (("Bash(git diff:*)",), (), ("run_command", "start_command"), []),
        (("Read", "Foo(x)", "Bash(x"), (), ("read_file",), ["Foo(x)", "Bash(x"]),
        (None, ("Bash(rm:*)",), OURS, []),
        (("mcp__db__*",), (), ("mcp__db__ask",), []),
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


@each_case(
    ("tool", "arguments", "keeps"),
    [
        ("run_command", {"command": "git log -5"}, True),
        ("start_command", {"command": "timeout 9 git log"}, True),
        ("run_command", {"command": "git log 2>&1 && git diff --stat"}, True),
        *(
            ("run_command", {"command": f"git log{more}"}, False)
            for more in ("ged", "; ls", " | head", " > log", " $(id)", "\nls", " && git push", " $HOME")
        ),
        ("run_command", {"command": "CI=1 git log"}, False),
        ("run_command", {"command": "cd src && git log"}, False),
        ("check_command", {"id": "1"}, True),
        ("read_file", {"path": "/etc/passwd"}, True),
        ("edit_files", {"files": [{"path": "docs/a.md"}, {"path": "docs/deep/b.md"}]}, True),
        ("edit_files", {"files": [{"path": "docs/a.md"}, {"path": "src/a.py"}]}, False),
        ("edit_file", {"path": "docs/../src/a.py"}, False),
        ("web_fetch", {"url": "https://docs.example.com/x"}, True),
        ("web_fetch", {"url": "https://example.com/x"}, False),
        ("delegate_task", {"agent_name": "helper"}, True),
        ("delegate_task", {"agent_name": "self"}, False),
        ("transfer_to_agent", {"agent_name": "main"}, True),
    ],
)
def test_a_tool_with_a_rule_is_for_such_calls_only(
    tmp_path: Path, tool: str, arguments: dict[str, object], keeps: bool
) -> None:
    commands, others = "Bash(git log:*) Bash(git diff:*)", "Edit(docs/**), Agent(worker, helper) Read Read(x)"
    tools = tool_list([commands, others, "WebFetch(domain:docs.example.com)", "Grep", "Bash(ls, Grep"])
    assert tools[-2:] == ("Grep", "Bash(ls, Grep"), "a rule that is not closed is none"
    limits = delegate_of(AgentFile(file=Path("a.md"), name="a", tools=tools)).limits
    judge = Judge(folder=tmp_path, home=tmp_path)
    assert tool not in limits.only or judge.keeps_to(tool, arguments, limits.only[tool]) == keeps
    assert keeps or tool in limits.only


def test_every_tool_has_a_name_for_people() -> None:
    assert TOOL_LABELS.keys() >= TOOLS.keys() | OTHER_NAMES.keys()
    assert not [label for label in TOOL_LABELS.values() if "_" in label]


@each_case(
    ("tool", "label"),
    [("run_command", "run"), ("mcp__git__log", "git log"), ("their_tool\x1b[31m", "their_tool␛[31m"), ("", "")],
)
def test_a_tool_by_its_name_for_people(tool: str, label: str) -> None:
    assert tool_label(tool) == label
