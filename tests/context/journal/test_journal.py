"""What a journal shows: heads, outcomes and passages in original lines, each once, and what it leaves out."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from co_tui.context.compact.offline_summary import sources_of, summarise_offline
from co_tui.context.journal.entries import Entry, Head, Kind
from co_tui.context.journal.journal import Journal, rewritten
from co_tui.context.journal.shown_lines import FIRST, ShownLine, is_single_word, shown_lines
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.transcript_lines import LinePosition
from tests.support.journal_talks import answer, called, failed, prompt, ran, task_for

NOISE = [f"noise word {n} again" for n in range(60)]
FAILURE = "E   ValueError: bad price_table\nFAILED tests/test_a.py::test_total"


def told(*messages: ModelMessage, budget: int = 400, standing: str = "") -> str:
    """The journal of these messages."""
    return summarise_offline(messages, budget, user_words=False, standing=standing).text


def test_a_result_stands_under_its_call_with_how_it_ended() -> None:
    tests = failed(ran("pytest -q tests", FAILURE))
    edit = called("edit", "Replaced fill_prices in src/price.py", path="src/price.py")
    text = told(prompt("mend the price_table"), *tests, *edit, answer("The price_table was empty; it is filled now."))
    assert text.splitlines() == [
        "user: mend the price_table",
        "- $ pytest -q tests → failed",
        "    E   ValueError: bad price_table",
        "    FAILED tests/test_a.py::test_total",
        "- edit(path: src/price.py)",
        "    Replaced fill_prices in src/price.py",
        "assistant: The price_table was empty; it is filled now.",
    ]


def test_results_of_calls_made_together_stand_each_under_its_own() -> None:
    one, two = ran("cat one.txt", "the first_word of one"), ran("cat two.txt", "the second_word of two")
    both = [type(one[n])(parts=[*one[n].parts, *two[n].parts]) for n in range(2)]  # type: ignore[list-item]
    assert told(*both).splitlines() == [
        "- $ cat one.txt",
        "    → the first_word of one",
        "- $ cat two.txt",
        "    → the second_word of two",
    ]


def test_lines_that_stood_together_stand_together_and_a_gap_is_marked() -> None:
    output = "\n".join(("collected 3 items", "", "tests/test_a.py F", *NOISE, FAILURE, "[exit code: 1]"))
    lines = told(*ran("pytest -q", output), budget=120).splitlines()
    whole = [line.strip() for line in output.splitlines() if line.strip()]
    shown = [line.strip().removeprefix("› ") for line in lines[1:]]
    for before, after in pairwise(shown):
        if "…" not in (before, after):
            assert whole.index(after) == whole.index(before) + 1, "an unmarked gap"
    assert "…" in shown and shown.count("…") < 4
    assert "…" not in [lines[0].strip(), shown[-1]], "it begins and ends as the output did"
    assert all(f"    {line}" in lines for line in FAILURE.splitlines())


def test_a_passage_that_begins_or_ends_within_a_text_says_so() -> None:
    lines = told(*ran("make", "\n".join((*NOISE, "the error_here is fatal", *NOISE[::-1]))), budget=60).splitlines()
    assert lines[0].startswith("- $ make") and "    the error_here is fatal" in lines
    assert lines[1] == lines[-1] == "    …"


def test_each_line_is_shown_once() -> None:
    same = [answer("the same_line about one_thing") for _ in range(5)]
    text = told(prompt("go"), *same, *ran("cat a.txt", "the same_line about one_thing\nand an other_line"))
    assert text.count("the same_line about one_thing") == 1 and text.count("other_line") == 1


def test_a_line_shown_beside_it_is_not_repeated() -> None:
    said = "total_rows of the price_table\n## the plan is price_table first"
    first = told(prompt("go"), answer(said))
    assert "total_rows of" in first and "› ## the plan is" in first
    beside = told(answer(said), standing=first)
    assert "total_rows of" not in beside and "the plan is" not in beside


def test_the_same_command_again_says_which_time_it_is() -> None:
    steps = [*ran("make all", "first_time done so"), *ran("make all", "second_time done so")]
    heads = [line for line in told(*steps).splitlines() if line.startswith("- ")]
    assert heads == ["- $ make all", "- $ make all (again)"]


def test_a_listing_is_shown_as_names() -> None:
    names = [f"module_{n}.py" for n in range(12)]
    assert told(*ran("ls src", "\n".join(names))) == f"- $ ls src\n    names: {', '.join(names)}"
    long = "\n".join(f"-rw-r--r-- 1 ann staff 120 Nov 16 10:0{n} file_{n}.txt" for n in range(8))
    assert told(*ran("ls -l", f"total 8\n{long}")).splitlines()[:2] == [
        "- $ ls -l",
        f"    names: {', '.join(f'file_{n}.txt' for n in range(8))}",
    ]


def test_json_is_shown_by_its_records() -> None:
    rows = [{"id": f"row_{n}", "price": n * 10, "name": f"Item_{n} of the list"} for n in range(30)]
    lines = told(*called("fetch", json.dumps(rows), order="x1"), budget=200).splitlines()
    shown = [line.strip() for line in lines[1:] if line.strip() != "…" and "also:" not in line]
    assert len(shown) > 1
    assert all(json.loads(line.strip("[],")) in rows for line in shown), "each line is a whole record"


def test_what_says_nothing_is_left_out() -> None:
    output = "<returncode>0</returncode>\n<output>\n{\n-----\n  ^^^^\nthe one_line that says something\n}\n</output>"
    lines = told(*ran("cat a.json", output)).splitlines()
    assert lines[:2] == ["- $ cat a.json", "    → the one_line that says something"]
    assert not [line for line in lines[1:] if line.strip() != "…" and "also:" not in line and is_single_word(line)]


def test_colours_and_control_characters_do_not_come_along() -> None:
    text = told(*ran("make", "\x1b[31mthe red_word is here\x1b[0m\x07\u202e and more\x1b]0;title\x07"))
    assert "    → the red_word is here and more" in text.splitlines()
    assert not any(mark in text for mark in ("\x1b", "\x07", "\u202e"))


@pytest.mark.parametrize(
    "announced", ["Let me check the price_table:", "I'll look at price_table now.", "好的，让我看看。"]
)
def test_what_was_announced_is_left_out_and_what_was_concluded_stays(announced: str) -> None:
    text = told(answer(f"{announced}\nThe price_table is empty because load_prices never ran."))
    assert announced not in text and "The price_table is empty because load_prices never ran." in text
    assert "- $ ls" in told(*ran("ls", "one_name of it", announced)) and announced not in told(
        *ran("ls", "", announced)
    )


def test_what_was_decided_stays_also_when_nothing_is_named() -> None:
    text = told(
        prompt("what now?"),
        answer("We decided to lease the van.\nSo be it.\nStill need to ask the insurer."),
        budget=40,
    )
    assert "decided to lease the van" in text and "ask the insurer" in text


def test_chinese_is_told_like_any_language() -> None:
    talk = [
        prompt("请修复 src/主.py 里的错误"),
        *failed(ran("python src/主.py", "错误：找不到 配置_文件")),
        answer("我们决定租车，因为 配置_文件 不存在。"),
    ]
    assert told(*talk).splitlines() == [
        "user: 请修复 src/主.py 里的错误",
        "- $ python src/主.py → failed",
        "    错误：找不到 配置_文件",
        "assistant: 我们决定租车，因为 配置_文件 不存在。",
    ]


def test_calls_written_in_the_text_have_their_results_under_them() -> None:
    talk = [
        prompt("mend the price_table"),
        answer("Let me look.\n\n```mswea_bash_command\ngrep -n price_table src/a.py\n```"),
        prompt("<returncode>0</returncode>\n<output>\n12: price_table = {}\n</output>"),
        answer("The price_table is empty because load_prices is never called."),
    ]
    lines = told(*talk).splitlines()
    assert lines[0] == "user: mend the price_table"
    head = lines.index("- $ grep -n price_table src/a.py")
    assert lines[head + 1] == "    → 12: price_table = {}"
    assert lines[-1] == "assistant: The price_table is empty because load_prices is never called."
    assert not [line for line in lines[1:] if line.startswith("user:")], "what a tool printed is not the user's"


def test_a_conversation_without_tools_is_told_by_turns() -> None:
    talk = [prompt("Where is order A-123?"), answer("Order A-123 left on May_3."), prompt("Cancel it, please.")]
    assert told(*talk).splitlines() == [
        "user: Where is order A-123?",
        "assistant: Order A-123 left on May_3.",
        "user: Cancel it, please.",
    ]


def test_steps_without_an_entry_are_folded_and_the_latest_ten_keep_their_heads() -> None:
    steps = [message for n in range(60) for message in ran(f"grep -rn name_{n} src_{n}", "one two three four five six")]
    text = rewritten(task_for(steps), 300, "").text
    heads = [line for line in text.splitlines() if line.startswith("- ")]
    assert heads[-10:] == [f"- $ grep -rn name_{n} src_{n}" for n in range(50, 60)]
    folds = [line for line in text.splitlines() if line.startswith("(")]
    assert folds and all(" more step" in line and "grep" in line for line in folds)
    assert sum(int(line[1:].split()[0]) for line in folds) + len(heads) == 60


def test_what_was_found_out_in_folded_steps_is_said_unless_the_state_says_it() -> None:
    found = "The bug is that load_prices is never called, because the table is empty."
    steps = [message for n in range(60) for message in ran(f"grep -rn name_{n} src_{n}", "one two three four five six")]
    talk = [*steps[:40], answer(found), *steps[40:]]
    task = task_for(talk)
    assert f"\nassistant: {found}\n(" in rewritten(task, 400, "").text
    assert found not in rewritten(task._replace(standing=f"Concluded: {found}"), 400, "").text
    again = task._replace(earlier=rewritten(task, 400, ""))
    assert rewritten(again, 400, "").text.count(found) == 1


def test_what_a_text_says_other_than_what_was_found_out_is_kept() -> None:
    found = "The root cause is that load_prices is never called."
    rest = "- never delete the table legacy_rates_2019, because audit_export reads it"
    steps = [message for n in range(8) for message in ran(f"grep -rn name_{n} src_{n}", "one two three four five six")]
    text = rewritten(task_for([*steps, answer(f"{found}\n\nStill open:\n{rest}"), *steps]), 2_000, "").text
    assert text.count(found) == text.count(rest) == 1


def test_lines_of_an_older_journal_that_are_cut_differently_now_are_read_again() -> None:
    line = " ".join(f"The table_{n} is read by loader_{n} and written by saver_{n} at night." for n in range(12))
    task = task_for([prompt("go"), answer(line)])
    first, last = line[:236].rpartition(" ")[0], line[-74:]
    older = [ShownLine(LinePosition(1, 0, 0), first, FIRST), ShownLine(LinePosition(1, 0, 3), last, is_last=True)]
    nowhere = [ShownLine(LinePosition(at, 0, 7), "the line_of nothing is here") for at in (-1, 1, 99)]
    entry = Entry(Head((1, 0), Kind.SAID, ""), (*older, *nowhere))
    earlier = Journal(entries=(entry,), blocks=(entry.text,), covers=((0, 1),))
    text = rewritten(task._replace(earlier=Journal.from_json(earlier.as_json(), earlier.text)), 400, "").text
    assert " ".join(text.replace("assistant: ", "").split()) == line


def test_the_folder_of_commands_is_left_out_only_where_the_text_next_to_it_says_so() -> None:
    talk = [*ran("cd /srv/app && make rows", "built it\nin two steps"), *ran("cd /srv/app && make total", "a\nb c")]
    talk += ran("make rows", "built it here\nin one step")
    assert [line for line in told(*talk).splitlines() if line.startswith("- ")] == [
        "- $ cd /srv/app && make rows", "- $ cd /srv/app && make total", "- $ make rows",
    ]  # fmt: skip
    task = task_for(talk)
    state = task.sources.work.state_text(200, task.sources.gone)
    lines = rewritten(task._replace(standing=state), 400, "").text.splitlines()
    assert [line for line in lines if line.startswith("- ")] == ["- $ make rows", "- $ make total", "- $ make rows"]
    assert not any("cd /srv/app" in line for line in lines)
    assert "Left out before some commands: cd /srv/app &&" in state


def test_what_was_read_last_is_shown_even_if_it_names_nothing() -> None:
    text = told(*ran("sed -n '10,14p' src/price.py", "\n".join(NOISE[:4])), *ran("make", "built"), budget=900)
    assert "\n".join(f"    {line}" for line in NOISE[:4]) in text


def test_names_are_listed_alone_only_when_no_line_shows_them() -> None:
    lines = [f"name_{n} " + "is told of in many plain words " * 6 for n in range(30)]
    *shown, last = told(answer("\n".join(lines)), budget=200).splitlines()
    listed = last.strip().removeprefix("also: ").split(", ")
    assert listed and not [name for name in listed if any(f"{name} " in line for line in shown)]


def test_what_the_model_used_most_stays_through_many_rewrites() -> None:
    history: list[ModelMessage] = [prompt("make the checkout faster")]
    journal = None
    conclusion = "cached_total and price_table have to be filled before checkout_view runs."
    for n in range(12):
        noise = "\n".join(f"line {n} {k}: value_{n}_{k} = compute_{n}_{k}(source_{n}_{k})" for k in range(40))
        history += [*called("read", f"{noise}\n    cached_total = price_table[{n}]", path=f"src/part_{n}.py")]
        history.append(answer(conclusion))
        if n % 3 == 2:
            journal = rewritten(task_for(history, 400, earlier=journal), 400, "")
    assert journal is not None and journal.text.count(conclusion) == 1


@pytest.mark.parametrize("budget", [200, 1_000, 2_000])
def test_heads_are_part_of_the_budget(budget: int) -> None:
    tool = "mcp__a_server_with_a_long_name__some_tool"
    history = [message for n in range(300) for message in called(tool, f"cell_{n}", id=f"row_{n}")]
    assert estimate_text(told(*history, budget=budget)) <= 1.1 * budget + 10


def test_sources_of_some_messages_are_these_messages() -> None:
    sources = sources_of([prompt("one"), answer("two")])
    assert sources.gone == {0, 1} and len(sources.ledger.names) == 2


@given(st.text(max_size=1_000))
def test_lines_that_may_be_shown_are_on_one_line_each_and_in_order(text: str) -> None:
    lines = shown_lines(3, 1, text)
    assert all(line.text.strip() and len(line.text.splitlines()) == 1 for line in lines)
    assert [line.position for line in lines] == sorted(line.position for line in lines)
    assert all(line.position[:2] == (3, 1) for line in lines)
