"""What hooks are configured with, what they are told, and what their answers mean."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui.session.hooks.hook_answers import TOLD_CHARS, HookAnswer, combined, failed, read_answer
from co_tui.session.hooks.hook_process import OUTPUT_BYTES, HookEnded
from co_tui.session.hooks.tool_forms import (
    InputNotTaken,
    given_input,
    given_response,
    inputs_of,
    names_of,
    updated_arguments,
)
from co_tui.session.processes.printed_output import PrintedOutput
from co_tui.settings import SettingsError, check, value_text
from co_tui.settings.hook_entries import HOOKS, HookEntry, hooks_as_table, joined

FOLDER = Path("/project")


def answer(event: str, *, stdout: Any = "", stderr: str = "", code: int = 0) -> HookAnswer:
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)
    return read_answer(event, HookEnded(code, text.encode(), stderr.encode()), ["hunter22"])


def specific(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": fields}


# The setting


def test_an_entry_is_a_command_or_a_table_under_either_spelling() -> None:
    given = {"PreToolUse": ["a", {"matcher": "Bash", "command": "b"}], "preToolUse": "c", "stop": {"command": "d"}}
    read = check("hooks", given)
    assert read == {
        "preToolUse": (HookEntry("a"), HookEntry("b", "Bash"), HookEntry("c")),
        "stop": (HookEntry("d"),),
    }
    assert check("hooks", hooks_as_table(read)) == read
    assert value_text(read) == '{"preToolUse": ["a", {"matcher": "Bash", "command": "b"}, "c"], "stop": ["d"]}'


def test_the_nested_form_of_claude_code_is_read() -> None:
    nested = [{"type": "command", "command": "a", "timeout": 30}, {"type": "command", "command": "b"}]
    read = check("hooks", {"PreToolUse": [{"matcher": "Bash", "hooks": nested}], "Stop": [{"hooks": nested[1:]}]})
    assert read == {
        "preToolUse": (HookEntry("a", "Bash", timeout_s=30), HookEntry("b", "Bash")),
        "stop": (HookEntry("b"),),
    }
    assert check("hooks", hooks_as_table(read)) == read


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"beforeTea": "x"}, "a table of commands for preCompact, sessionStart"),
        ({"stop": [{"matcher": "Bash"}]}, "hooks.stop.command = None"),
        ({"stop": [{"command": "x", "match": "y"}]}, "hooks.stop = "),
        ({"stop": [{"command": "x", "matcher": "("}]}, "hooks.stop.matcher = '('"),
        ({"stop": [3]}, "a command, or a table"),
        ({"stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}, "hooks.stop.hooks = "),
        ({"stop": [{"hooks": [{"type": "http", "command": "x"}]}]}, "hooks.stop.hooks.type = 'http'"),
        ({"stop": [{"hooks": "x"}]}, "a command, or a table"),
        ({"stop": [{"command": "x", "timeout": -1}]}, "hooks.stop.timeout = -1"),
    ],
)
def test_a_bad_entry_is_named(value: object, named: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check("hooks", value)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("matcher", "matching", "other"),
    [
        ("", "run_command", ""),
        ("*", "edit_file", ""),
        ("Bash", "run_command", "edit_file"),
        ("run_command", "run_command", "start_command"),
        ("Edit|Write", "write_file", "read_file"),
        ("mcp__shop__.*", "mcp__shop__buy", "mcp__other__buy"),
        ("^(Edit|Write)$", "edit_file", "run_command"),
        ("Edit", "edit_files", "write_file"),
        ("Bash", "start_command", "check_command"),
        ("Agent", "delegate_task", "read_file"),
        ("WebFetch", "web_fetch", "web_search"),
    ],
)
def test_a_matcher_is_compared_with_both_names_of_a_tool(matcher: str, matching: str, other: str) -> None:
    entry = HookEntry("x", matcher)
    assert entry.matches(names_of(matching))
    assert not other or not entry.matches(names_of(other))
    assert entry.matches(()), "an event without names ignores it"


def test_a_project_adds_hooks_and_replaces_none() -> None:
    own, project = {"stop": (HookEntry("own"),)}, {"stop": (HookEntry("theirs"),), "preToolUse": (HookEntry("x"),)}
    assert joined(project, own) == {
        "preToolUse": (HookEntry("x"),),
        "stop": (HookEntry("own"), HookEntry("theirs")),
    }


# The answers


def test_exit_code_2_refuses_with_all_of_its_standard_error() -> None:
    found = answer("preToolUse", stdout="ignored", stderr="no pushing\nask Ann, key hunter22\n", code=2)
    assert (found.decision, found.reason) == ("block", "no pushing\nask Ann, key [hidden]")
    assert found.refuses and found.outcome == "Refused: no pushing ask Ann, key [hidden]"
    assert answer("stop", code=2).reason == "No reason given."


def test_other_failures_are_reported_and_decide_nothing() -> None:
    assert answer("preToolUse", stderr="boom", code=1) == failed("Failed with exit code 1: boom")
    assert answer("preToolUse", stdout="{" * 9) == failed("Its output is not a JSON object and was ignored.")
    assert answer("stop", stdout="x" * (OUTPUT_BYTES + 1)).outcome == "Its output is over 64 kB and was ignored."


@pytest.mark.parametrize("event", ["userPromptSubmit", "postToolUse", "stop", "preToolUse"])
def test_a_block_is_understood_everywhere(event: str) -> None:
    found = answer(event, stdout={"decision": "block", "reason": "run the tests"})
    assert (found.refuses, found.reason) == (True, "run the tests")


@pytest.mark.parametrize(
    ("word", "decision"), [("allow", "allow"), ("deny", "deny"), ("ask", "ask"), ("whatever", "ask"), (7, "ask")]
)
def test_a_permission_decision_counts_before_a_call_and_an_unknown_one_asks(word: object, decision: str) -> None:
    output = specific(permissionDecision=word, permissionDecisionReason="why")
    assert (answer("preToolUse", stdout=output).decision, answer("preToolUse", stdout=output).reason) == (
        decision,
        "why",
    )
    assert answer("postToolUse", stdout=output) == HookAnswer()


def test_context_and_changed_input_are_taken_within_limits() -> None:
    found = answer("preToolUse", stdout=specific(additionalContext="\x1b[31mred", updatedInput={"command": "ls"}))
    assert (found.context, found.updated_input) == ("␛[31mred", {"command": "ls"})
    assert found.outcome == "Changed the input, added to the context."
    long = answer("postToolUse", stdout=specific(additionalContext="x" * (TOLD_CHARS + 5)))
    assert long.context.endswith("[… 5 more characters are left out]")
    assert answer("postToolUse", stdout=specific(updatedInput={"command": "ls"})) == HookAnswer()


def test_an_answer_may_stop_the_turn_and_speak_to_the_user() -> None:
    output = {"continue": False, "stopReason": "too late", "systemMessage": "key hunter22", "decision": "block"}
    found = answer("postToolUse", stdout=output | specific(additionalContext="more"))
    assert (found.decision, found.reason, found.notice) == ("stop", "too late", "key [hidden]")
    assert found.stops and found.refuses and (found.context, found.outcome) == ("more", "Stopped: too late")
    assert not answer("stop", stdout={"continue": True, "systemMessage": "hi"}).refuses
    assert combined([answer("preToolUse", code=2), found]).stops


def test_plain_text_is_context_where_claude_code_takes_it_so() -> None:
    assert answer("sessionStart", stdout="branch: main\n").context == "branch: main"
    assert answer("userPromptSubmit", stdout="[1]").context == "[1]"
    assert answer("postToolUse", stdout="formatted") == HookAnswer()


def test_of_several_answers_the_strictest_decides_and_every_addition_counts() -> None:
    found = combined(
        [
            HookAnswer(decision="allow", context="a", updated_input={"x": 1}),
            HookAnswer(decision="ask", reason="hm"),
            HookAnswer(context="b", updated_input={"x": 2}),
        ]
    )
    assert (found.decision, found.reason, found.context, found.updated_input) == ("ask", "hm", "a\nb", {"x": 2})
    assert combined([]) == HookAnswer()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["decision", "reason", "hookSpecificOutput", "permissionDecision", "updatedInput", "additionalContext"]
            ),
            inner | st.sampled_from(["block", "deny", "allow", "approve"]),
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(st.sampled_from(HOOKS), st.integers(-20, 255), JSON | st.binary(max_size=60), st.binary(max_size=60))
def test_no_answer_breaks_anything_and_only_a_clear_one_allows(event: str, code: int, said: Any, stderr: bytes) -> None:
    stdout = said if isinstance(said, bytes) else json.dumps(said).encode()
    found = read_answer(event, HookEnded(code, stdout, stderr))
    assert found.outcome and (not found.refuses or found.reason)
    assert found.refuses or code != 2
    if found.decision == "allow" or found.updated_input is not None:
        assert event == "preToolUse" and code == 0


# Tool calls under both names


def test_a_call_has_the_names_of_claude_code_too() -> None:
    edit = given_input("edit_file", {"path": "a.py", "old_text": "x", "new_text": "y"}, FOLDER)
    assert edit["file_path"] == "/project/a.py" and (edit["old_string"], edit["new_string"]) == ("x", "y")
    assert edit["path"] == "a.py" and edit["old_text"] == "x"
    run = given_input("run_command", {"command": "ls", "timeout_seconds": 1.5}, FOLDER)
    assert (run["command"], run["timeout"]) == ("ls", 1500)
    assert given_input("mcp__a__b", {"path": "x"}, FOLDER) == {"path": "x"}
    (written,) = inputs_of("write_file", {"path": "a"}, FOLDER)
    assert given_response(written, "Wrote it.") == {"content": "Wrote it.", "filePath": "/project/a", "success": True}
    (ran,) = inputs_of("run_command", {"command": "x"}, FOLDER)
    assert given_response(ran, "[stdout]\nout\n[stderr]\nerr", PrintedOutput("out", "err")) == {
        "content": "[stdout]\nout\n[stderr]\nerr", "stdout": "out", "stderr": "err", "interrupted": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"file_path": "/project/b.py"}, {"path": "b.py", "old_text": "x"}),
        ({"path": "c.py"}, {"path": "c.py", "old_text": "x"}),
        ({"old_string": "z", "replace_all": True}, {"path": "a.py", "old_text": "z"}),
        ({"file_path": "/elsewhere"}, {"path": "/elsewhere", "old_text": "x"}),
        ({}, {"path": "a.py", "old_text": "x"}),
    ],
)
def test_changed_input_is_read_under_either_name(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    arguments = {"path": "a.py", "old_text": "x"}
    (given,) = inputs_of("edit_file", arguments, FOLDER)
    for updated in (changed, given.given | changed):
        assert updated_arguments(given, updated, {"path", "old_text"}, FOLDER) == expected


ONE_EDIT = {"path": "a.py", "replacements": [{"old_text": "x", "new_text": "y"}]}
TWO_EDITS = {"path": "b.py", "replacements": [*ONE_EDIT["replacements"], {"old_text": "v", "new_text": "w"}]}
NEW = {"replacements": [{"old_text": "x", "new_text": "Y"}]}
WHOLE = {"path": "c.py", "content": "z"}


def test_a_call_that_changes_several_files_is_one_input_for_each() -> None:
    one, two, whole = inputs_of("edit_files", {"files": [ONE_EDIT, TWO_EDITS, WHOLE]}, FOLDER)
    assert [each.names[0] for each in (one, two, whole)] == ["Edit", "Edit", "Write"]
    assert {"Edit", "MultiEdit", "edit_files"} <= {*one.names} & {*two.names} & {*whole.names}
    assert [each.given["file_path"] for each in (one, two, whole)] == [f"/project/{name}.py" for name in "abc"]
    assert (one.given["old_string"], one.given["new_string"]) == ("x", "y")
    assert two.given["new_string"] == "y\nw" and two.given["edits"][1] == {"old_string": "v", "new_string": "w"}
    assert whole.given["content"] == "z"


@pytest.mark.parametrize(
    ("file", "changed", "expected"),
    [
        (ONE_EDIT, {"new_string": "Y"}, NEW),
        (ONE_EDIT, {"file_path": "/project/d.py"}, {"path": "d.py"}),
        (TWO_EDITS, {"edits": [{"old_string": "x", "new_string": "Y"}]}, NEW),
        (WHOLE, {"content": "Z", "other": 1}, {"content": "Z"}),
    ],
)
def test_changed_input_of_one_file_becomes_its_change(
    file: dict[str, Any], changed: dict[str, Any], expected: dict[str, Any]
) -> None:
    (given,) = inputs_of("edit_files", {"files": [file]}, FOLDER)
    for updated in (changed, given.given | changed):
        assert updated_arguments(given, updated, {"files"}, FOLDER) == file | expected


@pytest.mark.parametrize(
    ("tool", "arguments", "changed"),
    [("edit_files", {"files": [TWO_EDITS]}, {"new_string": "Y"}), ("load_capability", {"id": "a"}, {"skill": "b"})],
)
def test_changed_input_that_cannot_be_used_is_refused(
    tool: str, arguments: dict[str, Any], changed: dict[str, Any]
) -> None:
    (given,) = inputs_of(tool, arguments, FOLDER)
    with pytest.raises(InputNotTaken):
        updated_arguments(given, changed, {"id"}, FOLDER)
