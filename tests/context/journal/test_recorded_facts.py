"""A change or an outcome is stated only where it is recorded; the words of a command only describe it (C22)."""

from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart

from co_tui.context.journal.calls import begin_command
from co_tui.context.journal.work_record import WorkRecord
from co_tui.events.facts.files import AS_BEFORE, GONE, NEW
from co_tui.events.recorded import ChangedFile
from co_tui.events.stored_messages import COMMAND, RESTORED
from tests.context.journal.test_net_changes import edit
from tests.context.journal.test_work_record import ALL, Recorded, call, ended, record, result, said
from tests.support.cases import each_case

FAILED = "Failed when last run: "
GOOD = "Last command that ended with exit code 0: "


def run(command: str, code: int | None = 0, text: str = "", **facts: Any) -> list[Any]:
    return [call("run_command", command=command), ended(text, code, **facts)]


def state(*messages: Any, files: dict[str, ChangedFile] | None = None) -> str:
    return record(*messages).state_text(2_000, ALL, files or {})


@each_case(
    "printed",
    [
        "Operation cancelled.", "[exit code: 2]", "<returncode>1</returncode>", '{"exit_code": 1, "output": "bad"}',
        "Traceback (most recent call last):\nValueError: no", "FAILED tests/a.py", "Error: no such file", "0 failed",
        "[Command timed out after 30s]", "Exit code: 0",
    ],
)  # fmt: skip
def test_words_in_an_output_decide_nothing(printed: str) -> None:
    for asked in (call("run_command", command="make test"), call("edit", path="a.py", old_string="a", new_string="b")):
        (step,) = record(asked, result(printed)).steps
        assert step.calls[0].outcome == "", printed
    assert FAILED not in state(call("run_command", command="make test"), result(printed))
    assert state(*run("make test", 0, printed)) == f"{GOOD}$ make test"
    assert state(*run("make test", 2, printed)).startswith(f"{FAILED}$ make test → failed (exit 2)")


@each_case(
    ("line", "is_shown"),
    [
        ("make test", True), ("cd app && make test", True), ("pytest -q tests/a.py", True), ("FOO=1 npm test", True),
        ("make test > out 2>&1; echo finished", False), ("pytest || true", False), ("pytest &", False),
        ("pytest | tail -5", False), ("pytest > out", False), ("! pytest", False), ("(pytest)", False),
        ("if pytest; then ls; fi", False), ("pytest\necho done", False), ("pytest 2>&1", False),
        ("for f in a b; do pytest $f; done", False), ("echo $(pytest)", False), ("pytest; true", False),
        ("pytest --version", False), ("pip install x", False), ("grep -n x a.py", False), ("cp a b", False),
        ("git commit -m x", False), ("echo ok", False), ("cat a.py && sed -n 1p b.py", False),
    ],
)  # fmt: skip
def test_a_hidden_exit_code_is_nothing_that_went_well(line: str, is_shown: bool) -> None:
    assert (state(*run(line)) == f"{GOOD}$ {line}") == is_shown
    assert GOOD not in state(call("run_command", command=line), result("ok")), "it is not recorded"


def test_what_failed_is_stated_until_it_runs_again_whatever_comes_of_that() -> None:
    failed = run("make test", 2, "ok\nTypeError: bad")
    assert state(*failed) == f"{FAILED}$ make test → failed (exit 2)\n    TypeError: bad"
    for again in (
        run("make test"), run("make test | tail -5"), run("make test", None, how="stopped"),
        [call("run_command", command="make test"), result("ok")], run("cd . && make test; true"),
    ):  # fmt: skip
        assert FAILED not in state(*failed, *again), again[0]
    refused = run("make test", None, how="refused")
    assert FAILED in state(*failed, *refused) and FAILED in state(*failed, *run("make other"))
    good = run("make test")
    assert state(*good, *run("make test", 1)) == f"{FAILED}$ make test → failed (exit 1)"


@each_case(
    ("failed", "later", "is_over"),
    [
        ("pytest", "pytest --collect-only -q", False), ("pytest tests", "pytest --lf", False),
        ("mypy src", "mypy --version", False), ("pytest --lf", "pytest", True), ("pytest -k a", "pytest -k b", False),
        ("cargo test parse_x", "cargo test", True), ("cargo test", "cargo build", False),
        ("go test ./pkg", "go test ./...", True), ("go test ./...", "go test ./pkg", False),
        ("npm test", "npm run test", True), ("npm test", "npm run build", False),
        ("python -m pytest tests/a.py", "cd . && pytest tests/a.py | tail -3", True),
        ("./run_tests.sh", "bash run_tests.sh", True), ("make test" * 60, "make test" * 60, True),
        ("echo " + "a" * 500 + " && false", "echo " + "a" * 500 + " && true", False),
    ],
)  # fmt: skip
def test_which_command_runs_a_failed_one_again(failed: str, later: str, is_over: bool) -> None:
    assert (FAILED not in state(*run(failed, 1), *run(later))) == is_over


@each_case("line", ["grep -q x a.py", "diff a b", "cd src && rg name", "test -f a"])
def test_an_exit_code_that_is_an_answer_is_no_failure(line: str) -> None:
    assert state(*run(line, 1)) == ""
    assert state(*run(line, 2)).startswith(f"{FAILED}$ {line} → failed (exit 2)")


def test_calls_that_were_late_stopped_refused_or_replaced_say_so() -> None:
    for how, shown in (
        ("timed out", "timed out"), ("stopped", "interrupted"), ("refused", "not allowed"),
        ("replaced by a hook", "replaced by a hook"),
    ):  # fmt: skip
        work = record(*run("make test", None, how=how))
        assert work.steps[0].calls[0].outcome == shown
        assert work.state_text(500, ALL).startswith(f"{FAILED}$ make test → timed out") == (how == "timed out")
        assert GOOD not in work.state_text(500, ALL)
    replaced = run("make test", 0, how="replaced by a hook")
    assert state(*run("make", 1), *replaced) == "", "what ran instead is not known"


def test_what_other_agents_ran_may_have_mended_what_failed() -> None:
    delegated = [call("delegate_task", task="mend it"), ended("done", None)]
    assert state(*run("make test", 1), *run("make good"), *delegated) == ""


def test_files_are_stated_as_they_are_recorded_and_not_as_commands_name_them() -> None:
    named = ["grep -q foo app.py && sed -i s/a/b/ app.py", "perl -ne 'print' data.txt", "touch -d 2020-01-01 data.txt",
             "git rm -n app.py", "git stash push b.py", "git checkout config.py", "cp a.py b.py", "cat > new.py",
             "python fix.py", "git apply p.patch"]  # fmt: skip
    every = [each for line in named for each in (call("run_command", command=line), result("ok"))]
    assert "Files changed" not in state(*every) and "New files" not in state(*every)
    files = {
        "a.py": ChangedFile("", 1), "b.py": ChangedFile(NEW, 2), "c.py": ChangedFile(GONE, 3),
        "d.py": ChangedFile(AS_BEFORE, 4),
    }  # fmt: skip
    assert state(*every, files=files).splitlines() == [
        "Files changed: d.py (as before), c.py (removed), a.py",
        "New files: b.py",
    ]


def test_an_edit_without_a_record_is_perhaps_a_change() -> None:
    patch = "*** Begin Patch\n*** Update File: c.py\n@@\n-a\n+b\n*** Delete File: d.py\n*** End Patch"
    asked = [
        call("edit", path="a.py", old_string="a", new_string="b"), result("Edited."),
        call("apply_patch", input=patch), result("Done."),
        call("write", file_path="b.py", content="x"), result("Written."),
        call("edit", path="no.py", old_string="a", new_string="b"), ended("not there", None, "failed"),
    ]  # fmt: skip
    text = state(*asked, files={"b.py": ChangedFile("", 3)})
    assert text.splitlines()[0] == "Files changed: b.py, d.py (perhaps), c.py (perhaps), a.py (perhaps)"
    assert "Changed in" not in text


def test_the_lines_of_an_edit_are_stated_while_nothing_else_can_have_changed_the_file() -> None:
    made = edit("limit = 10", "limit = 20\nrows = []")
    asked, answered = made
    recorded = [asked, Recorded(answered, ended("", None, written=({"path": "shop.py"},)).outcome)]  # type: ignore[arg-type]
    files = {"shop.py": ChangedFile("", 2)}
    shown = "Changed in shop.py:\n    -limit = 10\n    +limit = 20\n    +rows = []"
    assert state(*recorded, files=files).endswith(shown)
    assert state(*recorded, *run("make"), files=files).endswith(f"{GOOD}$ make\n{shown}")
    for later, now in (
        (run("make", written=({"path": "shop.py"},)), ChangedFile("", 4)),
        (run("make", is_complete=False), files["shop.py"]),
        ([call("run_command", command="make"), result("ok")], files["shop.py"]),
        ([], ChangedFile("", 9)),
    ):
        text = state(*recorded, *later, files={"shop.py": now})
        assert "Changed in shop.py (before another change, which is not shown):\n" in text, later
    for now in (AS_BEFORE, GONE):
        assert "Changed in" not in state(*recorded, files={"shop.py": ChangedFile(now, 9)})


def test_edits_whose_files_are_as_before_are_undone_and_what_was_concluded_with_them_is_not_stated() -> None:
    asked, answered = edit("a = 1", "a = 2")
    assert isinstance(asked, ModelResponse)
    asked.parts = [TextPart("The fix of `load_rows` works."), *asked.parts]
    recorded = [asked, Recorded(answered, ended("", None, written=({"path": "shop.py"},)).outcome)]  # type: ignore[arg-type]
    work = record(*recorded)
    (edited,) = work.steps[0].calls
    assert edited.changed == ("shop.py",)
    assert edited.is_undone({"shop.py": ChangedFile(AS_BEFORE, 3)})
    assert not edited.is_undone({"shop.py": ChangedFile("", 4)}) and not edited.is_undone({})
    assert "Concluded" in work.state_text(500, ALL, {"shop.py": ChangedFile("", 4)})
    assert "Concluded" not in work.state_text(500, ALL, {"shop.py": ChangedFile(AS_BEFORE, 3)})


def test_a_failure_before_a_change_says_so() -> None:
    failed = run("make test", 1)
    assert (
        state(*failed, files={"a.py": ChangedFile("", 2)}).splitlines()[1] == f"{FAILED}$ make test → failed (exit 1)"
    )
    assert state(*failed, files={"a.py": ChangedFile("", 3)}).endswith("(exit 1) (before the last change)")
    assert state(*run("make"), files={"a.py": ChangedFile("", 3)}).endswith(f"{GOOD}$ make (before the last change)")


def test_the_users_own_command_is_followed() -> None:
    own = said("[The user ran a command.]\n$ make test\n\nok")
    own.metadata = {COMMAND: "make test"}
    for code, shown in ((0, f"{GOOD}$ make test"), (1, f"{FAILED}$ make test → failed (exit 1)")):
        text = state(*run("make test", 1 - code), Recorded(own, ended("", code).outcome))
        assert text.startswith(shown) and text.count("$ make test") == 1
    assert state(*run("make test", 1), own).startswith(FAILED), "a log of before has no outcome"


def test_a_note_about_restored_files_outdates_what_was_read_of_them() -> None:
    read = call("read_file", path="a.py"), result("x = 1")
    note = said("restored")
    note.metadata = {RESTORED: {"folder": "/", "events": [1], "as_before": ["a.py"], "changed": []}}
    work = record(*read, note)
    assert work.is_outdated(work.calls_of(0)[0])


@pytest.mark.parametrize("outcome", ["failed", "retried", "denied", "interrupted"])
def test_the_kind_of_a_result_is_a_record_too(outcome: Any) -> None:
    answered = result("x")
    (part,) = answered.parts
    part.outcome = outcome  # type: ignore[union-attr]
    (step,) = record(call("run_command", command="make"), answered).steps
    assert step.calls[0].outcome in ("failed", "not allowed", "interrupted")


def test_a_conversation_without_records_states_no_outcome() -> None:
    work = WorkRecord()
    for message in (*edit("a", "b"), call("bash", command="make"), result("[exit code: 1]"), said("thanks")):
        work.add(message)
    text = work.state_text(2_000, ALL)
    assert FAILED not in text and GOOD not in text and "New files" not in text


def test_long_command_lines_are_read_in_time() -> None:
    for sign in ("&&", "a && ", "$(", "; ", "\\", "'"):
        assert begin_command(sign * 20_000).head.startswith("$ ")
