"""Tool calls in a line, whatever the model wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui.events.refusals import refused_by_hook
from co_tui.events.stored_messages import pieces
from co_tui.events.tool_wording import (
    argument_lines,
    call_summary,
    diff_of,
    piece_line,
    piece_text,
    plan_progress,
    result_summary,
    stage_of,
)


@pytest.mark.parametrize(
    ("tool", "arguments", "result", "line"),
    [
        ("run_command", {"timeout_seconds": 5, "command": "uv run  pytest"}, "x\n[exit code: 1]\n[took 2.1 s]",
         "uv run pytest · exit 1 · 2.1 s"),
        ("run_command", {"command": "ls"}, "[stdout]\na", "ls · exit 0"),
        ("run_command", {"command": "x"}, "[stdout]\n[exit code: 9]\n" + "y" * 300, "x · exit 0"),
        ("run_command", {"command": "x"}, "[Command timed out after 3s]", "x · timed out"),
        ("read_file", {"limit": 3, "path": "a.py"}, "[a.py | 1041 lines]\n1 a", "a.py · 1,041 lines"),
        ("read_file", {"path": "a.py"}, "Path not found: a.py", "a.py · Path not found: a.py"),
        ("edit_file", {"path": "a", "old_text": "x\ny", "new_text": "z"}, "Edited", "a · +1 −2"),
        ("write_file", {"content": "x\ny\n", "path": "a"}, "Wrote", "a · +2"),
        ("search_files", {"path": "src", "pattern": "def"}, "a\nb", "def src · 2 lines"),
        ("ask_user_question", {"questions": [{"question": "Which?"}]}, '{"Tag": ["v1"], "W": "x"}', "Which? · v1, x"),
        ("recall", {"query": "login", "page": 2}, "Nothing", "login 2 · Nothing"),
    ],
)  # fmt: skip
def test_a_call_in_a_line(tool: str, arguments: dict, result: str, line: str) -> None:
    written = json.dumps(arguments)
    assert f"{call_summary(tool, written)} · {result_summary(tool, written, result)}" == line


def test_several_replacements_are_one_diff() -> None:
    pairs = [{"old_text": "a", "new_text": "b"}, {"old_text": "c\nd", "new_text": ""}]
    assert diff_of("edit_file", json.dumps({"path": "x", "replacements": pairs})) == ["-a", "+b", "-c", "-d"]


def test_progress_shows_what_is_done_and_what_is_under_way() -> None:
    steps = [{"text": "a", "state": "completed"}, {"text": "b", "state": "in_progress"}, {"text": "c"}]
    assert plan_progress(steps) == "1 of 3  a · ▶ b · c" and plan_progress([]) == "no steps"


TOOLS = ["run_command", "write_plan", "ask_user_question", "edit_file", "write_file", "read_file", "search_files", "x"]
KEYS = ["command", "path", "items", "questions", "replacements", "old_text", "new_text", "content", "pattern"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2),
)


@given(st.sampled_from(TOOLS), st.dictionaries(st.sampled_from(KEYS), VALUES).map(json.dumps) | st.text(), st.text())
def test_no_arguments_and_no_result_break_it(tool: str, arguments: str, result: str) -> None:
    for line in (call_summary(tool, arguments), result_summary(tool, arguments, result)):
        assert "\n" not in line and len(line) <= 160


def test_a_call_opened_is_reported_in_lines() -> None:
    written = json.dumps({"command": "make", "env": {"A": 1}, "content": "x\ny", "items": [{"do": "it", "n": 2}, 3]})
    assert argument_lines(written) == "command: make\nenv: A: 1\ncontent: \n  x\n  y\nitems: \n  - do: it, n: 2\n  - 3"
    assert argument_lines('{"command": "ma') == '{"command": "ma' and argument_lines("{}") == ""


def test_a_denied_call_reads_denied_and_one_a_hook_refused_says_so() -> None:
    assert result_summary("run_command", "{}", "The user denied it.", stage_of("denied")) == "denied"
    refused = refused_by_hook("use trash")
    assert result_summary("run_command", "{}", refused, stage_of("denied")) == "refused by a hook"
    assert result_summary("run_command", "{}", refused, "finished") != "refused by a hook"


def test_a_started_command_reads_in_the_background() -> None:
    assert result_summary("start_command", "{}", "Started\nID: 1") == "in the background"


def test_a_message_is_listed_and_opened_with_the_names_people_have_for_tools() -> None:
    arguments = json.dumps({"command": "uv run pytest", "timeout_s": 9})
    call = {"part_kind": "tool-call", "tool_name": "run_command", "args": arguments}
    result = {"part_kind": "tool-return", "tool_name": "run_command", "content": "3 passed"}
    message = {"kind": "response", "parts": [call, result, {"part_kind": "text", "content": "Done."}]}
    assert [piece_line(*piece) for piece in pieces(message)] == ["run  uv run pytest", "run  3 passed", "Done."]
    assert [piece_text(*piece) for piece in pieces(message)] == [
        "run\ncommand: uv run pytest\ntimeout_s: 9",
        "3 passed",
        "Done.",
    ]
