"""Entries say what came of a step: short results, edits, outlines, folds that name files."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest

from co_tui.context.compact.offline_summary import summarise_offline
from co_tui.context.journal.answers import answer_of
from co_tui.context.journal.calls import Role, begin_call
from co_tui.context.journal.entries import Head, Kind
from co_tui.context.journal.journal import rewritten
from co_tui.context.journal.outcomes import Ending
from co_tui.context.journal.outline import outline_of
from co_tui.context.memory import unwrap
from co_tui.context.memory.names import names_in
from co_tui.context.memory.unwrap import edited_lines
from co_tui.events.facts.files import AS_BEFORE
from co_tui.events.file_diff import DIFF
from co_tui.events.recorded import ChangedFile
from co_tui.session.tools.folder.diff_text import diff_text
from tests.support.journal_talks import answer, called, failed, prompt, ran, task_for
from tests.support.long_run import also_in_a_long_run

MODULE = "\n".join(("import os", "class PriceTable:", *(f"    def price_{n}(self): ..." for n in range(20))))
NOISE = "\n".join(f"noise word {n} again" for n in range(40))


def told(*messages: ModelMessage, budget: int = 400) -> list[str]:
    return summarise_offline(messages, budget, user_words=False).text.splitlines()


def test_a_count_is_the_result_not_how_many_lines_were_printed() -> None:
    begun = begin_call("bash", {"command": "cat notes.md; ls notes | wc -l"})
    assert answer_of(begun, Ending(), "one note\nanother note\n9\n").gist == "9"


def test_comments_are_no_headings() -> None:
    rest = [f"value_{n} = {n}" for n in range(12)]
    assert outline_of(["# Prices", "", "## How to read them", *rest]) == "15 lines: Prices, How to read them"
    assert outline_of(["# skip here", *rest]) == ""
    assert outline_of(["# Licensed to all", "def price():", *rest]) == "14 lines: price"


def test_a_result_of_a_few_words_is_under_its_call() -> None:
    lines = told(*called("get_flight_status", "delayed", flight="HAT028"), *called("get_flight_status", "on time"))
    assert lines == ["- get_flight_status(flight: HAT028)", "    → delayed", "- get_flight_status()", "    → on time"]


@pytest.mark.parametrize(
    "wrapped",
    [
        {"output": "first_row ok\nsecond_row bad", "metadata": {"exit_code": 0, "duration_seconds": 0.1}},
        {"stdout": "first_row ok\nsecond_row bad", "stderr": "", "interrupted": False, "isImage": False},
        [{"type": "text", "text": "first_row ok\nsecond_row bad"}],
    ],
)
def test_a_result_wrapped_in_json_is_unwrapped(wrapped: Any) -> None:
    lines = told(*ran("make rows", json.dumps(wrapped)))
    assert lines == ["- $ make rows", "    first_row ok", "    second_row bad"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {"id": "NM1VX1", "cabin": "economy", "flights": [{"number": "HAT208", "date": "2024-05-20"}], "note": None},
            "cabin economy, flights HAT208 2024-05-20",
        ),
        (
            [{"from": "NM1VX1", "number": "HAT208", "seats": 3}, {"from": "NM1VX1", "number": "HAT041", "seats": 10}],
            "2 × HAT208 3; HAT041 10",
        ),
        (
            {"id": "NM1VX1", "bags": 1, "fare": "V", "cabin": "basic economy", "paid": 61.5},
            "bags 1, fare V, cabin basic economy, paid 61.5",
        ),
        (
            [{"number": "HAT208", "at": "14:00:00", "prices": {"economy": 163, "business": 426}}],
            "HAT208 14:00 prices (economy 163, business 426)",
        ),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_data_of_a_service_is_shown_by_its_values(data: Any, said: str, indent: int | None) -> None:
    begun = begin_call("get_reservation", {"id": "NM1VX1"})
    assert answer_of(begun, Ending(), json.dumps(data, indent=indent)).short == said


@pytest.mark.parametrize("rows", [[{"price": n} for n in range(40)], [{"text": "long " * 300}]])
def test_data_is_shown_instead_of_its_lines_only_when_it_is_whole(rows: list[Any]) -> None:
    answer = answer_of(begin_call("list_prices", {}), Ending(), json.dumps(rows))
    assert answer.gist and not answer.short


def test_small_data_is_shown_once() -> None:
    rows = [{"price": 7, "of": "shoe_1", "kind": "boot"}, {"price": 8, "of": "shoe_2", "kind": "clog"}]
    said = told(*called("list_prices", json.dumps(rows)))
    assert said == ["- list_prices()", "    → 2 × 7 shoe_1 boot; 8 shoe_2 clog"]


@pytest.mark.parametrize("nested", ['{"a":' * 600 + "1" + "}" * 600, "[" * 600 + "1" + "]" * 600])
def test_data_that_is_nested_deeply_is_no_obstacle(nested: str) -> None:
    begun = begin_call("get_reservation", {"id": "NM1VX1"})
    assert answer_of(begun, Ending(), f'{{"cabin": "economy", "rest": {nested}}}').gist == "cabin economy"


def test_a_search_says_what_it_found_first_and_a_command_what_it_printed_last() -> None:
    search = begin_call("bash", {"command": "grep -rn price_table src"})
    few = "src/a.py:1:price_table = {}\nsrc/b.py:7:price_table.clear()"
    assert answer_of(search, Ending(), few).gist == (
        "2 lines: src/a.py:1:price_table = {} · src/b.py:7:price_table.clear()"
    )
    many = answer_of(search, Ending(), "\n".join((few, *few.splitlines()))).gist
    assert many == "4 lines: src/a.py:1:price_table = {}, …"
    printed = "=== prices ===\nthe table is empty\n=== end ==="
    assert answer_of(begin_call("bash", {"command": "python try.py"}), Ending(), printed).gist == "the table is empty"


def test_the_newest_edit_is_shown_whole() -> None:
    document = "\n".join(f"print({n})" for n in range(12))
    for command, role in ((f"cat > fix.py <<'E'\n{document}\nE", Role.WROTE), ("sed -i s/a/b/ fix.py", Role.EDITED),
                          ("sed -n 1p fix.py", Role.READ), ("make", Role.RAN)):  # fmt: skip
        assert begin_call("bash", {"command": command}).role is role
    new = "\n".join(NOISE.splitlines()[:6])
    edit = called("edit", "Replaced.", path="src/price.py", old_string="one thing", new_string=new)
    lines = told(*ran("make", "built"), *edit, budget=900)
    assert [line.strip() for line in lines if "noise" in line] == [f"+{line}" for line in new.splitlines()]


def test_what_a_script_printed_says_more_than_its_text() -> None:
    code = "\n".join(f"boring_setting_{n} = configure(part_{n})" for n in range(12))
    script = f"cat > try.py <<'E'\n{code}\nE\npython try.py"
    printed = "the first row is empty\nthe price_table has no rows"
    begun = begin_call("bash", {"command": script})
    assert answer_of(begun, Ending(), printed).short == "the price_table has no rows"
    assert answer_of(begun, Ending(), "").gist.startswith("12 lines")
    lines = [line.strip() for line in told(*ran(script, printed), *ran("make", "built"), budget=120)]
    assert lines[1] == "→ the price_table has no rows" and any("boring_setting" in line for line in lines)


def test_a_patch_that_was_shown_is_what_changed() -> None:
    commands = ["git diff -- src", "cat my.patch", "cat patch.txt", "cat dispatch.txt", "git log"]
    roles = [begin_call("bash", {"command": command}).role for command in commands]
    assert roles == [*[Role.SHOWED_CHANGES] * 3, Role.READ, Role.LOOKED]
    patch = "\n".join(("@@ -1,3 +1,9 @@", *(f"+row {n} of it" for n in range(8))))
    lines = told(*ran("git diff", patch), *ran("make", "built"), budget=900)
    assert [line.strip() for line in lines if "row" in line] == [f"+row {n} of it" for n in range(8)]


def test_a_prompt_that_is_repeated_is_shown_once_and_again_after_other_steps() -> None:
    said = [prompt("hi"), answer("Hello."), prompt("hi"), answer("Hello again."), *ran("make", "built"), prompt("hi")]
    assert [line for line in told(*said) if line.startswith(("user", "- "))] == ["user: hi", "- $ make", "user: hi"]


def test_a_line_of_the_assistant_that_leads_on_or_is_code_is_not_shown_alone() -> None:
    code = "\n".join(f"                row_{n} = price_{n}(item_{n})\n\n{'-' * n}" for n in range(30))
    text = f"Here the price_table is filled wrongly, as the next one of these shows:\n{code}\nThe end of it."
    lines = told(answer(text), *ran("make", "built"), budget=70)
    inner = "\n".join(line.removeprefix("assistant: ").strip() for line in lines if line[:1] in " a").split("…")
    passages = [piece.strip().splitlines() for piece in inner if piece.strip()]
    assert passages and all(len(passage) > 1 for passage in passages), lines


@pytest.mark.timeout(20)
@pytest.mark.parametrize("rule", ["=" * 50_000 + "x", "-" * 50_000 + " 45.2 MB done", "_" * 50_000])
def test_a_long_rule_is_read_at_once(rule: str) -> None:
    begun = begin_call("bash", {"command": "python try.py"})
    assert answer_of(begun, Ending(), f"the table is empty\n{rule}").gist


def test_an_exit_code_within_a_result_says_nothing() -> None:
    result = json.dumps({"output": "the first_row is bad", "metadata": {"exit_code": 2}})
    assert told(*ran("make rows", result))[0] == "- $ make rows"
    assert told(*failed(ran("make rows", result)))[0] == "- $ make rows → failed"


@pytest.mark.parametrize(
    "data",
    [
        {"reservation_id": "JG7FMM", "status": "active", "origin": "MCO"},
        {"id": 4217, "title": "Crash on save", "status": "open", "content": "It crashes."},
        {"code": "SAVE10", "message": "Discount applied"},
        {"code": 200, "message": "success"},
        [{"name": "my_shop", "text": "open now"}],
    ],
)
def test_no_fact_in_json_is_lost(data: Any) -> None:
    text = "\n".join(told(*called("get_reservation", json.dumps(data))))
    facts = data[0] if isinstance(data, list) else data
    assert all(key in text or str(value) in text for key, value in facts.items())
    assert all(str(value) in text for value in facts.values())


def test_an_edit_shows_what_was_replaced_by_what() -> None:
    old = "def total(self):\n    price_sum = 0\n    return price_sum"
    new = "def total(self):\n    price_sum = self.base_price\n    return price_sum"
    edit = called("edit", "Edited.", path="shop.py", old_string=old, new_string=new)
    assert told(*edit)[:5] == [
        "- edit(path: shop.py)",
        "     def total(self):",
        "    -    price_sum = 0",
        "    +    price_sum = self.base_price",
        "         return price_sum",
    ]


def test_an_edit_without_room_for_its_lines_says_what_it_changed_first_not_that_it_was_made() -> None:
    values = {
        "path": "shop.py",
        "old_string": "def total():\n    return 0",
        "new_string": "def total():\n    return price_sum",
    }
    made = "Successfully replaced text in shop.py. Changed 25 characters to 33 characters."
    edits = {"shop.py": [" def total():", "-    return 0", "+    return price_sum"]}
    begun = begin_call("edit", values)
    assert answer_of(begun, Ending(), made, edits).gist == "-return 0 +return price_sum"
    assert answer_of(begun, Ending(), made).gist == made, "it is not recorded"
    assert answer_of(begun, Ending("failed", "No match for old_string."), "").gist == "No match for old_string."
    for other in ("Replaced 0 occurrences.", "Edit proposed; waiting for approval.", "Edited.\nshop.py:3: SyntaxError"):
        assert answer_of(begun, Ending(), other, edits).gist == other.partition("\n")[0]


def test_that_an_edit_was_made_is_not_said_below_its_lines() -> None:
    made, noted = "Successfully replaced text in the shop.py", "Edited shop.py\nbut the price_sum is not used there"
    values = {"path": "shop.py", "old_string": "price_sum = 0", "new_string": "price_sum = base_price"}
    assert told(*called("edit", made, **values))[1:] == ["    -price_sum = 0", "    +price_sum = base_price"]
    assert "    but the price_sum is not used there" in told(*called("edit", noted, **values))
    assert f"    {made}" in told(*called("edit", made, path="shop.py"))


def test_of_a_long_edit_the_first_lines_on_both_sides_are_said_and_that_there_are_more() -> None:
    lines = [f"{sign}{name}{n} = f({n})" for sign, name in ("-a", "+b") for n in range(7)]
    gist = answer_of(begin_call("edit", {"path": "a.py"}), Ending(), "Done.", {"a.py": lines}).gist
    shown = [f"{sign}{name}{n} = f({n})" for sign, name in ("-a", "+b") for n in range(5)]
    assert gist.splitlines() == [*shown[:5], "-…", *shown[5:], "+…"]


def test_an_edit_that_was_undone_says_what_was_tried() -> None:
    edit = called("edit", "Edited.", path="shop.py", old_string="a = 1", new_string="a = 2\nb = 3")
    talk = [*with_diff(edit, "shop.py", "a = 1", "a = 2\nb = 3"), prompt("try again"), *ran("ls", NOISE)]
    for now, shown in ((AS_BEFORE, [" → undone later", "→ tried: -a = 1 +a = 2 +b = 3"]), ("", ["", "-a = 1"])):
        task = task_for(talk, 60)
        task = task._replace(sources=replace(task.sources, files={"shop.py": ChangedFile(now, 1)}))
        first, second, *_ = rewritten(task, 60, "").text.splitlines()
        assert [first.removeprefix("- edit(path: shop.py, old_string: a = 1)"), second.strip()] == shown


def test_a_short_edit_is_said_on_one_line_and_a_longer_one_line_by_line() -> None:
    def came(old: str, new: str) -> list[str]:
        begun = begin_call("edit", {"path": "a.py", "old_string": old, "new_string": new})
        gist = answer_of(begun, Ending(), "Done.", {"a.py": edited_lines(old, new)}).gist
        return Head((0, 0), Kind.CALL, begun.head, gist=gist).came.splitlines()

    assert came("total = 1", "total = 2") == ["    → -total = 1 +total = 2"]
    assert came("a = 1\nb = 2", "c = 3\n    d = 4") == ["    -a = 1", "    -b = 2", "    +c = 3", "    +d = 4"]


@pytest.mark.timeout(20)
def test_a_long_line_of_an_edit_is_read_at_once() -> None:
    edits = {"a.py": [f"-1 1{' ' * 200_000}x", "+short"]}
    assert answer_of(begin_call("edit", {"path": "a.py"}), Ending(), "Edited.", edits).gist.endswith("+short")


def edit_of(path: str, name: str, lines: int) -> list[ModelMessage]:
    """With its recorded diff."""
    new = "\n".join(f"{name}_{n} = {path.removesuffix('.py')}_{n}" for n in range(lines))
    return with_diff(called("edit", "Edited.", path=path, old_string="0", new_string=new), path, "0", new)


def with_diff(step: list[ModelMessage], path: str, old: str, new: str) -> list[ModelMessage]:
    asked, answered = step
    metadata = {DIFF: diff_text(f"{old}\n".encode(), f"{new}\n".encode(), path)}
    part = replace(answered.parts[0], metadata=metadata)  # type: ignore[type-var, call-arg]
    return [asked, ModelRequest(parts=[part])]  # type: ignore[list-item]


def test_the_latest_steps_are_different_ones() -> None:
    edits = [called("edit", "Edited.", path=f"part_{n}.py", old_string="0", new_string=f"row_{n}") for n in range(9)]
    lines = told(*[message for edit in edits for message in (*edit, *ran("make all", NOISE))], budget=300)
    assert [line for line in lines if line.startswith("- $ make all")] == ["- $ make all (again, time 9)"], lines
    assert sum(line.startswith("- edit") for line in lines) > 4


def test_the_few_lines_that_were_read_last_are_shown_whole() -> None:
    bodies = [f"def load_{n}(self):\n    rows = self._chain_{n}()\n    x = 1\n    return rows" for n in range(5)]
    reads = [ran(f"sed -n '{n}0,{n}3p' query.py", body) for n, body in enumerate(bodies)]
    tries = [ran(f"cat > try_{n}.py << 'E'\n{MODULE}\nE", "") for n in range(3)]
    lines = told(*(message for step in (*reads, *tries) for message in step), budget=700)
    text = "\n".join(line.removeprefix("    ") for line in lines)
    assert all(body in text for body in bodies), text


def test_the_newest_edit_of_a_file_is_shown_although_it_was_edited_before() -> None:
    between = [each for n in range(4) for each in edit_of(f"till_{n}.py", f"till_row_{n}", 3)]
    newest = edit_of("shop.py", "shop_row", 14)
    lines = told(*edit_of("shop.py", "first_row", 3), *between, *newest, *ran("make", "built"), budget=300)
    assert sum("+shop_row" in line for line in lines) > 7 > sum("+till_row" in line for line in lines), lines


def test_which_error_it_was_is_shown_before_other_lines_of_a_failure() -> None:
    trace = [f"on through row_{n} of it\nand then to the next one" for n in range(30)]
    error = "E   AttributeError: no such thing is there"
    talk = (*ran("make check", "\n".join((*trace[:15], error, *trace[15:]))), *ran("make", "built"))
    lines = told(*talk, budget=60)
    assert error in [line.strip() for line in lines], lines


def test_a_failure_gives_way_when_its_command_ran_again() -> None:
    trace = "\n".join(f'File "part_{n}.py", line {n}, in do_part_{n}\n    part_{n}.do_it()' for n in range(30))
    found = "\n".join(f"the price_{n} is wrong and that is so in row_{n}" for n in range(60))

    def shown(after: str) -> int:
        talk = (
            *ran("make report", found),
            *failed(ran("make parts", f"{trace}\nTypeError: bad")),
            *ran(after, "x"),
        )
        return sum("part_" in line and "- $" not in line for line in told(*talk, budget=300))

    assert shown("make parts") < shown("make other")


def test_what_an_installer_printed_gives_way() -> None:
    printed = "\n".join(f"Collecting part_{n}\n  Using cached part_{n}-1.0.whl" for n in range(20))
    found = "\n".join(f"the price_{n} is wrong and that is so in row_{n}" for n in range(60))

    def shown(command: str) -> int:
        lines = told(*ran("make report", found), *ran(command, printed), budget=300)
        return sum("part_" in line and "- $" not in line for line in lines)

    assert shown("pip install parts") < shown("npm run parts")


def test_who_owns_a_file_is_no_result() -> None:
    owners = "\n".join(f"+# Copyright (c) 20{n} The owners of part_{n}" for n in range(10, 20))
    lines = told(*ran("git show 1234abc", f"{owners}\n+price_table = load_prices()\n+row_limit = 12"))
    assert any("price_table" in line for line in lines) and not any("Copyright" in line for line in lines)


def test_what_a_script_printed_last_is_shown_although_its_names_are_all_new() -> None:
    script = "\n".join(f"script_part_{n} = make_part_{n}()" for n in range(30))
    printed = "\n".join(f"printed_part_{n} has row_{n}" for n in range(30))
    lines = told(*ran(f'python -c "\n{script}\n"', printed), *ran("make", NOISE), budget=900)
    assert sum("printed_part" in line for line in lines) >= 4, lines


def test_that_pip_ran_as_root_is_no_result() -> None:
    warning = "WARNING: Running pip as the 'root' user can result in broken permissions and conflicting behaviour"
    notice = "[notice] A new release of pip is available: 23.2 -> 26.1\n[notice] To update, run: pip install -U pip"
    assert told(*ran("pip install parts -q", f"{warning}\n\n{notice}")) == ["- $ pip install parts -q"]


def test_edit_blocks_of_a_reply_show_what_was_replaced_by_what() -> None:
    block = "shop.py\n<<<<<<< SEARCH\nprice_sum = 0\n=======\nprice_sum = base_price\n>>>>>>> REPLACE"
    lines = "\n".join(told(answer(f"The sum begins with the base.\n\n{block}")))
    assert "-price_sum = 0" in lines and "+price_sum = base_price" in lines and "<<<<" not in lines


def test_a_file_that_was_read_leaves_its_outline_when_there_is_no_room_for_lines() -> None:
    read = [message for n in range(12) for message in ran(f"cat shop_{n}.py", MODULE.replace("price_", f"p{n}_"))]
    lines = told(*read, budget=300)
    assert any(line.startswith("    → 22 lines: PriceTable, p") for line in lines), lines


def test_steps_that_are_folded_name_their_files_and_how_they_ended() -> None:
    talk = [message for n in range(40) for message in ran(f"cat part_{n}.py", f"row_{n} of it\n{NOISE}")]
    failing = [message for _ in range(3) for message in ran("python check.py", f"{NOISE}\n[exit code: 1]")]
    text = rewritten(task_for([*talk[:10], *failing, *talk[10:]]), 300, "").text
    folds = [line for line in text.splitlines() if line.startswith("(")]
    assert any("cat ×" in fold and "part_0.py part_1.py …" in fold for fold in folds), folds
    asked = [*called("get_price", NOISE, item="chair_1"), *talk]
    assert ", get_price chair_1; also" in rewritten(task_for(asked), 300, "").text


def test_a_fold_names_what_was_installed() -> None:
    installs = [message for name in ("pytz", "asgiref") for message in ran(f"pip install -q {name}", NOISE)]
    talk = [message for n in range(40) for message in ran(f"cat part_{n}.py", f"row_{n} of it\n{NOISE}")]
    others = [message for name in "abcde" for _ in range(3) for message in ran(f"{name}tool x", NOISE)]
    assert "pip ×2 install pytz asgiref" in rewritten(task_for([*installs, *others, *talk]), 300, "").text


def test_a_command_that_edits_is_shown_whole_and_once() -> None:
    edit = f"sed -i 's/{'a' * 120}/{'b' * 120}/' src/shop.py"
    assert told(*ran(edit, "")) == [f"- $ {edit}"]


def test_passages_have_two_lines_or_more() -> None:
    output = "\n".join(f"price_{n} of {n}\nfiller words here" if n % 9 == 0 else "filler words here" for n in range(90))
    lines = told(*ran("make report", output), budget=200)[1:]
    inner = "\n".join(line.strip() for line in lines if not line.strip().startswith("also:")).split("…")
    passages = [piece.strip().splitlines() for piece in inner if piece.strip()]
    assert passages and all(len(passage) > 1 for passage in passages), passages


def test_progress_bars_and_envelopes_are_left_out() -> None:
    envelope = "Chunk ID: 1a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:"
    output = f"{envelope}\n 50% |#####     | 5/10\nthe price_list is built"
    assert told(*ran("make", output)) == ["- $ make", "    → the price_list is built"]


def test_a_focus_gets_the_room() -> None:
    talk = [message for n in range(30) for message in ran(f"cat part_{n}.py", f"row_{n} of it\nanother row_{n}x here")]
    about = ran("cat billing.py", "the invoice_total is wrong\nits refund_rate is 2")
    task = task_for([*about, *talk])
    assert "invoice_total is wrong" not in rewritten(task, 400, "").text
    assert "the invoice_total is wrong" in rewritten(task._replace(focus="keep all about invoices"), 400, "").text


def test_a_plan_is_no_entry() -> None:
    todo = {"todos": [{"content": "mend the price_table", "status": "completed"}]}
    assert told(prompt("go on"), *called("TodoWrite", "Todos have been modified.", **todo)) == ["user: go on"]


def test_lines_that_repeat_are_not_compared_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    original = unwrap.SequenceMatcher

    def compare(junk: None, before: list[str], after: list[str], **options: Any) -> Any:
        compared.append(len(before))
        return original(junk, before, after, **options)

    monkeypatch.setattr(unwrap, "SequenceMatcher", compare)
    lines = unwrap.edited_lines("row\n" * 400, "row\nline\n" * 200)
    assert not compared and len(lines) == 800
    assert unwrap.edited_lines("a\n\nb", "a\n\nc") == [" a", "-b", "+c"] and compared == [1]


def test_names_after_a_backslash_are_whole() -> None:
    text = r"C:\Users\my_name\report_one.txt and App\Models\UserModel, first_row\nsecond_row"
    assert {"my_name", "report_one.txt", "UserModel", "first_row", "second_row"} <= names_in(text).keys()


@pytest.mark.parametrize(
    ("focus", "line"),
    also_in_a_long_run(
        [("数据库", "数据库连接失败了，需要检查")],
        [("the UI", "then the UI is all green"), ("Größe", "nur die größe ist falsch")],
    ),
)
def test_a_focus_is_found_in_other_writings_and_short_words(focus: str, line: str) -> None:
    noise = [each for n in range(30) for each in ran(f"make part_{n}", f"row_{n} of it\n{NOISE}")]
    talk = [*ran("show it", f"{NOISE}\n{line}\nthen no more of it\n{NOISE}"), *noise]
    assert line not in rewritten(task_for(talk), 400, "").text
    assert line in rewritten(task_for(talk)._replace(focus=focus), 400, "").text


def test_what_a_script_printed_is_shown_although_it_begins_as_data_does() -> None:
    script = "\n".join(f"def part_{n}():\n    return {n}" for n in range(6))
    command = f"cat > probe.py <<'E'\n{script}\nE\npython probe.py"
    assert "    beta_value = 5" in told(*ran(command, "[1, 2, alpha_value]\nbeta_value = 5\nDone with all of them"))


def test_that_an_installer_tried_again_is_no_result() -> None:
    retried = "WARNING: Retrying (Retry(total=4, connect=None)) after a broken connection"
    assert told(*ran("pip install pytz -q", retried)) == ["- $ pip install pytz -q"]
