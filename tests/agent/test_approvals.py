"""What an answer allows beyond the call it was about, and what it never does."""

from pathlib import Path

import pytest
from co_tui.agent.approvals import (
    AllowedCalls,
    asks_first,
    is_allowed,
    mcp_server_and_tool,
    mcp_tool_name,
    pattern_for,
    rule_from,
)
from hypothesis import given
from hypothesis import strategies as st

from co_tui.events import ApprovalDecided


def allows(pattern: str, subject: str) -> bool:
    return is_allowed([AllowedCalls("shell", pattern)], "shell", {"command": subject, "cwd": "/"})


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        ({"command": "make"}, "make *"),
        ({"command": "mypy src"}, "mypy *"),
        ({"command": "git commit -m 'all of it'"}, "git commit *"),
        ({"command": "git -C .. commit"}, "git -C .. commit"),
        ({"command": "uv run pytest -q"}, "uv run pytest *"),
        ({"command": "python -m pytest"}, "python -m pytest"),
        ({"command": "git push origin"}, ""),
        ({"command": "ls; rm -rf /"}, ""),
        ({"command": "echo $(id)"}, ""),
        ({"command": ""}, ""),
        ({"content": "src/x", "path": "src/app/main.py"}, "src/app/*"),
        ({"path": "README.md"}, "README.md"),
        ({"query": "anything"}, ""),
    ],
)
def test_a_pattern_is_the_same_program_or_the_same_folder(arguments: dict[str, str], pattern: str) -> None:
    assert pattern_for(arguments) == pattern


@pytest.mark.parametrize("arguments", [{}, {"path": "a/b"}, {"command": "make; rm -rf /"}, {"query": "x"}])
def test_a_servers_tool_always_asks_and_is_allowed_as_a_whole(arguments: dict[str, str]) -> None:
    name = mcp_tool_name("a_b", "c__d")
    assert mcp_server_and_tool(name) == ("a_b", "c__d")
    assert asks_first(name, arguments, Path("/")) and pattern_for(arguments, name) == name
    irrevocable = "command" in arguments
    assert is_allowed([AllowedCalls(name, name)], name, arguments) != irrevocable
    assert not is_allowed([AllowedCalls(name, name)], mcp_tool_name("a", "b__c__d"), arguments)
    assert not is_allowed([AllowedCalls(name, "a/*"), AllowedCalls(name, "make *")], name, arguments)


@given(st.text(st.sampled_from("ab c/.-\n;&|$`()<>"), max_size=20))
def test_a_pattern_allows_what_it_was_made_for(subject: str) -> None:
    pattern = pattern_for({"command": subject})
    assert not pattern or ".." in subject or allows(pattern, subject.strip())


@pytest.mark.parametrize(
    "subject",
    ["git status; rm x", "git log && rm x", "git log | sh", "git log > x", "git `rm x`", "git $(rm x)", "git a\nrm x",
     "gitx status"],
)  # fmt: skip
def test_a_program_allows_no_other_program(subject: str) -> None:
    assert allows("git *", "git status") and not allows("git *", subject)


def test_a_pattern_is_held_against_the_path_whatever_else_is_said() -> None:
    rules = [AllowedCalls("write_file", "src/*")]
    assert is_allowed(rules, "write_file", {"content": "x", "path": "src/a"})
    assert not is_allowed(rules, "write_file", {"content": "src/a", "path": "setup.py"})


@pytest.mark.parametrize("path", ["src/../secret", "src/a/../../secret", "other/a", "src"])
def test_a_folder_allows_nothing_outside_of_it(path: str) -> None:
    assert allows("src/*", "src/a/b.py") and not allows("src/*", path)


def test_a_rule_is_for_its_tool_alone() -> None:
    assert is_allowed([AllowedCalls("write")], "write", {"n": 1})
    assert not is_allowed([AllowedCalls("write")], "shell", {"n": 1})


@pytest.mark.parametrize(
    ("decided", "rule"),
    [
        (ApprovalDecided(call_id="c", approved=True), None),
        (ApprovalDecided(call_id="c", approved=True, scope="session"), AllowedCalls("write")),
        (ApprovalDecided(call_id="c", approved=True, scope="pattern", pattern="a/*"), AllowedCalls("write", "a/*")),
        (ApprovalDecided(call_id="c", approved=True, scope="pattern"), None),
        (ApprovalDecided(call_id="c", approved=False, scope="session"), None),
    ],
)
def test_only_an_answer_that_reaches_further_makes_a_rule(decided: ApprovalDecided, rule: AllowedCalls | None) -> None:
    assert rule_from("write", decided) == rule
