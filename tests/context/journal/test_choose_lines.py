"""Which heads and lines of a journal are chosen when there is not room for all."""

import pytest
from pydantic_ai.messages import ModelMessage

from co_tui.context.journal.calls import Role
from co_tui.context.journal.choose_lines import (
    GAP_COST,
    LINE_COST,
    LONG_PROMPT,
    LONG_REPLY,
    MOST_LISTED,
    Candidate,
    Chooser,
    bare_names,
)
from co_tui.context.journal.entries import Head, Kind
from co_tui.context.journal.journal import LATEST_STEPS, Journal, appended, rewritten
from co_tui.context.journal.shown_lines import ShownLine
from co_tui.context.memory.ledger import LINES
from co_tui.context.memory.transcript_lines import LinePosition
from tests.support.journal_talks import answer, called, prompt, ran, task_for


def candidate(number: int, kind: Kind, head: str, *lines: str) -> Candidate:
    """A step with lines that were not next to each other."""
    shown = [ShownLine(LinePosition(number, 0, 10 * at), line) for at, line in enumerate(lines)]
    return Candidate(Head((number, 0), kind, head), shown)


def heavy(first: int, last: int) -> list[ModelMessage]:
    """Steps with many names, all of which fail."""
    return [
        message
        for n in range(first, last)
        for message in ran(
            f"make part_{n}", f"Error in price_{n} of item_{n}.py: row_{n} is not table_{n}\n[exit code: 1]"
        )
    ]


def test_an_appended_piece_takes_no_more_than_the_room_that_is_left() -> None:
    history = heavy(0, 60)
    earlier = rewritten(task_for(history[:60], 2_000), 1_500, "")
    journal = appended(task_for(history, 2_000, earlier=earlier))
    assert journal is not None and len(journal.blocks) == 2
    assert 1_500 < journal.tokens <= 2_000


def test_the_latest_steps_keep_their_heads_and_prompts_their_place_however_little_they_say() -> None:
    latest = [message for n in range(LATEST_STEPS) for message in ran(f"sleep {n}", "")]
    talk = [prompt("first of all"), *heavy(0, 60), prompt("and now wait"), *latest]
    lines = rewritten(task_for(talk), 700, "").text.splitlines()
    assert [line for line in lines if line.startswith("- $ sleep")] == [f"- $ sleep {n}" for n in range(LATEST_STEPS)]
    assert [line for line in lines if line.startswith("user: ")] == ["user: first of all", "user: and now wait"]


def test_the_heads_of_the_latest_steps_leave_room_for_what_they_are_about() -> None:
    latest = [m for n in range(LATEST_STEPS) for m in called("look", "", path=f"{n}/{'very_long_name/' * 12}")]
    text = rewritten(task_for([*heavy(0, 20), *latest]), 400, "").text
    assert 0 < text.count("- look(") < LATEST_STEPS and "Error in price_19" in text


def test_once_a_step_is_shown_its_other_lines_cost_less() -> None:
    shown = candidate(1, Kind.CALL, "a head of many words " * 4, "one alpha_name", "nothing here", "two beta_name")
    other = candidate(2, Kind.CALL, "brief", "three gamma_name")
    chooser = Chooser({"alpha_name": 60.0, "beta_name": 10.0, "gamma_name": 6.0}, 0.0)
    chooser.budget = shown.head_cost + shown.weighed[0].cost + shown.weighed[2].cost + 2 * (LINE_COST + GAP_COST) + 2
    chooser.choose([shown, other])
    assert sorted(shown.chosen) == [0, 2] and not other.chosen


def test_what_was_said_goes_with_its_last_line_and_a_call_keeps_its_head() -> None:
    said, call = (
        candidate(1, Kind.SAID, "", "the alpha_name is wrong"),
        candidate(2, Kind.CALL, "make", "beta_name failed"),
    )
    chooser = Chooser({"alpha_name": 1.0, "beta_name": 1.0}, 100.0)
    chooser.choose([said, call])
    assert said.is_open and call.is_open
    assert chooser.give_back(1_000.0) and not chooser.give_back(1.0)
    assert (said.is_open, call.is_open, said.chosen, call.chosen) == (False, True, {}, {})


def test_a_rewritten_journal_keeps_lines_that_only_the_earlier_one_knows() -> None:
    """Of each name, the last few lines are remembered."""
    first = [*called("look", "the needle_one is lost", path="a.py"), answer("The needle_one matters.")]
    later = [message for n in range(3 * LINES) for message in ran(f"seek {n}", f"again no needle_one in try {n}")]
    earlier = appended(task_for(first, 2_000))
    assert earlier is not None
    forgetful = task_for([*first, *later], 2_000, earlier=Journal(covers=earlier.covers))
    assert "the needle_one is lost" not in rewritten(forgetful, 1_900, "").text
    assert "the needle_one is lost" in rewritten(task_for([*first, *later], 2_000, earlier=earlier), 1_900, "").text


def test_a_stored_journal_that_does_not_fit_its_text_becomes_a_story() -> None:
    journal = appended(task_for(heavy(0, 3), 2_000))
    assert journal is not None
    assert Journal.from_json(journal.as_json(), journal.text) == journal
    edited = f"{journal.text} and more"
    assert Journal.from_json(journal.as_json(), edited) == Journal(story=edited)


def test_names_without_a_line_are_few_and_each_says_something_of_its_own() -> None:
    told = [
        "sync_all",
        "user.save",
        "book.save",
        "sync",
        "920p",
        "0123456789abcdef0123456789abcdef",
        *map("n{}_x".format, range(20)),
    ]
    listed = bare_names(dict.fromkeys(told, 1.0), {}, dict.fromkeys(told, (0, 0)), 1_000)[0, 0]
    assert listed[:4] == ["sync_all", "user.save", "sync", "n0_x"] and len(listed) == MOST_LISTED


def test_names_of_files_and_versions_are_not_taken_for_each_other() -> None:
    told = ["src/models.py", "src/views.py", "app.json", "web.json", "1.2.10", "3.4.10"]
    weights = dict.fromkeys((*told, "2024-05-03T08:46:43", "03T08", "12:30:00"), 1.0)
    assert bare_names(weights, {}, dict.fromkeys(weights, (0, 0)), 1_000) == {(0, 0): told}, "times are no names"


def test_lines_of_a_map_of_the_project_leave_room_for_what_was_found() -> None:
    shown = candidate(0, Kind.CALL, "$ map", "│ parse_rows of it here", "the price_rows are None here, too, now")
    Chooser(dict.fromkeys(("parse_rows", "price_rows"), 1.0), 60).choose([shown])
    assert list(shown.chosen) == [1, 0]


def test_the_last_edit_of_a_file_shows_what_it_changed() -> None:
    edits = [
        message
        for n in range(3)
        for message in called("edit", "done", path="shop.py", oldText=f"x = {n}", newText=f"x = {n + 1}")
    ]
    text = rewritten(task_for([*edits, *heavy(0, 60)]), 1_200, "").text
    assert "- edit(path: shop.py, " in text and "-x = 2\n    +x = 3" in text


def test_of_what_an_edit_changed_added_lines_come_first_and_lines_around_them_last() -> None:
    lines = [f"{sign}price_{name} = read_price({name})" for name, sign in zip("abc", " -+", strict=True)]
    edited = candidate(0, Kind.CALL, "edit", *lines)
    edited.role = Role.EDITED
    names = {f"price_{name}": 1.0 for name in "abc"}
    Chooser(names, 200).choose([edited])
    assert list(edited.chosen) == [2, 1, 0]


def test_what_a_user_pasted_leaves_room_for_what_was_found() -> None:
    pasted = [f"the error_{n} of pasted_{n}" for n in range(LONG_PROMPT + 1)]
    for prompted, is_first in ((pasted, False), (pasted[:1], True)):
        asked, found = (
            candidate(0, Kind.USER, "see", *prompted),
            candidate(1, Kind.CALL, "see", "the error_x of found_x"),
        )
        chooser = Chooser({"pasted_0": 1.5, "found_x": 1.0}, 200)
        chooser.choose([asked, found])
        assert chooser.taken[0][0] is (asked if is_first else found)


def test_what_a_long_reply_repeats_of_a_program_leaves_room_for_what_was_found() -> None:
    dumped = [f"- option_{n}: the_{n}" for n in range(LONG_REPLY + 1)]
    for printed, is_first in ((dumped, False), (dumped[:3], True)):
        reply, found = candidate(0, Kind.SAID, "", *printed), candidate(1, Kind.CALL, "see", "the error_x of found_x")
        chooser = Chooser({"option_1": 1.3, "found_x": 1.0}, 200)
        chooser.choose([reply, found])
        assert chooser.taken[0][0] is (reply if is_first else found)


def test_the_frames_of_a_traceback_nearest_to_the_error_come_first() -> None:
    frames = [text for n in range(4) for text in (f'  File "part_{n}.py", line {n}, in call_{n}', f"    go_{n}()")]
    shown = [
        ShownLine(LinePosition(0, 1, at), line, at - 1)
        for at, line in enumerate(("Traceback (most recent call last):", *frames, "ValueError: no price_x"))
    ]
    raised = Candidate(Head((0, 0), Kind.CALL, "$ python shop.py"), shown, Role.RAN)
    Chooser({f"part_{n}.py": 1.0 for n in range(4)}, 62).choose([raised])
    texts = {line.text for line in raised.chosen.values()}
    assert frames[4] in texts and frames[6] in texts
    assert frames[0] not in texts and frames[2] not in texts


def test_a_passage_keeps_to_its_room() -> None:
    for room in (12, 40, 100, 300):
        shown = candidate(0, Kind.CALL, "$ cat", "row_one", "row_two " * 80, "row_three of it", "row_four of it")
        chooser = Chooser({"row_one": 9.0}, 2_000)
        chooser.open(shown)
        before = chooser.budget
        chooser.show_around_best(shown, room)
        assert before - chooser.budget <= room and (room < 300 or shown.chosen)


def test_lines_of_a_map_keep_the_name_of_their_file() -> None:
    files = (f"src/part_{n}.py:\n⋮...\n│class Part{n}:\n│    def price_{n}(self):" for n in range(30))
    lines = rewritten(
        task_for([prompt("go"), answer("Here is the map:\n" + "\n".join(files)), prompt("thanks")]), 160, ""
    ).text.splitlines()
    bare = [line.strip() for line in lines]
    shown = [n for n in range(30) if f"│class Part{n}:" in bare]
    assert 0 < len(shown) < 30 and all(bare[bare.index(f"│class Part{n}:") - 1] == f"src/part_{n}.py:" for n in shown)


@pytest.mark.parametrize("odd", ["Makefile", "src/routes/+page.svelte", "app/[id]/page.tsx"])
def test_lines_that_a_search_found_keep_the_name_of_their_file_however_it_is_called(odd: str) -> None:
    found = (
        f"{name}\n" + "\n".join(f"{row}{n}:    price_{n}{row} = load_{n}{row}(item_{row})" for row in range(1, 4))
        for n, name in enumerate(("src/api.ts", odd, "src/z.ts"))
    )
    talk = [prompt("find price"), *ran("rg --heading price_", "\n\n".join(found)), prompt("thanks")]
    lines = [line.strip() for line in rewritten(task_for(talk, 400), 400, "").text.splitlines()]
    assert lines[lines.index(odd) + 1].startswith("1") and "price_1" in lines[lines.index(odd) + 1]


def test_a_name_of_a_file_goes_with_the_last_of_its_lines_and_not_before() -> None:
    texts = ["src/one.py", "3:first_name here", "src/two.py", "12:second_name of this", "20:nothing", "30:third_name"]
    lines = [ShownLine(LinePosition(1, 0, at), text, at - 1) for at, text in enumerate(texts)]
    for tokens in range(1, 60):
        shown = Candidate(Head((0, 0), Kind.CALL, "$ rg --heading name"), lines)
        chooser = Chooser({"first_name": 9.0, "third_name": 5.0, "second_name": 1.0}, 200.0)
        chooser.choose([shown])
        chooser.give_back(tokens)
        files = {shown.file_of.get(place, place) for place in shown.chosen}
        assert files == shown.files & shown.chosen.keys() == {shown.file_of[n] for n in shown.chosen.keys() - files}


def test_the_name_of_a_file_costs_as_much_as_a_line() -> None:
    listed = ["src/shop.py", "12:def price_table(rows):", "40:    price_rows = rows", "src/other.py", "7:no_word of it"]
    found = [ShownLine(LinePosition(0, 0, at), line) for at, line in enumerate(listed)]
    for room, places in ((5, []), (200, [0, 1, 2])):
        shown = Candidate(Head((0, 0), Kind.CALL, "$ rg price"), found)
        chooser = Chooser({"price_rows": 2.0, "price_table": 1.0}, 0.0)
        chooser.budget = shown.head_cost + shown.weighed[2].cost + room
        chooser.choose([shown])
        assert sorted(shown.chosen) == places and chooser.budget >= 0
