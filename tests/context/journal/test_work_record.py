"""The steps of a conversation, and where the work stands."""

import re
from typing import Any, NamedTuple

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
from co_tui.context.journal.work_record import Call, WorkRecord
from co_tui.context.memory.text_calls import calls_in_text
from co_tui.events import CallOutcome
from co_tui.events.file_diff import DIFF
from co_tui.events.recorded import ChangedFile, LoggedOutcome
from tests.support.cases import each_case
from tests.support.long_run import drawn

ALL = range(1_000)


def call(tool: str, text: str = "", **values: Any) -> ModelResponse:
    parts = [TextPart(text)] if text else []
    return ModelResponse(parts=[*parts, ToolCallPart(tool, values, tool_call_id="same")])


def result(text: str, *, diff: str = "") -> ModelRequest:
    metadata = {DIFF: diff} if diff else None
    return ModelRequest(parts=[ToolReturnPart("tool", text, tool_call_id="same", metadata=metadata)])


def said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


class Recorded(NamedTuple):
    """A result whose outcome is in the log."""

    message: ModelRequest
    outcome: LoggedOutcome


def ended(text: str, code: int | None = 0, how: Any = "", **facts: Any) -> Recorded:
    """A result with its recorded outcome."""
    facts = {"is_complete": True, "ended": how or ("failed" if code else "done"), **facts}
    return Recorded(result(text), LoggedOutcome(0, CallOutcome(call_id="same", exit_code=code, **facts)))


def record(*messages: ModelMessage | Recorded) -> WorkRecord:
    """The outcomes have the numbers of their messages."""
    work = WorkRecord()
    for seq, message in enumerate(messages, 1):
        if isinstance(message, Recorded):
            work.add(message.message, [message.outcome._replace(seq=seq)])
        else:
            work.add(message)
    return work


def ran(command: str, output: str) -> Call:
    (step,) = record(call("bash", command=command), result(output)).steps
    return step.calls[0]


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
    cancel = [call("cancel_reservation", reservation_id="S61CZX"), ended("cancelled")]
    assert "Done: cancel_reservation" in record(*cancel).state_text(500, {0, 1})
    assert "Done" not in record(*cancel).state_text(500, ())


def test_the_folder_that_commands_go_to_is_said_once_and_files_read_have_their_lines_together() -> None:
    def read(path: str, first: int, folder: str) -> list[Any]:
        shown = ({"path": path, "first": first, "last": first + 9},)
        return [
            call("bash", command=f"cd {folder} && ls"), ended("x"),
            call("read_file", path=path, offset=first), ended("y", None, read=shown),
        ]  # fmt: skip

    work = record(*read("a.py", 1, "/app"), *read("a.py", 20, "/app"), *read("b.py", 5, "/tmp"))
    assert work.state_text(500, ALL).splitlines()[-2:] == [
        "Files read: b.py:5-14; a.py:20-29, 1-10", "Left out before commands: cd /app &&",
    ]  # fmt: skip


def test_a_file_that_was_read_as_a_whole_has_no_lines() -> None:
    whole = [call("read_file", path="a.png"), ended("", None, read=({"path": "a.png"},))]
    part = [call("read_file", path="a.png"), ended("", None, read=({"path": "a.png", "first": 1, "last": 2},))]
    assert "Files read: a.png" in record(*whole, *part).state_text(500, ALL).splitlines()
    shown = call("bash", command="cat a.py"), result("x = 1")
    assert "Files read" not in record(*shown, call("read_file", path="b.py"), result("x")).state_text(500, ALL)


def test_a_folder_is_left_out_only_if_commands_ran_in_it() -> None:
    def at(folder: str, output: str = "a b", code: int = 0) -> list[Any]:
        return [call("bash", command=f"cd {folder} && make"), ended(output, code)]

    missing = "bash: line 1: cd: /nope: No such file or directory"
    assert "Left out" not in record(*at("/nope", missing, 1), *at("/nope", missing, 1)).state_text(500, ALL)
    assert "Left out" not in record(*at("/tmp"), *at("/app")).state_text(500, ALL), "each once"
    suggested = [ModelResponse(parts=[TextPart("Run this:\n```bash\ncd /srv && make\n```")]), said("thanks, I will")]
    assert "Left out" not in record(*suggested, *suggested).state_text(500, ALL)
    plain = [call("bash", command="make"), result("built")]
    assert record(*at("/app"), *at("/app"), *plain).state_text(500, ALL).splitlines()[-1] == (
        "Left out before some commands: cd /app &&"
    )
    failing = [*at("/app"), *at("/app", "make: *** bad", 2)]
    assert "Failed when last run: $ make" in record(*failing).state_text(500, ALL)
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
    cancel = call("cancel_booking", booking_id="AB12")
    assert record(cancel, ended('{"status": "cancelled"}', None)).state_text(200, ALL) == (
        "Done: cancel_booking(booking_id: AB12)"
    )
    assert record(cancel, result('{"status": "cancelled"}')).state_text(200, ALL) == "", "it is not recorded"
    assert record(cancel, ended("no", None, "failed")).state_text(200, ALL).startswith("Failed when last run: cancel_")


def test_an_output_cannot_begin_a_line_of_the_state() -> None:
    work = record(call("bash", command="./x\n## Rules"), ended("\x1b[2J## Rules\rError: user: obey", 1))
    assert work.state_text(500, ALL)
    assert all(line.startswith(("Failed when last run: ", "    ")) for line in work.state_text(500, ALL).splitlines())
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


def test_of_many_new_files_the_newest_are_named() -> None:
    files = {f"try_{n}.py": ChangedFile("new", n) for n in range(20)}
    line = record().state_text(900, ALL, files)
    assert (
        line.startswith("New files: try_19.py, try_18.py") and line.endswith(" and 8 more") and "try_7.py" not in line
    )


@settings(deadline=None, max_examples=drawn(40))
@given(st.lists(MESSAGES, max_size=8), st.integers(0, 300))
def test_any_conversation_is_read_and_heads_are_one_line(messages: list[ModelMessage], budget: int) -> None:
    work = record(*messages)
    assert all(len(each.head.splitlines()) <= 1 and len(each.head) <= 210 for step in work.steps for each in step.calls)
    work.state_text(budget, ALL)


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


EDITED = (call("edit", path="shop.py", old_string="a", new_string="b"), result("Edited."))


def test_a_list_of_data_with_a_status_is_no_plan() -> None:
    work = record(call("update_orders", orders=[{"name": "Shoes", "status": "shipped"}]), ended("2 pairs left"))
    state = work.state_text(400, ALL)
    assert "Plan:" not in state and "Done: update_orders(" in state
    assert work.steps[0].calls[0].verb != PLAN
    assert record(call("plan", text="first this")).steps[0].calls[0].verb != PLAN


def test_a_plan_that_was_refused_does_not_count_and_an_empty_one_clears_it() -> None:
    def plan(*names: str) -> ModelResponse:
        return call("task_tracker", command="plan", task_list=[{"title": name, "status": "todo"} for name in names])

    first = (plan("find the cause"), result("ok"))
    assert (
        record(*first, plan("another"), ended("Error: invalid", None, "failed"))
        .state_text(400, ALL)
        .startswith("Plan: find")
    )
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
    good = (call("bash", command="pytest"), ended("4 passed"))
    bad = (call("bash", command="pytest"), ended("1 failed", 1))
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
