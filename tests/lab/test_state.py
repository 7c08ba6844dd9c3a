"""Which share of the working state a request states."""

import json
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from co_tui.exchange.openai_format import to_message
from co_tui.lab.state.outcomes import Outcome, outcome_of
from co_tui.lab.state.shell_changes import changed_files
from co_tui.lab.state.steps import Step
from co_tui.lab.state.work_state import Stated, WorkState, conclusion_of, searched_files
from tests.support.cases import each_case


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def step(name: str, result: str, text: str = "", **arguments: Any) -> list[dict[str, Any]]:
    """A call and its result; every call has the same id, as some recordings have."""
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": text or None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "name": name, "content": result},
    ]


def work(*chat: dict[str, Any]) -> tuple[WorkState, list[ModelMessage]]:
    messages = [to_message(message) for message in chat]
    state = WorkState()
    for message in messages:
        state.add(message)
    return state, messages


def request(*texts: str) -> list[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(text)]) for text in texts]


FIXING = [
    user("Fix the loader."),
    *step("bash", "<returncode>1</returncode>\n<output>\nTypeError: no loader\n</output>", command="python repro.py"),
    *step("edit", "Successfully replaced text.", "The loader never opens the second file.", path="/src/app/loader.py"),
    *step("bash", "", command="cd /src && sed -i 's/a/b/' tests/test_loader.py"),
    *step("bash", "2 passed\n[exit code: 0]", command="pytest -q"),
]


def test_the_whole_conversation_states_everything() -> None:
    state, messages = work(*FIXING)
    assert state.stated_in(messages) == Stated(2, 2, 1, 1, 1, 1)
    assert state.stated_in(messages).share == 1.0


def test_an_empty_request_states_nothing() -> None:
    state, _ = work(*FIXING)
    assert state.stated_in(request("Go on.")) == Stated(2, 0, 1, 0, 1, 0)
    assert state.stated_in([]).share == 0.0


def test_each_kind_counts_the_same_in_between() -> None:
    state, _ = work(*FIXING)
    half = state.stated_in(
        request("Files changed: app/loader.py\n$ python repro.py → failed\n    TypeError: no loader")
    )
    assert half == Stated(2, 1, 1, 1, 1, 0) and half.share == pytest.approx((0.5 + 1 + 0) / 3)


def test_a_failing_command_needs_its_head_and_its_error() -> None:
    state, _ = work(*FIXING)
    assert state.stated_in(request("$ python repro.py")).failing_stated == 0
    assert state.stated_in(request("TypeError: no loader")).failing_stated == 0
    assert state.stated_in(request("$ python  repro.py", "  TypeError:   no loader")).failing_stated == 1


def test_a_command_that_ran_well_since_no_longer_fails() -> None:
    state, _ = work(*FIXING, *step("bash", "done", command="cd /src && python repro.py"))
    assert state.stated_in([]).failing == 0


def test_of_scripts_that_try_something_one_replaces_another_but_no_test() -> None:
    def tried(name: str, result: str) -> list[dict[str, Any]]:
        written = step("bash", "", command=f"cat > {name} <<'E'\nimport a\nE")
        return [*written, *step("bash", result, command=f"python {name}")]

    failed = "Traceback (most recent call last):\nValueError: bad"
    for first, then, failing in (("try_a.py", "try_b.py", 0), ("test_a.py", "test_b.py", 1)):
        state, _ = work(*tried(first, failed), *tried(then, "fine"))
        assert state.stated_in([]).failing == failing


def test_a_file_is_stated_by_the_end_of_its_path_and_not_by_part_of_another() -> None:
    state, _ = work(*step("write_file", "ok", file_path="src/app/loader.py"))
    assert state.stated_in(request("see `app/loader.py`.")).files_stated == 1
    assert state.stated_in(request("/home/me/src/app/loader.py")).files_stated == 1
    for other in ("loader.py", "webapp/loader.py", "app/loader.pyc", "app/loader.py.orig", "my-app/loader.py"):
        assert state.stated_in(request(other)).files_stated == 0, other


def test_a_file_counts_once_however_its_path_is_written() -> None:
    state, _ = work(
        *step("edit", "ok", path="/repo/a.py"), *step("edit", "ok", path="a.py"), *step("edit", "ok", path="./a.py")
    )
    assert state.stated_in(request("a.py")) == Stated(1, 1)


def test_failed_edits_and_views_change_nothing() -> None:
    state, _ = work(
        *step("edit", "Error: old text not found in a.py", path="a.py"),
        *step("str_replace_editor", "1\tx", command="view", path="b.py"),
        *step("read", "text", path="c.py"),
        *step("str_replace_editor", "created", command="create", path="/w/d.py"),
    )
    assert state.stated_in(request("w/d.py")) == Stated(1, 1, 1, 0)


def test_a_conclusion_is_stated_in_its_words_or_most_of_them_on_a_line() -> None:
    state, _ = work(said("The cache is never cleared because the key has no version. Let me check that:"))
    words = "cache is never cleared because the key has no version"
    assert state.stated_in(request(f"Concluded: the {words}")).conclusions_stated == 1
    assert (
        state.stated_in(request("The cache is never cleared\nbecause the key has no version.")).conclusions_stated == 1
    )
    assert state.stated_in(request("never cleared: the cache, because its key has no version")).conclusions_stated == 1
    assert state.stated_in(request("the cache is never\ncleared and the\nkey has a version")).conclusions_stated == 0


def test_only_the_newest_five_conclusions_and_failures_count() -> None:
    many = [
        message for n in range(8) for message in step("bash", f"Error {n}\n[exit code: 2]", command=f"make part{n}")
    ]
    state, messages = work(*[said(f"Part number {n} of the machine works now.") for n in range(8)], *many)
    found = state.stated_in(messages)
    assert (found.conclusions, found.failing) == (5, 5)
    assert state.stated_in(request("make part0\nError 0\nPart number 0 of the machine works now")).failing_stated == 0


def test_a_plain_conversation_has_conclusions_only() -> None:
    state, messages = work(user("Why is the sky blue?"), said("Short waves scatter more than long waves do."))
    assert state.stated_in(messages) == Stated(conclusions=1, conclusions_stated=1)
    assert WorkState().stated_in(messages).share is None


def test_agents_that_write_their_commands_are_read() -> None:
    state, _ = work(
        said("First look.\n```bash\ncat > repro.py <<'EOF'\nprint(1) > 2\nEOF\n```"),
        user("<returncode>0</returncode>\n<output></output>"),
        said("Now run it.\n<command>\npython repro.py\n</command>"),
        user("SyntaxError: invalid syntax\n(Open file: /app/main.py)\n(Current directory: /app)\nbash-$"),
        said("I see.\n```\nedit 1:2\nfixed\nend_of_edit\n```"),
        user("[File: /app/main.py (3 lines total)]\n(Open file: /app/main.py)\n(Current directory: /app)\nbash-$"),
        said(
            "<function=str_replace_editor>\n<parameter=command>create</parameter>\n<parameter=path>/app/x.py</parameter>\n</function>"
        ),
        user("EXECUTION RESULT of [str_replace_editor]:\nFile created."),
        said("You could run this:\n```bash\nrm -rf build.txt\n```"),
        user("thanks"),
    )
    found = state.stated_in(request("repro.py app/main.py app/x.py\n$ python repro.py\nSyntaxError: invalid syntax"))
    assert (found.files, found.files_stated, found.failing, found.failing_stated) == (3, 3, 1, 1)


def test_search_and_replace_blocks_name_their_file() -> None:
    block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"
    reply = f"Here:\n\naider/main.py\n```python\n{block}\n```\n\naider/args.py\n<source>python\n{block}\n"
    assert searched_files(reply) == ["aider/main.py", "aider/args.py"]
    assert searched_files(f"{block}\n") == [] and searched_files("no block in main.py") == []


@each_case(
    ("command", "files"),
    [
        ("cat > a.py <<'EOF'\nx > y.txt\nEOF", ("a.py",)),
        ("echo hi >> log.txt 2>&1 && ls > /dev/null", ("log.txt",)),
        ("python x.py 2> errors.txt", ()),
        ("sed -i 's/a > b/c/' src/a.py src/b.py", ("src/a.py", "src/b.py")),
        ("sed -i.bak -e 's/a/b/' a.py", ("a.py",)),
        ("sed -n '1,5p' a.py | tee out.txt", ("out.txt",)),
        ("cp a.py b.py; mv c.py d.py; rm -f e.py", ("b.py", "c.py", "d.py", "e.py")),
        ("git mv old.py new.py", ("old.py", "new.py")),
        ("python -c \"print(1 > 2)\nx = 'a'\"", ()),
        ("grep -rn 'a => b' src | head", ()),
        ('rm "$FILE" *.tmp', ()),
        ("apply_patch <<'EOF'\n*** Update File: src/x.py\n*** Add File: y.md\nEOF", ("src/x.py", "y.md")),
        ("echo 'never closed > x.txt", ()),
    ],
)
def test_the_files_that_a_command_changes(command: str, files: tuple[str, ...]) -> None:
    assert changed_files(command) == files


@each_case(
    ("command", "result", "outcome"),
    [
        (
            "pytest -q",
            "<returncode>1</returncode>\n<output>\nE   KeyError: 'x'\n1 failed\n</output>",
            Outcome(True, "E KeyError: 'x'"),
        ),
        ("make", "all well\n[exit code: 0]", Outcome(False)),
        ("make", "cc: stop\n\nCommand exited with code 2", Outcome(True, "cc: stop")),
        ("grep -n x a.py", "<returncode>1</returncode>\n<output>\n</output>", Outcome(False)),
        (
            "grep -n x b.py",
            "grep: b.py: No such file or directory\n[exit code: 2]",
            Outcome(True, "grep: b.py: No such file or directory"),
        ),
        (
            "python a.py",
            "Traceback (most recent call last):\n  File\nValueError: bad\n",
            Outcome(True, "ValueError: bad"),
        ),
        ("python a.py", "Error: met one\n[exit code: 1]", Outcome(True, "Error: met one")),
        ("python a.py", "TypeError: met one\n[exit code: 0]", Outcome(False)),
        ("python a.py | tail", "TypeError: met one\n[exit code: 0]", Outcome(True, "TypeError: met one")),
        ("cat log.txt", "Traceback (most recent call last):\n  File\nValueError: bad\n", Outcome(False)),
    ],
)
def test_whether_a_command_failed_and_why(command: str, result: str, outcome: Outcome) -> None:
    assert outcome_of(Step("bash", {"command": command}, result)) == outcome


def test_a_call_of_another_tool_fails_by_a_result_that_begins_with_an_error() -> None:
    assert outcome_of(Step("book", {"id": "A1"}, "Error: no seats on flight 7")).error == "Error: no seats on flight 7"
    assert not outcome_of(Step("read", {"path": "a"}, "# Errors\nAn error occurs when")).failed


@each_case(
    ("reply", "conclusion"),
    [
        (
            "I see the issue. The file lacks an import of Mapping. Let me fix it:",
            "The file lacks an import of Mapping.",
        ),
        ("Let me check the tests:", ""),
        ("Now I'll run the whole suite again.", ""),
        ("Would you like me to continue with that?", ""),
        ("Done.\n```python\nThis is not prose but code here.\n```", ""),
        ("Summary:\n- It now reads both files at once", "It now reads both files at once"),
        ("问题在于缓存没有清除。让我检查一下：", "问题在于缓存没有清除。"),
    ],
)
def test_what_a_reply_concludes(reply: str, conclusion: str) -> None:
    assert conclusion_of(reply) == conclusion
