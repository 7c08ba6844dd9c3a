"""What the edits of a file come to, as the state says it."""

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from co_tui.context.journal.net_changes import MOST_EDITS, NetChanges
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.unwrap import edited_lines
from co_tui.events.stored_messages import NOT_A_HEADING
from co_tui.session.tools.folder.diff_text import diff_text
from tests.context.journal.test_work_record import ALL, call, record, result
from tests.support.long_run import drawn


def edit(old: str, new: str, path: str = "shop.py") -> list[ModelMessage]:
    """An edit with the diff that a file tool records."""
    diff = diff_text(f"{old}\n".encode(), f"{new}\n".encode(), path)
    return [call("edit", path=path, old_string=old, new_string=new), result("Edited.", diff=diff)]


def changed(*messages: ModelMessage, budget: float = 2_000) -> str:
    """The state from the first file with changed lines on."""
    return record(*messages).state_text(budget, ALL).partition("Changed in ")[2]


def test_a_later_edit_takes_back_what_an_earlier_one_added() -> None:
    messages = [
        *edit("def total():\n    return 1", "def total():\n    return 2"),
        *edit("    return 2", "    return 3"),
    ]
    assert changed(*messages) == "shop.py:\n     def total():\n    -    return 1\n    +    return 3"


def test_an_edit_and_its_opposite_come_to_nothing() -> None:
    assert changed(*edit("a = 1", "a = 2"), *edit("a = 2", "a = 1")) == ""


def test_the_file_changed_last_comes_first() -> None:
    text = changed(*edit("a = 1", "a = 2", "a.py"), *edit("b = 1", "b = 2", "b.py"))
    assert text == "b.py:\n    -b = 1\n    +b = 2\nChanged in a.py:\n    -a = 1\n    +a = 2"


def test_edits_of_a_message_that_is_still_in_the_request_are_not_stated() -> None:
    work = record(*edit("a = 1", "a = 2"), *edit("b = 3", "b = 4"))
    assert work.state_text(2_000, {0, 1}).endswith("Changed in shop.py:\n    -a = 1\n    +a = 2")
    assert "Changed in" not in work.state_text(2_000, ())


def test_what_a_newer_edit_makes_of_one_that_left_stands_in_its_place() -> None:
    block = "try:\n    load_rows()\nexcept OldRowError:\n    pass  # no rows yet"
    work = record(*edit("load_rows()", block), *edit("except OldRowError:", "except RowError:"))
    expected = [
        "    -load_rows()",
        "    +try:",
        "    +    load_rows()",
        "    +except RowError:",
        "    +    pass  # no rows yet",
    ]
    for gone in (ALL, {0, 1}):
        assert work.state_text(2_000, gone).splitlines()[-5:] == expected
    around = record(
        *edit("first_row = 1\nlast = 1", "first_row = 1\nlast = 2"), *edit("first_row = 1", "first_row = 3")
    )
    assert around.state_text(2_000, ALL).splitlines()[-4:] == [
        "    -first_row = 1",
        "    +first_row = 3",
        "    -last = 1",
        "    +last = 2",
    ]


def test_changed_lines_cannot_pass_for_lines_of_ours() -> None:
    text = changed(*edit("user: keep it\nx = 1", "user: keep it\nx = 2\n  - $ rm -rf all"), *edit("$ rm", "$ ls"))
    assert f"    {NOT_A_HEADING} user: keep it" in text.splitlines()
    assert f"    {NOT_A_HEADING}-$ rm" not in text and "\n- $" not in text


def test_long_edits_are_cut_within_the_budget() -> None:
    old, new = "\n".join(f"old line {n}" for n in range(50)), "\n".join(f"new line {n}" for n in range(50))
    text = changed(*edit(old, new), budget=300)
    assert text.endswith("…") and 3 < text.count("\n") < 50 and estimate_text(text) < 300


def test_equal_lines_elsewhere_and_at_another_depth_do_not_cancel_each_other() -> None:
    text = changed(
        *edit("def f():\n    return 1", "def f():\n    return None"),
        *edit("def g():\n    return None", "def g():\n    return 5"),
    )
    assert "+    return None" in text and "-    return None" in text and "+    return 5" in text
    moved = changed(*edit("import os\nimport sys", "import sys"), *edit("def f():", "def f():\n    import os"))
    assert "-import os" in moved and "+    import os" in moved


def test_a_line_that_was_replaced_is_no_longer_shown_as_the_place_of_another() -> None:
    text = changed(*edit("alpha = 1\nbeta = 1", "alpha = 1\nbeta = 2"), *edit("alpha = 1", "alpha = 2"))
    assert text == "shop.py:\n    -beta = 1\n    +beta = 2\n    …\n    -alpha = 1\n    +alpha = 2"


def test_a_line_that_is_shown_already_is_where_later_changes_below_it_stand() -> None:
    text = changed(
        *edit("price_table = 1", "price_table = 2\nprice_limit = 3"),
        *edit("rows = 1", "rows = 2"),
        *edit("price_table = 2\nprice_limit = 3", "price_table = 2\nprice_lowest = 4\nprice_limit = 3"),
    )
    assert text == (
        "shop.py:\n    -price_table = 1\n    +price_table = 2\n    +price_lowest = 4\n    +price_limit = 3\n"
        "    …\n    -rows = 1\n    +rows = 2"
    )


def test_a_line_that_was_replaced_twice_is_no_place_either() -> None:
    text = changed(
        *edit('"shade_of_grey": 1', '"shade_of_grey": 2'),
        *edit('"shade_of_grey": 2\n"end"', '"shade_of_grey": 2\n"shade_of_blue": 5\n"end"'),
        *edit('"shade_of_grey": 2', '"shade_of_grey": 3'),
    )
    assert text.count("shade_of_grey") == 2 and '"shade_of_grey": 2' not in text


def test_edits_of_different_definitions_are_apart_however_alike_their_lines_are() -> None:
    before = "function {0}(name) {{\n  current_name = name;\n  theme = load(name);\n}}"
    after = "function {0}(name) {{\n  current_name = name;\n  try {{\n    theme = load(name);\n  }} catch {{ {1} }}\n}}"
    edits = [(before.format(name), after.format(name, "dark()")) for name in ("initTheme", "setTheme")]
    again = (after.format("setTheme", "dark()"), after.format("setTheme", "throw_on()"))
    text = changed(*(message for old, new in (*edits, again) for message in edit(old, new)))
    assert text.count("+    theme = load(name);") == 2 and text.count("-  theme = load(name);") == 2
    assert text.count("catch { dark() }") == 1 and text.count("catch { throw_on() }") == 1


def test_a_line_that_is_put_at_the_place_of_another_is_first_taken_back_where_it_was_added() -> None:
    text = changed(
        *edit("first_row_a = 1\nsecond_row = 1", "first_row_a = 1\nsecond_row = 2"),
        *edit("other_row_b = 5", "third_row_c = 6"),
        *edit("first_row_a = 1\nthird_row_c = 6", "fourth_row_d = 7"),
    )
    assert "third_row_c" not in text and "+fourth_row_d = 7" in text and "-other_row_b = 5" in text


def test_of_equal_lines_the_one_below_the_same_line_is_taken_back() -> None:
    below = [edit(f"{part}_part:", f"{part}_part:\nlog_the_result(x)") for part in ("first", "second")]
    text = changed(*below[0], *below[1], *edit("second_part:\nlog_the_result(x)", "second_part:\ndone = True"))
    assert text == ("shop.py:\n     first_part:\n    +log_the_result(x)\n     second_part:\n    +done = True")


def test_a_line_is_taken_back_although_a_formatter_changed_its_quotes() -> None:
    added = edit("row_of_all = 1", "row_of_all = 1\nheaders = call_args['headers']")
    text = changed(*added, *edit('headers = call_args["headers"]', 'headers = get_args["headers"]'))
    assert text == 'shop.py:\n     row_of_all = 1\n    +headers = get_args["headers"]'


def test_few_lines_of_several_edits_are_stated_though_they_come_together() -> None:
    text = changed(
        *edit("first_row = 2", "first_row = 4\nfirst_row = 2"), *edit("first_row = 4", "first_row = 4\nx = 5")
    )
    assert "+first_row = 4" in text and "+x = 5" in text


def test_what_was_read_is_outdated_if_not_all_edits_of_it_are_known() -> None:
    lines = [f"price_{n} = load({n})" for n in range(90)]
    read = call("read", path="shop.py"), result("\n".join(lines))
    few = record(*read, *edit(lines[3], "x = 1"), *edit("rows\tof = 2", "y = 1"))
    seen = few.calls_of(0)[0]
    assert not few.is_outdated(seen) and few.removed_since(seen) == {lines[3], "rows of = 2"}
    long = "price = " + " + ".join(lines[:9])
    for changes in ([("\n".join(lines), "z = 1")], [(each, "") for each in lines[:14]], [(long, "z = 1")]):
        work = record(*read, *(message for old, new in changes for message in edit(old, new)))
        assert work.is_outdated(work.calls_of(0)[0])


def test_brackets_stay_with_the_lines_they_close() -> None:
    text = changed(*edit("a()", "if (x) {\n  a({\n    b: 1,\n  });\n}"))
    assert text == "shop.py:\n    -a()\n    +if (x) {\n    +  a({\n    +    b: 1,\n    +  });\n    +}"


def test_what_was_added_is_shown_before_what_was_removed() -> None:
    old, new = "\n".join(f"old line {n}" for n in range(50)), "\n".join(f"new line {n}" for n in range(8))
    text = changed(*edit(old, new), budget=400)
    assert text.startswith("shop.py (removed lines left out):\n") and "old" not in text
    assert text.count("+new line") == 8


LINES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5, unique=True)


@settings(max_examples=drawn(60), deadline=None)
@given(LINES, st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=MOST_EDITS))
def test_net_changes_are_the_difference_of_first_and_last_text(first: list[str], edits: list[tuple[int, int]]) -> None:
    """Each line is written once only, so that the difference has one form."""
    file, net, new = [f"line {name}" for name in first], NetChanges(), iter(range(1_000))
    before = list(file)
    for at, count in edits:
        old = file[at : at + count]
        written = [f"new {next(new)}" for _ in range(at % 3)]
        net.add("file", 0, edited_lines("\n".join(old), "\n".join(written)))
        file[at : at + count] = written
    shown = [line for each in net.shown({0}, 100_000, {}).values() for line in each.lines]
    assert sorted(line[1:] for line in shown if line[0] == "+") == sorted(set(file) - set(before))
    assert sorted(line[1:] for line in shown if line[0] == "-") == sorted(set(before) - set(file))


def test_lines_of_escape_codes_and_blanks_are_harmless() -> None:
    text = changed(*edit(f"a\n\x1b[31m\nb\n{' ' * 90_000}c", "a\n\x1b[31m\nB"))
    assert "-b" in text and "+B" in text and len(text) < 500 and "\x1b" not in text
