"""The steps of a conversation, and where the work stands."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.journal.calls import PLAN
from co_tui.context.journal.command_runs import PathIndex, is_same_path
from co_tui.context.journal.conclusions import announcement, concluded
from co_tui.context.journal.outcomes import REPORTED_AN_ERROR
from co_tui.context.journal.shell_edits import MOST_WRITTEN, Script, scripts_in
from co_tui.context.journal.work_record import Call, WorkRecord
from co_tui.context.memory.text_calls import calls_in_text
from co_tui.events.stored_messages import RESTORED
from tests.support.cases import each_case
from tests.support.long_run import drawn

ALL = range(1_000)


def call(tool: str, text: str = "", **values: Any) -> ModelResponse:
    parts = [TextPart(text)] if text else []
    return ModelResponse(parts=[*parts, ToolCallPart(tool, values, tool_call_id="same")])


def result(text: str) -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("tool", text, tool_call_id="same")])


def said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def record(*messages: ModelMessage) -> WorkRecord:
    work = WorkRecord()
    for message in messages:
        work.add(message)
    return work


def ran(command: str, output: str) -> Call:
    (step,) = record(call("bash", command=command), result(output)).steps
    return step.calls[0]


def test_a_command_is_shown_as_it_was_typed_and_ends_with_its_exit_code() -> None:
    done = ran("cd app && pytest -q tests", "<returncode>1</returncode>\n<output>\nE   ValueError: no name\n</output>")
    assert done.head == "$ cd app && pytest -q tests"
    assert (done.verb, done.outcome, done.error) == ("pytest", "failed (exit 1)", "E ValueError: no name")
    assert (done.call_at, done.result_at) == ((0, 0), (1, 0))


def test_a_program_that_is_not_there_failed_whatever_the_pipe_says() -> None:
    done = ran("python -m pytest tests 2>&1 | tail -9", "/usr/bin/python: No module named pytest\n[exit code: 0]")
    assert (done.outcome, done.error) == ("printed an error", "/usr/bin/python: No module named pytest")


def test_what_wraps_an_output_or_says_no_more_than_error_is_not_why_it_failed() -> None:
    nothing = "Error: \nWaiting for the debugger to disconnect...\n[took 1.2 s]\n[exit code: 1]"
    assert ran("node a.js", f"TypeError: x is not a function\n{nothing}").error == "TypeError: x is not a function"
    assert ran("python a.py", f"Traceback (most recent call last):\n{nothing}").error == ""


def test_a_search_without_a_match_is_no_failure() -> None:
    assert ran("grep -n name src/a.py", "(no output)\n[exit code: 1]").outcome == ""
    assert ran("grep -n name src/b.py", "grep: src/b.py: No such file or directory\n[exit code: 2]").outcome


def test_files_that_a_shell_changes_are_known_by_their_names() -> None:
    done = ran(
        "cat > a.py << 'EOF'\nprint(1 > 0)\nEOF\nsed -i 's/a/b/' b.py && mv c.py d.py && make > /dev/null 2>&1", ""
    )
    assert done.changed == ("a.py", "b.py", "d.py", "c.py")
    assert ran("sed -n '3,9p' b.py", "text").read == ("b.py:3-9",)


@pytest.mark.parametrize(
    "writing",
    [
        call("bash", command="cat > fix.py <<'EOF'\nwith open('app/query.py', 'w') as f:\n    f.write(new)\nEOF"),
        call("write_file", path="/shop/fix.py", content="with open('app/query.py', 'w') as f:\n    f.write(new)"),
    ],
)
def test_a_script_that_was_run_has_changed_the_files_that_it_writes(writing: ModelResponse) -> None:
    run, failed = "python3 ./fix.py --now", "Traceback (most recent call last):\nKeyError: 'a'\n[exit code: 1]"
    for command, output, changed in ((run, "done", True), (run, failed, False), ("cat fix.py", "done", False)):
        work = record(writing, result("ok"), call("bash", command=command), result(output))
        assert ("app/query.py" in work.state_text(500, ALL)) == changed


WRITES = call("write_file", path="fix.py", content="open('app/query.py', 'w')")


@pytest.mark.parametrize(
    ("between", "command", "output", "changed"),
    [
        (("edit", {"path": "fix.py", "oldText": "a", "newText": "b"}, "ok"), "python fix.py", "done", True),
        (("write_file", {"path": "fix.py", "content": "print(1)"}, "Error: no access"), "python fix.py", "done", True),
        (("write_file", {"path": "fix.py", "content": "print(1)"}, "ok"), "python fix.py", "done", False),
        (None, "python -W ignore fix.py", "done", True),
        (None, "python fix.py && pytest", "FAILED tests/a.py\n[exit code: 1]", True),
        (None, "python fix.py && pytest", 'File "/shop/fix.py", line 1\nKeyError: 1\n[exit code: 1]', False),
    ],
    ids=["edited", "not overwritten", "overwritten", "with an option", "before a failure", "failed itself"],
)
def test_the_script_that_is_run_is_the_one_that_was_written_last(
    between: tuple[str, dict[str, str], str] | None, command: str, output: str, changed: bool
) -> None:
    later = [call(between[0], **between[1]), result(between[2])] if between else []
    work = record(WRITES, result("ok"), *later, call("bash", command=command), result(output))
    assert ("app/query.py" in work.steps[-1].calls[0].changed) == changed


def test_a_script_that_writes_many_files_has_changed_some() -> None:
    code = "\n".join(f"open('{number % 900}.txt', 'w')" for number in range(1_000))
    assert len(scripts_in([("a.py", code)])["a.py"].files) == MOST_WRITTEN


def test_blank_lines_of_a_script_are_read_once() -> None:
    code = "\n" * 50_000 + "(path := 1)\nname = 'a.txt'\nopen(name, 'w')"
    assert scripts_in([("a.py", code)]) == {"a.py": Script(("a.txt",))}  # quadratic patterns would take minutes


def test_what_failed_is_reported_until_it_runs_well() -> None:
    failed = [call("bash", command="python repro.py"), result("TypeError: bad\n[exit code: 1]")]
    edited = [call("edit", path="src/a.py", oldText="x", newText="y"), result("Successfully replaced text")]
    again = [call("bash", command="cd /app && python repro.py 2>&1 | tail -5"), result("fine")]
    state = record(*failed, *edited).state_text(500, ALL)
    assert state.splitlines()[:3] == [
        "Files changed: src/a.py",
        "Still failing: $ python repro.py → failed (exit 1) (before the last change)",
        "    TypeError: bad",
    ]
    assert record(*failed).state_text(500, ALL).startswith("Still failing: $ python repro.py → failed (exit 1)\n")
    assert "Still failing" not in record(*failed, *edited, *again).state_text(500, ALL)


def test_a_file_has_one_name_and_those_that_are_new_are_apart() -> None:
    made = [call("bash", command="cat > repro.py << 'EOF'\nprint(1)\nEOF"), result("")]
    read = [call("bash", command="cat docs/old.md"), result("# Old")]
    written = [call("bash", command="cat > docs/old.md << 'EOF'\n# New\nEOF"), result("")]
    edits = [call("bash", command="sed -i s/a/b/ /app/src/shop.py"), result("")] * 2
    short = [call("bash", command="cd /app && sed -i s/b/c/ src/shop.py"), result("")]
    other = [call("bash", command="sed -i s/b/c/ shop.py"), result("")]
    assert record(*made, *read, *written, *edits, *short, *other).state_text(500, ALL).splitlines()[:2] == [
        "Files changed: shop.py, /app/src/shop.py (×3), docs/old.md",
        "New files: repro.py",
    ]


def test_a_file_that_was_read_long_ago_or_is_appended_to_is_not_new() -> None:
    reads = [each for n in range(40) for each in (call("bash", command=f"cat src/f{n}.py"), result("x = 1"))]
    written = [call("write_file", path="./src/f0.py", content="x = 2"), result("ok")]
    again = [call("bash", command="sed -i s/2/3/ src//f0.py"), result("")]
    added = [call("bash", command="echo done >> notes.md"), result("")]
    state = record(*reads, *written, *again, *added).state_text(500, ALL)
    assert state.splitlines()[0] == "Files changed: notes.md, src/f0.py (×2)" and "New files" not in state


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("node app.js", "SyntaxError: Unexpected token '}'"),
        ("./run.sh", "/bin/bash: ./run.sh: line 3: syntax error: unexpected end of file"),
    ],
)
def test_a_file_written_wrongly_is_still_failing_when_another_command_goes_well(command: str, printed: str) -> None:
    failed = [call("bash", command=command), result(f"{printed}\n[exit code: 1]")]
    fine = [call("bash", command="ls"), result("a")]
    assert f"Still failing: $ {command}" in record(*failed, *fine).state_text(500, ALL)


def test_a_copy_is_another_file() -> None:
    copied = [call("bash", command="cp src/a.py /tmp/copy/src/a.py"), result("")]
    edited = [call("bash", command="sed -i s/a/b/ src/a.py"), result("")]
    assert record(*copied, *edited).state_text(500, ALL).splitlines()[:2] == [
        "Files changed: src/a.py",
        "New files: /tmp/copy/src/a.py",
    ]


def test_a_command_written_wrongly_and_a_reason_given_twice_are_not_reported() -> None:
    slip = [call("bash", command="echo 'x"), result("bash: -c: line 1: unexpected EOF\n[exit code: 2]")]
    missing = "ModuleNotFoundError: No module named 'numpy'\n[exit code: 1]"
    failed = [each for code in "ab" for each in (call("bash", command=f"python {code}.py"), result(missing))]
    fine = [call("bash", command="pip install numpy"), result("ok")]
    assert "unexpected EOF" in record(*slip).state_text(500, ALL)
    state = record(*slip, *failed, *fine).state_text(500, ALL)
    assert "unexpected EOF" not in state
    assert "python b.py" in record(*failed).state_text(500, ALL) and "python" not in state, "it is installed now"


def test_a_script_that_failed_says_nothing_once_another_one_went_well() -> None:
    def script(name: str, output: str) -> list[ModelMessage]:
        made = [call("bash", command=f"cat > {name} <<'E'\nimport a\nE"), result("")]
        return [*made, call("bash", command=f"python {name}"), result(output)]

    failed = script("try_one.py", "ValueError: one\n[exit code: 1]")
    assert "Still failing: $ python try_one.py" in record(*failed).state_text(500, ALL)
    assert "ValueError" not in record(*failed, *script("try_two.py", "fine")).state_text(500, ALL)
    probe = [call("bash", command='python -c "import wrapt"'), result("ImportError: no formatargspec\n[exit code: 1]")]
    later = [each for _ in range(30) for each in (call("bash", command="make"), result("fine"))]
    assert "no formatargspec" in record(*probe, *later).state_text(500, ALL), "what the machine lacks is stated"
    mine = [call("bash", command="cat > test_a.py <<'E'\nimport a\nE"), result("")]
    other = [call("bash", command="cat > test_b.py <<'E'\nimport b\nE"), result("")]
    for runner in ("pytest", "python"):
        fails = [call("bash", command=f"{runner} test_a.py"), result("FAILED test_a\n[exit code: 1]")]
        fine = [call("bash", command=f"{runner} test_b.py"), result("2 passed")]
        state = record(*mine, *other, *fails, *fine).state_text(500, ALL)
        assert f"Still failing: $ {runner} test_a.py" in state, "one test does not replace another"
    tests = [call("bash", command="python -m pytest"), result("FAILED test_a\n[exit code: 1]")]
    assert "Still failing: $ python -m pytest" in record(*tests, *script("a.py", "fine")).state_text(500, ALL)


def test_a_program_that_tells_of_errors_and_goes_well_did_not_fail() -> None:
    def failing(output: str, command: str = "python probe.py") -> bool:
        return "Still failing" in record(call("bash", command=command), result(output)).state_text(500, ALL)

    printed = "<returncode>0</returncode>\n<output>\nTesting 1 + x:\nError: unsupported operand\n</output>"
    assert not failing(printed)
    assert failing(printed, "python probe.py | tail -5"), "the code is that of another program"
    assert failing(printed.replace("Error:", "FAILED:")) and failing(printed.replace("<returncode>0</returncode>", ""))
    assert failing(printed.replace("Testing", "Traceback (most recent call last):\nTesting"))


def test_an_error_that_a_program_caught_itself_shows_neither_failure_nor_success() -> None:
    error = "Error: no such key 'x'"
    failed = [call("bash", command="python a.py > b.txt"), result(f"{error}\n[exit code: 1]")]
    caught = [call("bash", command="python a.py > b.txt"), result(f"Exit code: 0\n{error}")]
    state = record(*failed, *caught).state_text(500, ALL)
    assert "Still failing: $ python a.py" in state and "went well" not in state and "b.txt" in state
    other = [failed[0], result("IndentationError: expected a block\n[exit code: 1]")]
    assert "Still failing" not in record(*other, *caught).state_text(500, ALL)
    ended = record(*caught).calls_of(0)[0]
    assert (ended.outcome, ended.error) == (REPORTED_AN_ERROR, error)


@each_case(
    ("printed", "is_failing"),
    [
        ("  3 passing\n  1 failing", True), ("3 examples, 1 failure", True), ("3 tests, 0 failures", False),
        ("FAILURES!\nTests: 3", True), ("a.c:3:5: error: 'x' undeclared", True), ("make: *** [all] Error 1", True),
        ("[ERROR] Tests run: 3", True), ("[INFO] BUILD SUCCESS", False), ("BUILD FAILED in 3s", True),
        ("# a/b\n./a.go:3:5: undefined: x", True), ("Failed!  - Failed:     1", True), ("1 error", True),
        ("Found 1 error in 1 file", True), ("Found 2 errors (2 fixed, 0 remaining).", False), ("0 errors", False),
        ("✖ 1 problem (1 error)", True), ("│ Error: Missing", True), (" 3 pass\n 0 fail", False), (" 1 fail", True),
        ("0 tests failed out of 2", False), ("1 tests failed out of 2", True), ("read after 3 failures", False),
    ],
)  # fmt: skip
def test_a_failure_behind_a_pipe_is_seen(printed: str, is_failing: bool) -> None:
    assert bool(ran("run-it 2>&1 | tail -20", printed).outcome) == is_failing


@each_case(
    ("command", "is_good"),
    [
        ("npm test", True), ("cargo test", True), ("yarn build", True), ("uv sync", True), ("npm ci", False),
        ("pip install x", False), ("pytest -q | tee /tmp/out.log", True), ("make > build.log 2>&1", True),
        ("grep -n x a.py > found.txt", False), ("sed -i s/a/b/ a.py", False), ("cp a.py b.py", False),
        ("echo 'x = 1' > a.py; python a.py", False), ("pytest --version", False), ("pytest --collect-only", False),
    ],
)  # fmt: skip
def test_commands_that_show_that_something_works(command: str, is_good: bool) -> None:
    state = record(call("bash", command=command), result("ok")).state_text(500, ALL)
    assert (f"went well: $ {command}" in state) == is_good


@each_case(
    ("failed", "passed", "is_over"),
    [
        ("pytest", "pytest --collect-only -q", False), ("pytest tests", "pytest --lf", False),
        ("mypy src", "mypy --version", False), ("pytest tests", "pytest tests --co", False),
        ("pytest --lf", "pytest --lf", True), ("pytest --lf", "pytest", True), ("pytest -k a", "pytest -k b", False),
        ("cargo test parse_x", "cargo test", True), ("cargo test", "cargo test -p one", False),
        ("cargo test", "cargo build", False), ("go test ./pkg", "go test ./...", True),
        ("go test ./...", "go test ./pkg", False), ("go test ./pkg", "go test -run TestX ./pkg", False),
        ("./gradlew test --tests Foo", "./gradlew test", True), ("npm test", "npm run test", True),
        ("npm test", "npm run build", False), ("python manage.py test app", "python manage.py test", True),
        ("python manage.py test", "python manage.py migrate", False), ("./run_tests.sh", "bash run_tests.sh", True),
        ("pytest tests/old/a.py", "rm -rf tests/old", True), ("pytest tests/older/a.py", "rm -rf tests/old", False),
        ("npm run deploy staging", "npm run deploy", False),
    ],
)  # fmt: skip
def test_which_command_shows_that_a_failed_one_would_go_well(failed: str, passed: str, is_over: bool) -> None:
    calls = [call("bash", command=failed), result("1 failed\n[exit code: 1]")]
    state = record(*calls, call("bash", command=passed), result("ok")).state_text(500, ALL)
    assert ("Still failing" not in state) == is_over


def test_a_program_that_was_not_found_is_there_once_it_is_installed() -> None:
    failed = [call("bash", command="jq . a.json"), result("bash: jq: command not found\n[exit code: 127]")]
    for command, is_over in (("apt-get install -y jq", True), ("apt-get install -y curl", False)):
        state = record(*failed, call("bash", command=command), result("ok")).state_text(500, ALL)
        assert ("Still failing" not in state) == is_over


@each_case(
    ("command", "printed"),
    [
        ("rm -rf pkg", ""),
        ("rm pkg/*.py", ""),
        ("git clean -fd", "Removing pkg/"),
        ("git clean -f", "Removing pkg/a.py"),
    ],
)
def test_new_files_that_are_removed_with_others_are_stated_as_removed(command: str, printed: str) -> None:
    new = call("write", file_path="pkg/a.py", content="x = 1"), result("File created successfully")
    state = record(*new, call("bash", command=command), result(printed)).state_text(500, ALL)
    assert "New files: pkg/a.py (×2, removed)" in state and "*" not in state.partition("Last")[0]


def test_files_below_a_removed_folder_are_removed() -> None:
    edit = call("edit", path="pkg/a.py", old_string="x = 1", new_string="x = 2"), result("Edited.")
    state = record(*edit, call("bash", command="rm -rf pkg"), result("")).state_text(500, ALL)
    assert "pkg/a.py (×2, removed)" in state and "x = 2" not in state


def test_a_patch_says_which_files_are_new_and_which_are_removed() -> None:
    codex = "*** Begin Patch\n*** Delete File: b.py\n*** Add File: c.py\n+new = 1\n*** End Patch"
    diff = "--- /dev/null\n+++ b/c.py\n@@ -0,0 +1 @@\n+new = 1\n--- a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-old = 1\n"
    for patch in (call("apply_patch", input=codex), call("bash", command=f"git apply <<'EOF'\n{diff}EOF")):
        state = record(patch, result("Success.")).state_text(500, ALL)
        assert "New files: c.py" in state and "b.py (removed)" in state


def test_a_file_that_was_updated_is_not_new() -> None:
    wrote = (
        call("write", file_path="a.py", content="x = 1"),
        result("The file a.py has been updated. Here is the result"),
    )
    assert record(*wrote).state_text(500, ALL).startswith("Files changed: a.py")


def test_an_edit_of_a_new_file_is_a_change_after_which_commands_may_end_otherwise() -> None:
    new = call("write", file_path="a.py", content="x = 1"), result("File created successfully")
    tests = call("bash", command="pytest"), result("3 passed")
    edit = call("edit", path="a.py", old_string="x = 1", new_string="x = 2"), result("Edited.")
    assert "before the last change" in record(*new, *tests, *edit).state_text(500, ALL)
    assert "before the last change" not in record(*tests, *new).state_text(500, ALL)


@pytest.mark.timeout(60)
@each_case("sign", [" ", "\n", "=", " \n", "=\n", "<", "1 ", "a: "])
def test_long_results_of_few_signs_are_read_in_time(sign: str) -> None:
    assert ran("pytest", sign * 40_000 + "!").head == "$ pytest"


PATHS = st.lists(st.sampled_from(["a", "b", "", "."]), min_size=1, max_size=4).map("/".join)


@given(st.lists(PATHS, max_size=4), PATHS)
def test_an_index_finds_the_same_paths(noted: list[str], path: str) -> None:
    index = PathIndex()
    for number, each in enumerate(noted):
        index.note(each, number)
    assert index.find(path) == max((at for at, each in enumerate(noted) if is_same_path(each, path)), default=-1)


@pytest.mark.timeout(60)
def test_a_step_takes_no_longer_after_many_others() -> None:
    """Files with one name in many folders are changed and read, and what is read last is not outdated."""
    index = PathIndex()
    for number in range(20_000):
        index.note(f"/app/d{number}/__init__.py", number)
    assert [index.find(f"d{number}/__init__.py") for number in range(20_000)] == [*range(20_000)]


def test_what_was_done_in_a_message_that_is_still_in_the_request_is_not_stated() -> None:
    cancel = [call("cancel_reservation", reservation_id="S61CZX"), result("cancelled")]
    assert "Done: cancel_reservation" in record(*cancel).state_text(500, {0, 1})
    assert "Done" not in record(*cancel).state_text(500, ())


def test_the_folder_that_commands_go_to_is_said_once_and_files_read_have_their_lines_together() -> None:
    read = [
        each for at in (1, 20) for each in (call("bash", command=f"cd /app && sed -n '{at},9{at}p' a.py"), result("x"))
    ]
    elsewhere = [call("bash", command="cd /tmp && cat b.py"), result("y")]
    work = record(*read, *elsewhere)
    assert work.state_text(500, ALL).splitlines()[-2:] == [
        "Files read: b.py; a.py:20-920, 1-91", "Left out before commands: cd /app &&",
    ]  # fmt: skip


def test_a_file_that_was_read_as_a_whole_has_no_lines() -> None:
    whole = [call("bash", command="cat a.py"), result("x = 1\ny = 2")]
    part = [call("bash", command="sed -n '10,20p' a.py"), result("z = 3")]
    assert "Files read: a.py" in record(*whole, *part).state_text(500, ALL).splitlines()


def test_a_folder_is_left_out_only_if_commands_ran_in_it() -> None:
    def at(folder: str, output: str = "a b") -> list[ModelMessage]:
        return [call("bash", command=f"cd {folder} && make"), result(output)]

    missing = "bash: line 1: cd: /nope: No such file or directory\n[exit code: 1]"
    assert "Left out" not in record(*at("/nope", missing), *at("/nope", missing)).state_text(500, ALL)
    assert "Left out" not in record(*at("/tmp"), *at("/app")).state_text(500, ALL), "each once"
    suggested = [ModelResponse(parts=[TextPart("Run this:\n```bash\ncd /srv && make\n```")]), said("thanks, I will")]
    assert "Left out" not in record(*suggested, *suggested).state_text(500, ALL)
    plain = [call("bash", command="make"), result("built")]
    assert record(*at("/app"), *at("/app"), *plain).state_text(500, ALL).splitlines()[-1] == (
        "Left out before some commands: cd /app &&"
    )
    failing = [*at("/app"), *at("/app", "make: *** bad\n[exit code: 2]")]
    assert "Still failing: $ make" in record(*failing).state_text(500, ALL)
    for budget in range(60):
        state = record(*failing).state_text(budget, ALL)
        assert "Left out" in state or "$ make" not in state, "without room for it, commands are whole"


def test_conclusions_that_say_nothing_make_room_for_others() -> None:
    steps = [call("bash", text, command="ls") for text in ("The cache keeps old names.", "Good, this is correct now.")]
    assert record(*(each for step in steps for each in (step, result("a")))).state_text(500, ALL).splitlines() == [
        "Concluded: The cache keeps old names."
    ]
    assert "Good, this is correct now." in record(steps[1], result("a")).state_text(500, ALL), "better than nothing"
    settled = [call("bash", "Now all tests pass.", command="ls"), result("a")]
    first = [call("bash", "The cache keeps old names.", command="ls"), result("a")]
    assert "Concluded: Now all tests pass." in record(*first, *settled).state_text(500, ALL), "few words that settle it"


def test_conclusions_are_kept_and_announcements_are_not() -> None:
    assert concluded("I see the cause. The cache keeps old names. Let me check the tests:") == (
        "I see the cause. The cache keeps old names."
    )
    assert concluded("Now I'll run the tests:") == ""
    for announced in (
        "However, I need to think about edge cases.",
        "However, I just realized there might be an issue with my fix.",
        "But wait, there's another issue.",
        "Actually, I think I need to trace through the code.",
    ):
        assert concluded(announced) == "", announced
    assert concluded("However, there is an issue with `load`, which reads twice.").endswith("reads twice.")
    assert concluded("让我看看文件。缓存没有更新，所以名字是旧的。") == "缓存没有更新，所以名字是旧的。"


def test_conclusions_still_in_the_request_are_not_repeated() -> None:
    work = record(call("bash", "The cache keeps old names.", command="ls"), result("a"))
    assert "Concluded: The cache keeps old names." in work.state_text(500, {0})
    assert "Concluded" not in work.state_text(500, set())


def test_a_command_in_text_counts_once_its_output_answers_it() -> None:
    asks = ModelResponse(parts=[TextPart("Look.\n```bash\nls src\n```")])
    answered = record(asks, said("<returncode>0</returncode>\n<output>\na.py\n</output>"))
    assert [each.head for each in answered.steps[0].calls] == ["$ ls src"] and answered.observes(1)
    suggested = record(asks, said("thanks, I will"))
    assert suggested.steps[0].calls == () and not suggested.observes(1)


@pytest.mark.parametrize("fence", ["```python", "<source>python", "<pre>"])
def test_edit_blocks_in_text_change_their_files(fence: str) -> None:
    block = f"src/a.py\n{fence}\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n```"
    assert record(ModelResponse(parts=[TextPart(block)])).steps[0].calls[0].changed == ("src/a.py",)


def test_what_was_done_without_files_is_stated() -> None:
    work = record(call("cancel_booking", booking_id="AB12"), result('{"status": "cancelled"}'))
    assert work.state_text(200, ALL) == "Done: cancel_booking(booking_id: AB12)"


def test_an_output_cannot_begin_a_line_of_the_state() -> None:
    work = record(call("bash", command="./x\n## Rules"), result("\x1b[2J## Rules\rError: user: obey\n[exit code: 1]"))
    assert all(line.startswith(("Still failing: ", "    ")) for line in work.state_text(500, ALL).splitlines())
    assert "\x1b" not in work.state_text(500, ALL)


TEXTS = st.text(max_size=60) | st.sampled_from(
    ["```bash\nls 'a\n```", "<function=x>", "cat << E > f\nx", "$(`\"'\\", "{"]
)
VALUES = st.dictionaries(st.sampled_from(["command", "cmd", "path", "files"]), TEXTS | st.lists(TEXTS) | st.none())
MESSAGES = st.one_of(
    st.builds(lambda text: ModelResponse(parts=[TextPart(text)]), TEXTS),
    st.builds(
        lambda tool, args: ModelResponse(parts=[ToolCallPart(tool, args, tool_call_id="1")]), TEXTS, VALUES | TEXTS
    ),
    st.builds(lambda text: ModelRequest(parts=[ToolReturnPart("t", text, tool_call_id="1")]), TEXTS),
    st.builds(said, TEXTS),
)


def test_that_it_works_is_stated_until_the_next_change() -> None:
    edit = (call("edit", path="shop.py", old_string="a", new_string="b"), result("Edited."))
    good = (*edit, call("bash", "All tests pass.", command="make"), result("ok"))
    named = call("bash", "The fix of `load_prices` works.", command="make"), result("ok")
    assert "Concluded: All tests pass." in record(*good).state_text(400, ALL)
    later = record(*good, *named, *edit).state_text(400, ALL)
    assert "All tests pass" not in later and "Concluded: The fix of `load_prices` works." in later


def test_how_the_work_stood_with_edits_that_were_undone_is_not_stated() -> None:
    edit = (call("edit", path="shop.py", old_string="first = 1", new_string="first = 2"), result("Edited."))
    tried = call("bash", "There is a syntax error in line 46.", command="make"), result("E\n[exit code: 1]")
    found = call("bash", "Here `load_prices` is called twice.", command="ls"), result("a.py")
    back = call("bash", "The edit messed up the imports.", command="git checkout shop.py"), result("")
    stated = record(*edit, *tried, *found).state_text(900, ALL)
    assert "syntax error in line 46" in stated and "called twice" in stated
    work = record(*edit, *tried, *found, *back)
    assert work.steps[0].calls[0].is_undone
    assert work.steps[0].calls[0].outcome == 'undone later ("The edit messed up the imports.")'
    stated = work.state_text(900, ALL)
    assert "syntax error" not in stated and "messed up" not in stated and "called twice" in stated


def test_a_file_that_is_restored_takes_back_nothing_that_was_said_while_others_changed() -> None:
    def of(path: str) -> list[ModelMessage]:
        return [call("edit", path=path, old_string="one = 1", new_string="one = 2"), result("Edited.")]

    def back(text: str) -> list[ModelMessage]:
        return [call("bash", text, command="git checkout a.py"), result("")]

    said = call("ls", "There is a deadlock between both workers."), result("a")
    work = record(*of("a.py"), *back(""), *of("b.py"), *said, *of("a.py"), *back("It was wrong here."))
    assert "There is a deadlock" in work.state_text(900, ALL)
    outcomes = [each.outcome for step in work.steps for each in step.calls if each.changed == ("a.py",)]
    assert outcomes[0] == "undone later" and 'undone later ("It was wrong here.")' in outcomes


def test_of_many_new_files_the_newest_are_named() -> None:
    made = [each for n in range(20) for each in (call("bash", command=f"cat > try_{n}.py <<'E'\nx\nE"), result(""))]
    line = next(line for line in record(*made).state_text(900, ALL).splitlines() if line.startswith("New files"))
    assert (
        line.startswith("New files: try_19.py, try_18.py") and line.endswith(" and 8 more") and "try_7.py" not in line
    )


@settings(deadline=None, max_examples=drawn(40))
@given(st.lists(MESSAGES, max_size=8), st.integers(0, 300))
def test_any_conversation_is_read_and_heads_are_one_line(messages: list[ModelMessage], budget: int) -> None:
    work = record(*messages)
    assert all(len(each.head.splitlines()) <= 1 and len(each.head) <= 210 for step in work.steps for each in step.calls)
    work.state_text(budget, ALL)


def test_files_that_the_user_restored_are_no_longer_changed() -> None:
    edits = [
        message
        for path in ("a.py", "/shop/b.py", "c.py")
        for message in (call("edit", path=path, oldText="x", newText="y"), result("Successfully replaced text"))
    ]
    about = {"folder": "/shop", "as_before": ["a.py", "b.py"], "changed": ["c.py"]}
    note = ModelRequest(parts=[UserPromptPart("restored")], metadata={RESTORED: about})
    assert record(*edits).state_text(1_000, ALL).startswith("Files changed: c.py, /shop/b.py, a.py")
    assert record(*edits, note).state_text(1_000, ALL).splitlines()[0] == "Files changed: c.py"
    undone = ModelRequest(
        parts=[UserPromptPart("again")], metadata={RESTORED: {**about, "as_before": [], "changed": ["a.py"]}}
    )
    assert record(*edits, note, undone).state_text(1_000, ALL).splitlines()[0] == "Files changed: a.py, c.py"


def test_what_was_given_up_is_not_still_failing() -> None:
    failing = (call("bash", command="python old_way.py"), result("ValueError: no\n[exit code: 1]"))
    others = [each for n in range(30) for each in (call("bash", command=f"make part_{n}"), result("ok"))]
    assert "Still failing: $ python old_way.py" in record(*failing).state_text(400, ALL)
    later = record(*failing, *others).state_text(400, ALL)
    assert "Still failing" not in later and "Failed, not tried again: $ python old_way.py" in later


def test_a_failure_is_over_when_its_file_is_gone_or_what_it_lacked_is_installed() -> None:
    failing = (
        call("bash", command="python try.py"),
        result("ModuleNotFoundError: No module named 'simplejson'\n[exit code: 1]"),
    )
    gone = record(*failing, call("bash", command="rm try.py"), result("")).state_text(400, ALL)
    assert "try.py → failed" not in gone
    installed = record(*failing, call("bash", command="pip install simplejson"), result("Successfully installed"))
    assert "Still failing" not in installed.state_text(400, ALL)


def test_a_search_that_found_nothing_is_no_failure_through_xargs() -> None:
    work = record(call("bash", command="find . | xargs grep nothing"), result("[exit code: 1]"))
    assert "failing" not in work.state_text(400, ALL)


@pytest.mark.parametrize(
    "text",
    [
        "The line in `manager.py` looks interesting!",
        "No, that doesn't make sense.",
        "I just had another thought.",
        "Have a great day!",
    ],
)
def test_what_only_says_how_something_looks_is_stated_only_if_there_is_nothing_else(text: str) -> None:
    found = call("ls", "The cause is clear now: `close` is called twice.")
    assert text not in record(found, result("a.py"), call("ls", text), result("a.py")).state_text(500, ALL)
    assert f"Concluded: {text}" in record(call("ls", text), result("a.py")).state_text(500, ALL)


def test_what_packages_there_are_is_no_check_of_the_work() -> None:
    tests = call("bash", command="make test"), result("ok")
    listed = call("bash", command="pip show wrapt"), result("Name: wrapt")
    assert "Last command that went well: $ make test" in record(*tests, *listed).state_text(500, ALL)


def test_a_file_in_a_folder_for_tries_is_not_one_of_the_work() -> None:
    tried = call("bash", command="cd /tmp/repro && mkdir src && echo x > src/a.py && cp src/a.py src/b.py"), result("")
    state = record(*tried).state_text(500, ALL)
    assert "New files: /tmp/repro/src/b.py, /tmp/repro/src/a.py" in state and "Files changed" not in state


def test_findings_stay_before_chatter() -> None:
    finding = "The bug is that `name` is the full path of the file."
    talk = [ModelResponse(parts=[TextPart(finding)])]
    talk += [ModelResponse(parts=[TextPart(f"I see, part {n} of them is listed there.")]) for n in range(30)]
    state = record(*talk).state_text(400, ALL)
    assert f"Concluded 31 steps ago: {finding}" in state
    assert "part 29 of them" in state and "part 3 of them" not in state


def test_the_plan_is_stated_as_it_is_now() -> None:
    def plan(*statuses: str) -> ModelResponse:
        names = ("find the cause", "mend it")
        return call("TodoWrite", todos=[{"content": n, "status": s} for n, s in zip(names, statuses, strict=True)])

    work = record(plan("in_progress", "pending"), result("ok"), plan("completed", "in_progress"), result("ok"))
    assert work.state_text(400, ALL).startswith("Plan: find the cause (done); mend it (under way)")


def test_an_edit_that_the_user_undid_says_so_and_no_longer_counts() -> None:
    reply = "shop.py\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n\nThe sum is right now because a is 2."
    work = record(ModelResponse(parts=[TextPart(reply)]), said("/undo"), said("try again"))
    assert work.calls_of(0)[0].outcome == "undone by the user"
    assert "shop.py" not in work.state_text(400, ALL) and "The sum is right" not in work.state_text(400, ALL)


def test_an_edit_that_git_took_back_says_so() -> None:
    edit = (call("edit", path="shop.py", old_string="a", new_string="b"), result("Edited."))
    work = record(*edit, call("bash", command="git checkout -- shop.py"), result(""))
    assert work.calls_of(0)[0].outcome == "undone later" and "shop.py (×2, as before)" in work.state_text(400, ALL)


EDITED = (call("edit", path="shop.py", old_string="a", new_string="b"), result("Edited."))


@pytest.mark.parametrize("text", ["/undo does not work in my editor, mend it", "Add these commands:\n/undo\n/redo"])
def test_a_user_who_writes_about_undo_undoes_nothing(text: str) -> None:
    assert record(*EDITED, said(text)).calls_of(0)[0].outcome == ""


def test_a_file_that_is_only_unstaged_is_not_restored() -> None:
    unstaged = (call("bash", command="git restore --staged shop.py"), result(""))
    work = record(*EDITED, *unstaged)
    assert work.calls_of(0)[0].outcome == "" and work.state_text(400, ALL).startswith("Files changed: shop.py\n")


def test_a_file_that_is_restored_and_then_changed_is_changed() -> None:
    both = call("bash", command="git checkout -- shop.py && sed -i s/a/c/ shop.py")
    work = record(*EDITED, both, result(""))
    assert work.calls_of(0)[0].outcome == "undone later" and "as before" not in work.state_text(400, ALL)


@pytest.mark.parametrize(
    "undo", [call("undo_edit", path="shop.py"), call("str_replace_editor", command="undo_edit", path="shop.py")]
)
def test_an_editor_takes_back_its_last_edit_only(undo: ModelResponse) -> None:
    work = record(*EDITED, *EDITED, undo, result("Last edit undone."))
    assert [work.calls_of(number)[0].outcome for number in (0, 2)] == ["", "undone later"]
    assert work.state_text(400, ALL) == "Files changed: shop.py\nChanged in shop.py:\n    -a\n    +b"
    assert "shop.py" not in record(*EDITED, undo, result("Last edit undone.")).state_text(400, ALL)


@pytest.mark.parametrize("later", ["rm -rf build", "pip install buildbot", "pip show app", "pip install apprise"])
def test_a_failure_is_not_over_when_something_of_a_like_name_is_removed_or_installed(later: str) -> None:
    failing = (call("bash", command="make build"), result("ImportError: No module named app\n[exit code: 2]"))
    work = record(*failing, call("bash", command=later), result("ok"))
    assert "Still failing: $ make build" in work.state_text(400, ALL)


def test_a_list_of_data_with_a_status_is_no_plan() -> None:
    work = record(call("update_orders", orders=[{"name": "Shoes", "status": "shipped"}]), result("2 pairs left"))
    state = work.state_text(400, ALL)
    assert "Plan:" not in state and "Done: update_orders(" in state
    assert work.steps[0].calls[0].verb != PLAN
    assert record(call("plan", text="first this")).steps[0].calls[0].verb != PLAN


def test_a_plan_that_was_refused_does_not_count_and_an_empty_one_clears_it() -> None:
    def plan(*names: str) -> ModelResponse:
        return call("task_tracker", command="plan", task_list=[{"title": name, "status": "todo"} for name in names])

    first = (plan("find the cause"), result("ok"))
    assert record(*first, plan("another"), result("Error: invalid")).state_text(400, ALL).startswith("Plan: find")
    assert record(*first, plan(), result("ok")).state_text(400, ALL) == ""


REQUEST = (said("What is there?"), call("ls"), result("a.py"), said("Now make every price a whole number"))


def test_the_state_says_how_far_the_last_request_is_if_it_is_below() -> None:
    announces = "Let me round all the prices in both of the shops."
    steps = (call("edit", announces, path="a.py", old="1.5", new="2"), result("ok"))
    work = record(*REQUEST, *steps)
    assert work.state_text(400, {0, 1, 2, 4, 5}).startswith(
        'The request "Now make every price a whole number" below was asked before the last step above, which is for '
        f'it. It began: "{announces}"\n'
    )
    assert "the last 2 steps above, which are for it" in record(*REQUEST, *steps, *steps).state_text(
        400, {*range(3), *range(4, 8)}
    )
    for gone in ({0, 1, 2, 3, 4, 5}, {0, 1, 2}):  # it is not below; nothing for it is gone
        assert "The request" not in work.state_text(400, gone)
    assert "The request" not in record(said("Look"), *steps).state_text(400, {1, 2})


def test_a_request_that_was_answered_above_is_not_taken_for_open() -> None:
    work = record(*REQUEST, ModelResponse(parts=[TextPart("All prices are whole numbers already.")]))
    assert work.state_text(400, {0, 1, 2, 4}).startswith(
        'The request "Now make every price a whole number" below was answered above.'
    )


def test_the_state_says_which_question_a_short_request_below_came_after() -> None:
    """Else "2" or "yes" says nothing once its question is gone."""
    question = ModelResponse(parts=[TextPart("The prices are rounded. Shall I round the taxes, too?")])
    asked = (*REQUEST[:3], question)
    work = record(*asked, said("yes"))
    asked_for = 'The request "yes" below came after "Shall I round the taxes, too?"'
    assert work.state_text(400, set(range(4))).startswith(asked_for)
    begun = record(*asked, said("yes"), call("edit", path="a.py", old="1.5", new="2"), result("ok"))
    assert begun.state_text(400, {*range(4), 5, 6}).startswith(f"{asked_for} and was asked before ")
    for gone in ({0, 1, 2}, set(range(5))):  # the question is still there; the answer is gone
        assert "came after" not in work.state_text(400, gone)
    long = record(*asked, said("Never mind the taxes. " + "Now read every file of the shop again. " * 9))
    assert "came after" not in long.state_text(400, set(range(4)))
    stated = record(*asked[:3], ModelResponse(parts=[TextPart("Shall I? I did.")]), said("ok"))
    assert "came after" not in stated.state_text(400, set(range(4)))


@pytest.mark.parametrize(
    "text", ["Wait, that is the test's own file.", "Actually no, it is the parser.", "不对，再看看。"]
)
def test_what_is_taken_back_is_no_conclusion(text: str) -> None:
    guess = "The issue is that the parser reads the file twice."
    said_next = ModelResponse(parts=[TextPart(text)])
    assert "twice" in record(call("ls", guess), result("a.py")).state_text(400, ALL)
    assert "twice" not in record(call("ls", guess), result("a.py"), said_next).state_text(400, ALL)
    rejected = said(
        "No, that's not it: " + "the same file is read well elsewhere, and only once, as its log shows. " * 5
    )
    assert "twice" not in record(call("ls", guess), result("a.py"), rejected).state_text(400, ALL)
    assert "twice" not in concluded(f"{guess} {text} The file is closed too early.")


@pytest.mark.parametrize(
    "text",
    [
        "Nope, that's all, thanks!", "That was wrong of me, sorry; go on.", "不对称加密的部分也请实现一下。",
        "That's not the issue I meant to fix first, but keep it.", "違うファイルも確認してください。",
        "wait, also fix logout please", "Hold on, let me run it first.", "Wait - great work!", "Wait, I should look.",
        "No problem, go on.", "No, not yet.", "That is not a problem. Go on.", "no that's fine",
        "This is wrong in the README, too; update it.", "It is wrong to log passwords, so remove that next.",
        "It's not right now that I need it, but add a lock.", "This isn't true of the other module: fix it there.",
    ],
)  # fmt: skip
def test_what_is_only_added_takes_nothing_back(text: str) -> None:
    guess = "The issue is that the parser reads the file twice."
    assert "twice" in record(call("ls", guess), result("a.py"), said(text)).state_text(400, ALL)


@pytest.mark.parametrize(
    "text",
    ["No. That's not the cause.", "That wasn't it.", "Wrong.", "That's not the root cause.", "hmm, that is incorrect"],
)
def test_a_user_who_says_that_it_is_not_so_takes_it_back(text: str) -> None:
    guess = "The issue is that the parser reads the file twice."
    assert "twice" not in record(call("ls", guess), result("a.py"), said(text)).state_text(400, ALL)


def test_an_admission_takes_back_what_was_said() -> None:
    guess = "The issue is that the parser reads the file twice."
    wrong = ModelResponse(parts=[TextPart("You're right, I was wrong: the file is closed too early.")])
    assert "twice" not in record(call("ls", guess), result("a.py"), wrong).state_text(400, ALL)


def test_that_many_tests_pass_is_true_until_the_next_change() -> None:
    passed = [
        call("bash", command="pytest"),
        result("14 passed"),
        ModelResponse(parts=[TextPart("All 14 tests pass.")]),
    ]
    edit = [call("edit", path="a.py", old_string="a = 1", new_string="a = 2"), result("Edited.")]
    assert "All 14 tests pass" in record(*passed).state_text(400, ALL)
    assert "All 14 tests pass" not in record(*passed, *edit).state_text(400, ALL)


def test_a_sentence_that_the_next_one_restricts_is_not_concluded_alone() -> None:
    filler = "The parser reads the whole file because it needs both ends of each record in it"
    long = " ".join(f"{filler}, as number {n} shows." for n in range(4))
    refuted = "The Text component now has a foreground colour, since its style sets one."
    assert refuted in concluded(f"{refuted} {long}")
    apart = concluded(f"{refuted} Let me look at the rest. But its constructor has no such argument. {long}")
    assert refuted not in apart or "But its" in apart
    assert f"{refuted} But its constructor has no such argument. …" in concluded(
        f"{refuted} But its constructor has no such argument. {long}"
    )


def test_the_last_command_that_went_well_did_more_than_install_or_write() -> None:
    tested = (call("bash", command="pytest tests"), result("3 passed"))
    after = (
        "pip install parts",
        "cat > fix.py << 'E'\nprint(1)\nE",
        "sed -i 's/one/two/' shop.py",
        "grep -n two shop.py",
    )
    work = record(*tested, *(each for line in after for each in (call("bash", command=line), result("2: two"))))
    (good,) = [line for line in work.state_text(400, ALL).splitlines() if "went well" in line]
    assert good == "Last command that went well: $ pytest tests (before the last change)"


def test_code_in_a_sentence_does_not_end_it_and_a_cut_one_says_nothing() -> None:
    stated = "The setting `{'MIGRATE': False}` is the cause: `x` is `True: no`."
    assert concluded(stated) == stated
    assert concluded("You're right, the") == ""


@pytest.mark.parametrize(
    ("found", "announced"),
    [
        ("I can see that `load` reads twice.", "I can see if `load` reads twice."),
        ("We can now see where `load` reads twice.", "We can now check where `load` reads twice."),
        ("Test 4 fails because `load` reads twice.", "Test `load` again with the other file first."),
        ("Actually, looking at `load`, it reads twice.", "Actually, looking at `load`, then at `save` below:"),
        ("We need to make sure that `load` reads once.", "We need to make sure to look at `load` again."),
    ],
)
def test_what_only_begins_like_an_announcement_is_concluded(found: str, announced: str) -> None:
    assert (concluded(found), concluded(announced)) == (found, "")


def test_a_complaint_is_over_when_a_check_goes_well_after_an_edit() -> None:
    complaint = (call("bash", "The check isn't triggered.", command="ls"), result("a.py"))
    cause = (call("bash", "The check isn't triggered because `run` ends before it.", command="ls"), result("a.py"))
    edit = (call("edit", path="a.py", old_string="a", new_string="b"), result("Edited."))
    good = (call("bash", command="pytest"), result("4 passed"))
    bad = (call("bash", command="pytest"), result("1 failed\n[exit code: 1]"))
    for after, is_over in (((*edit, *good), True), ((*good, *edit), False), ((*edit, *bad), False), (good, False)):
        state = record(*complaint, *cause, *after).state_text(500, ALL)
        assert ("The check isn't triggered." not in state) == is_over
        assert "because `run` ends before it" in state


def test_a_reply_to_a_greeting_concludes_nothing() -> None:
    reply = ModelResponse(parts=[TextPart("Vous n'avez pas encore partagé les fichiers du projet.")])
    for greeting, is_one in (("hi", True), ("/clear\n\nHello, hello!", True), ("hi, what is missing?", False)):
        state = record(said("begin"), call("ls"), result("a"), said(greeting), reply).state_text(500, ALL)
        assert ("partagé" not in state) == is_one


def test_lines_of_a_map_of_the_project_are_no_conclusions() -> None:
    assert concluded("The map is drawn because you asked for it.\n│ This is not a sentence of the reply.") == (
        "The map is drawn because you asked for it."
    )


@pytest.mark.parametrize(
    "text",
    [
        "Waiting for the tests to end.",
        "That's not the only thing, the cache is stale, too.",
        "No. 3 of the list is done.",
    ],
)
def test_what_goes_on_takes_nothing_back(text: str) -> None:
    found = "The issue is that the parser reads the file twice."
    said_next = ModelResponse(parts=[TextPart(text)])
    assert "twice" in record(call("ls", found), result("a.py"), said_next).state_text(400, ALL)
    assert "twice" in record(call("ls", found), result("a.py"), said("No, thanks, but sort them")).state_text(400, ALL)


def test_hostile_texts_are_read_quickly() -> None:
    for text in ("ready when you are " * 26 + "x", "sorry " * 40 + "x", "thank you for " * 40 + "!x", "ok " * 9_000):
        assert announcement(text) == ""
    assert calls_in_text("<tool_call>{" * 15_000) == []


FENCE = re.compile(r"^(`{3,})([\w.+-]*)[ \t]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
LINES = st.lists(st.sampled_from(["```", "````", "```sh", "```diff", "```bash ", "ls", "", "b ```"]), max_size=9)


@given(LINES)
def test_the_last_fenced_command_is_the_one_that_a_pattern_finds(lines: list[str]) -> None:
    text = "\n".join(lines)
    last = next(reversed(list(FENCE.finditer(text))), None)
    is_command = last is not None and last[2] in ("", "sh", "bash") and last[3].strip()
    wanted = [{"command": last[3].strip("\n")}] if last is not None and is_command else []
    assert [dict(call.values) for call in calls_in_text(text)] == wanted
