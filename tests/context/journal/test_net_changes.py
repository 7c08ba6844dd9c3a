"""What the edits of a file come to, as the state says it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart

from co_tui.context.journal.net_changes import MOST_EDITS, NetChanges, patch_changes
from co_tui.context.journal.originals import MOST_ORIGINALS
from co_tui.context.journal.shell_edits import replacements_in
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.unwrap import MOST_COMPARED, edited_lines
from co_tui.events.stored_messages import NOT_A_HEADING
from tests.context.journal.test_work_record import ALL, call, record, result, said
from tests.support.cases import each_case
from tests.support.long_run import drawn


def edit(old: str, new: str, path: str = "shop.py") -> list[ModelMessage]:
    return [call("edit", path=path, old_string=old, new_string=new), result("Edited.")]


def changed(*messages: ModelMessage, budget: float = 2_000) -> str:
    """The state from the first file with changed lines on."""
    return record(*messages).state_text(budget, ALL).partition("Changed in ")[2]


def test_a_later_edit_takes_back_what_an_earlier_one_added() -> None:
    messages = [
        *edit("def total():\n    return 1", "def total():\n    return 2"),
        *edit("    return 2", "    return 3"),
    ]
    assert changed(*messages) == "shop.py:\n     def total():\n    -    return 1\n    +return 3"


def test_an_edit_and_its_opposite_come_to_nothing() -> None:
    assert changed(*edit("a = 1", "a = 2"), *edit("a = 2", "a = 1")) == ""


def test_the_file_changed_last_comes_first() -> None:
    text = changed(*edit("a = 1", "a = 2", "a.py"), *edit("b = 1", "b = 2", "b.py"))
    assert text == "b.py:\n    -b = 1\n    +b = 2\nChanged in a.py:\n    -a = 1\n    +a = 2"


def test_a_patch_that_was_shown_is_what_the_edits_come_to() -> None:
    patch = (
        "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -7,2 +7,2 @@ def total():\n-x = 0\n+x = 9\n"
    )
    shown = [call("bash", command="git diff"), result(patch)]
    assert changed(*edit("x = 0", "x = 5"), *shown) == "shop.py:\n     def total():\n    -x = 0\n    +x = 9"


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


def test_edits_of_every_form_are_stated() -> None:
    block = "shop.py\n```python\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n```"
    patch = "*** Begin Patch\n*** Update File: shop.py\n@@ def total():\n-a = 1\n+a = 2\n*** End Patch"
    editor = "Text replaced.\n(Open file: /app/shop.py)\n(Current directory: /app)\nbash-$"
    many = [{"oldText": "a = 1", "newText": "a = 2"}]
    for messages in (
        [ModelResponse(parts=[TextPart(block)])],
        [call("apply_patch", input=patch), result("Done.")],
        [call("bash", command=f"apply_patch <<'EOF'\n{patch}\nEOF"), result("Done.")],
        [call("edit", search="a = 1", replace="a = 2"), result(editor)],
        [call("edit", path="shop.py", edits=many), result("ok")],
    ):
        assert changed(*messages).replace("     def total():\n", "") == "shop.py:\n    -a = 1\n    +a = 2", messages


def test_what_a_script_replaces_is_stated_once_it_ran() -> None:
    reads = "text = open('shop.py').read()\n"
    writes = "open('shop.py', 'w').write(text)\n"
    pair = 'old = """a = 1\n"""\nnew = """a = 2  # "two"\n"""\ntext = text.replace(old, new)\n'
    literals = r"text = text.replace('a = 1', 'a = 2  # \"two\"', 1)" + "\n"
    for code in (f"{reads}{pair}{writes}", f"{reads}{literals}{writes}"):
        written = [call("bash", command=f"cat > fix.py <<'EOF'\n{code}EOF"), result("")]
        assert changed(*written) == ""
        run = [call("bash", command="python fix.py"), result("done")]
        assert changed(*written, *run) == 'shop.py:\n    -a = 1\n    +a = 2  # "two"'
        assert changed(call("bash", command=f"python3 - <<'EOF'\n{code}EOF"), result("")).startswith("shop.py:\n    -a")


SUMS = "total = 0  # sum", "total = price_sum"
COUNTS = "count = 0  # of rows", "count = len(rows)"


def by_script(*pairs: tuple[str, str]) -> list[ModelMessage]:
    """A script that replaces texts in shop.py, which may not be there."""
    replaced = "".join(f".replace({old!r}, {new!r})" for old, new in pairs)
    code = f"text = open('shop.py').read(){replaced}\nopen('shop.py', 'w').write(text)"
    written = [call("write", path="fix.py", content=code), result("Written.")]
    return [*written, call("bash", command="python fix.py"), result("ok")]


def looked(command: str, *lines: str) -> list[ModelMessage]:
    asked = call("bash", command=command) if command else call("read_file", path="shop.py")
    return [asked, result("\n".join(lines))]


@pytest.mark.parametrize(
    ("command", "lines", "is_stated"),
    [
        ("cat shop.py", ("rows = []", SUMS[0], COUNTS[0]), False),
        ("", ("     1\trows = []", f"     2\t{SUMS[0]}", f"     3\t{COUNTS[0]}"), False),
        ("sed -n '1,9p' shop.py", ("rows = []", SUMS[0], COUNTS[0]), False),
        ("cat shop.py", ("rows = []", SUMS[1], COUNTS[1]), True),
        ("cat shop.py", (SUMS[1], SUMS[0], COUNTS[0]), True),
        ("cat shop.py", ("rows = []", SUMS[0]), True),
        ("sed -n '1,2p' shop.py", ("rows = []", SUMS[0]), True),
        ("cat shop.py other.py", (SUMS[0], COUNTS[0]), True),
        ("cat shop.py && python other.py", (SUMS[0], COUNTS[0]), True),
    ],
)
def test_what_a_script_was_to_replace_is_not_stated_if_it_is_still_there(
    command: str, lines: tuple[str, ...], is_stated: bool
) -> None:
    assert ("+total = price_sum" in changed(*by_script(SUMS, COUNTS), *looked(command, *lines))) == is_stated


def test_only_the_newest_edit_is_refuted_and_it_can_still_be_undone() -> None:
    back = edit("total = price_sum", "total = 0  # sum")
    assert changed(*by_script(SUMS), *back, *looked("cat shop.py", SUMS[0])) == ""
    sure = edit(*SUMS)
    assert "+total = price_sum" in changed(*sure, *looked("cat shop.py", SUMS[0]))
    undo = [call("undo_edit", path="shop.py"), result("Last edit undone.")]
    both = changed(*edit("a = 1", "a = 2"), *by_script(SUMS), *looked("cat shop.py", SUMS[0]), *undo)
    assert both == "shop.py:\n    -a = 1\n    +a = 2"


def test_part_of_a_file_with_one_equal_line_refutes_nothing() -> None:
    assert "+total" in changed(*by_script(SUMS), *looked("sed -n '90,99p' shop.py", SUMS[0]))
    assert "+total" not in changed(*by_script(SUMS), *looked("cat shop.py", SUMS[0]))


def test_what_a_script_puts_behind_what_it_found_is_stated() -> None:
    code = (
        "match = re.search(r'(class Node.*?conditional = True)', content, re.DOTALL)\n"
        "old = match.group(1)\n"
        "new = old + '\\n\\n    @property\\n    def empty_value(self):\\n        return 1'\n"
        "content = content.replace(old, new)\n"
        "content = content.replace('    return 2', '    return 3')\n"
    )
    assert replacements_in(code) == [
        "+@property", "+def empty_value(self):", "+    return 1", "-return 2", "+return 3"
    ]  # fmt: skip


def test_new_code_in_a_script_is_stated_if_nothing_is_replaced_by_name() -> None:
    code = (
        "new_method = '''\n    def total(self):\n        return 1\n'''\nopen('shop.py', 'w').write(head + new_method)\n"
    )
    text = changed(call("bash", command=f"python3 - <<'EOF'\n{code}EOF"), result(""))
    assert text == "shop.py:\n    +def total(self):\n    +    return 1"


@each_case(
    ("code", "lines"),
    [
        # A pattern that is a text with escapes, and one that is more.
        (r"re.sub(r'total\(a\)', 'total(b)', text)", ["-total(a)", "+total(b)"]),
        (r"re.sub(r'(def total\(a\):)', r'\1\n    a = 1', text)", [" def total(a):", "+    a = 1"]),
        (r"re.sub(r'(\s*)old = .*', r'\1if has(a):\n    new = 1', text)", ["+if has(a):", "+    new = 1"]),
        (r"re.sub(r'New\((.*), 0\)', r'New(\1, 0, a_new_theme)', text)", ["+New(…, 0, a_new_theme)"]),
        (r"re.sub(r'\s+', '_', name)", []),
        # Lines that are put among others.
        ("lines.append(indent + 'try:')\nlines.append(indent + '    a = 1')", ["+try:", "+    a = 1"]),
        ("lines.insert(3, 'import json\\n')", ["+import json"]),
        ("new = f'''{indent}a = 1\n{indent}b = {two}\n\n'''", ["+a = 1", "+b = {two}"]),
        ("errors.append('no such line')", []),
    ],
)
def test_what_a_script_puts_instead_of_a_pattern_or_among_lines_is_stated(code: str, lines: list[str]) -> None:
    assert replacements_in(f"text = open('shop.py').read()\n{code}\n") == lines


def test_replacements_in_hostile_code_are_read_quickly() -> None:
    for code in (
        *('"' * 18_000, "x = (" * 5_000, ".replace('" * 4_000, "'\\" * 9_000, "a = '''" * 4_000),
        *("lines.append(" * 2_000, "lines.append(a + " * 2_000, "re.sub('" * 3_000, "\\1" * 9_000),
    ):
        assert replacements_in(code * 10) == []


def test_a_file_that_gets_its_copy_back_is_as_before() -> None:
    copied = [call("bash", command="cp shop.py shop.py.bak"), result("")]
    back = [call("bash", command="cp shop.py.bak shop.py"), result("")]
    work = record(*copied, *edit("a", "b"), *back)
    state = work.state_text(400, ALL)
    assert "shop.py (×2, as before)" in state and "Changed in" not in state
    assert work.calls_of(2)[0].outcome == "undone later"
    late = record(*edit("a", "b"), *copied, *edit("b", "c"), *back)
    assert late.calls_of(0)[0].outcome == "" and "as before" not in late.state_text(400, ALL)


def test_a_file_that_is_written_whole_restored_or_removed_has_no_edits() -> None:
    for command in ("git checkout -- shop.py", "rm shop.py", "cat > shop.py <<'EOF'\na = 7\nEOF"):
        assert "Changed in" not in record(*edit("a", "b"), call("bash", command=command), result("")).state_text(
            400, ALL
        )


def test_an_edit_that_failed_or_was_undone_is_not_stated() -> None:
    for why in ("Error: no such text", "String to replace not found in file.\nString: a", "Search text was not found"):
        assert changed(call("edit", path="shop.py", old_string="a", new_string="b"), result(why)) == ""
    undone = [*edit("a", "b"), *edit("c", "d"), call("undo_edit", path="shop.py"), result("Last edit undone.")]
    assert changed(*undone) == "shop.py:\n    -a\n    +b"


def test_an_edit_in_answer_to_a_question_alone_is_not_applied() -> None:
    block = "shop.py\n```python\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n```"
    for asked, count in (("/ask how would you do it?", 0), ("do it", 1)):
        work = record(said(asked), ModelResponse(parts=[TextPart(block)]), said("thanks"))
        assert work.state_text(2_000, ALL).count("Changed in shop.py") == count


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


def test_what_was_read_before_a_change_that_is_not_known_is_outdated_whatever_comes_later() -> None:
    read = call("read", path="shop.py"), result("rows = load_rows(1)\nsum = add(rows)")
    known = edit("sum = add(rows)", "sum = 0")
    unknown: list[list[ModelMessage]] = [
        [call("write", path="shop.py", content="new = 1"), result("Written.")],
        [call("bash", command="perl -0pi -e 's/a/b/' shop.py"), result("")],
        [*edit("rows = load_rows(1)", "rows = 1"), call("undo_edit", path="shop.py"), result("Undone.")],
        [*edit("rows = load_rows(1)", "rows = 1"), call("bash", command="git checkout shop.py"), result("")],
    ]
    for changes in unknown:
        work = record(*read, *changes, *known)
        assert work.is_outdated(work.calls_of(0)[0])
    numbered = record(call("read", path="shop.py"), result('2: "february",\n3: "march",'), *edit('2: "february",', "x"))
    assert numbered.removed_since(numbered.calls_of(0)[0]) == {'2: "february",'}


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


@each_case("new", ["TEXT = (\n--- a/till.py\n+++ b/till.py\n@@ -1 +1 @@\n)", "+++\ntitle = 1\n+++ end"])
def test_a_diff_that_an_edit_writes_into_a_file_changes_no_other_one(new: str) -> None:
    state = record(*edit("a = 1", new)).state_text(900, ALL)
    assert state.startswith("Files changed: shop.py\n")
    asked = call("create_pull_request", body="Mend it\n--- a/till.py\n+++ b/till.py\n@@ -1 +1 @@\n-a\n+b")
    assert "Files changed" not in record(asked, result("#12")).state_text(900, ALL)


def test_brackets_stay_with_the_lines_they_close() -> None:
    text = changed(*edit("a()", "if (x) {\n  a({\n    b: 1,\n  });\n}"))
    assert text == "shop.py:\n    -a()\n    +if (x) {\n    +  a({\n    +    b: 1,\n    +  });\n    +}"


def test_what_was_added_is_shown_before_what_was_removed() -> None:
    old, new = "\n".join(f"old line {n}" for n in range(50)), "\n".join(f"new line {n}" for n in range(8))
    text = changed(*edit(old, new), budget=400)
    assert text.startswith("shop.py (removed lines left out):\n") and "old" not in text
    assert text.count("+new line") == 8


def test_a_patch_is_read_by_file() -> None:
    patch = (
        "diff --git a/a.py b/a.py\nindex 12..34 100644\n--- a/a.py\n+++ b/a.py\n"
        "@@ -1,2 +1,2 @@ class A:\n x\n--- dashes\n+y\n"
        "diff --git a/b.py b/b.py\ndeleted file\n--- a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    )
    assert patch_changes(patch) == {"a.py": [" class A:", " x", "--- dashes", "+y"]}


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
    shown = [line for each in net.shown({0}, 100_000).values() for line in each.lines]
    assert sorted(line[1:] for line in shown if line[0] == "+") == sorted(set(file) - set(before))
    assert sorted(line[1:] for line in shown if line[0] == "-") == sorted(set(before) - set(file))


def test_what_git_brings_back_is_no_longer_stated() -> None:
    """By a name, a folder, or as a whole; not what was committed, and not a file that is new."""
    for command in ("git checkout shop.py", "git checkout .", "git restore .", "git reset --hard", "git stash"):
        state = record(*edit("a", "b"), call("bash", command=command), result("")).state_text(400, ALL)
        assert "shop.py (×2, as before)" in state and "Changed in" not in state, command
    below = record(*edit("a", "b", "src/shop.py"), call("bash", command="git checkout -- src"), result(""))
    assert "Changed in" not in below.state_text(400, ALL)
    commit = [call("bash", command="git commit -am done"), result("")]
    back = [call("bash", command="git checkout -- shop.py"), result("")]
    assert "as before" not in record(*edit("a", "b"), *commit, *edit("b", "c"), *back).state_text(400, ALL)
    for command in ("git checkout main", "git stash pop", "git restore --staged shop.py", "git reset HEAD"):
        assert "Changed in shop.py" in record(*edit("a", "b"), call("bash", command=command), result("")).state_text(
            400, ALL
        ), command


def test_what_a_stash_sets_aside_comes_back() -> None:
    for commands in ("git stash|git stash pop", "git stash push -m x|git stash apply", "git stash; git stash pop"):
        calls = [each for command in commands.split("|") for each in (call("bash", command=command), result(""))]
        work = record(*edit("a", "b"), *calls)
        assert changed(*edit("a", "b"), *calls) == "shop.py:\n    -a\n    +b", commands
        assert work.calls_of(0)[0].outcome == "", commands
    aside = record(*edit("a", "b"), call("bash", command="git stash -u"), result("Saved working directory"))
    assert aside.calls_of(0)[0].outcome == "set aside later" and "as before" in aside.state_text(400, ALL)
    nothing = call("bash", command="git stash"), result("No local changes to save")
    assert changed(*edit("a", "b"), *nothing) == "shop.py:\n    -a\n    +b"


@each_case(
    "answer",
    [
        "Found 2 occurrences of the text in shop.py. The text must be unique.", "No changes made to shop.py.",
        "File has been modified since read, either by the user or by a linter.", "Edit rejected by user",
        "Found 2 matches of the string to replace, but replace_all is false.", "Hunk #1 FAILED at 3",
        "The user doesn't want to proceed with this tool use.", "Permission to use Edit has been denied.",
        "1 of 3 edits applied", "File updated unsuccessfully: disk full", "apply_patch verification failed: no line",
    ],
)  # fmt: skip
def test_a_refused_edit_changed_nothing(answer: str) -> None:
    work = record(edit("a", "b")[0], result(answer))
    assert "Changed in" not in work.state_text(400, ALL) and work.calls_of(0)[0].outcome == "failed"


@each_case(
    "answer",
    ["3 of 3 edits applied", "The file shop.py has been modified.", "Found 2 occurrences of a and replaced both."],
)
def test_an_edit_that_was_made(answer: str) -> None:
    assert changed(edit("a", "b")[0], result(answer)) == "shop.py:\n    -a\n    +b"


def test_a_patch_may_be_a_word_of_a_command() -> None:
    patch = "*** Begin Patch\n*** Update File: shop.py\n@@\n-a = 'x'\n+b = 'x'\n*** End Patch"
    done = call("shell", command=["apply_patch", patch]), result("Success. Updated the following files:\nM shop.py")
    assert changed(*done) == "shop.py:\n    -a = 'x'\n    +b = 'x'"


@each_case(
    ("path", "command", "printed"),
    [
        ("src/main/a.py", "git checkout main", "Switched to branch 'main'"),
        ("docs/a.py", "git checkout docs", ""),
        ("dev/a.py", "git checkout -B dev", ""),
        ("main", "git checkout main", "Already on 'main'"),
        ("tests/src/a.py", "git checkout -- src", ""),
    ],
)
def test_a_branch_that_is_named_like_a_folder_restores_nothing(path: str, command: str, printed: str) -> None:
    state = record(*edit("a", "b", path), call("bash", command=command), result(printed)).state_text(400, ALL)
    assert "+b" in state and f"{path} (" not in state


def test_patches_that_are_reversed_or_only_checked_and_those_of_other_versions_change_nothing() -> None:
    patch = "--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-x = 0\n+x = 9\n"
    for command in ("git apply --check", "git apply -R", "patch -p1 --dry-run"):
        assert "x = 9" not in record(call("bash", command=f"{command} <<'EOF'\n{patch}EOF"), result("")).state_text(
            400, ALL
        )
    for command in ("git diff v1 v2", "git diff --cached", "git diff -R", "git -C ../other diff"):
        shown = [call("bash", command=command), result(f"diff --git a/shop.py b/shop.py\n{patch}")]
        assert changed(*edit("a", "b"), *shown) == "shop.py:\n    -a\n    +b", command


def test_edits_of_several_files_are_stated_by_file() -> None:
    """In the form of our own tool, too; a text that is written whole leaves no older edit."""
    both = [{"path": f"{name}.py", "replacements": [{"old_text": name, "new_text": "z"}]} for name in "ab"]
    text = changed(call("edit_files", files=both), result("Changed 2 files."))
    assert text == "b.py:\n    -b\n    +z\nChanged in a.py:\n    -a\n    +z"
    code = "a = open('a.py').read().replace('x = 1', 'x = 2')\nopen('a.py', 'w').write(a)\nopen('b.py', 'w').write(a)\n"
    assert changed(call("bash", command=f"python3 - <<'EOF'\n{code}EOF"), result("")) == ""  # which of the two?


def test_lines_of_escape_codes_and_blanks_are_harmless() -> None:
    text = changed(*edit(f"a\n\x1b[31m\nb\n{' ' * 90_000}c", "a\n\x1b[31m\nB"))
    assert "-b" in text and "+B" in text and len(text) < 500 and "\x1b" not in text


@each_case(
    ("command", "lines"),
    [
        ("sed -i 's/a = 1/a = 2/' shop.py", ["-a = 1", "+a = 2"]),
        ("sed -i 's#/old/way#/new/way#g; s/x/y/' shop.py", ["-/old/way", "+/new/way", "-x", "+y"]),
        ("sed -i -e '3s/a/b/' -e '/def total/a\\    return 1' shop.py", ["-a", "+b", "+return 1"]),
        ("sed -i '12,14d;15i\\import json' shop.py", ["+import json"]),
        ("sed -i 's/total(a)/total(b)/' shop.py", ["-total(a)", "+total(b)"]),
        ("sed -i -E 's/total\\(a\\)/total(b)/' shop.py", ["-total(a)", "+total(b)"]),
        ("sed -i '' 's/^a = 1$/a = 2/' shop.py", ["-a = 1", "+a = 2"]),
        ("cat >> shop.py <<'EOF'\na = 1\nb = 2\nEOF", ["+a = 1", "+b = 2"]),
        # Not what stands there word for word, or not in the file.
        ("sed -i -E 's/total(a)/b/' shop.py", []),
        ("sed -i 's/a.*/b/' shop.py", []),
        ("sed -i 's/[ab]/c/' shop.py", []),
        ("sed -i 's/a/<&>/' shop.py", []),
        ("sed -n 's/a = 1/a = 2/p' shop.py", []),
        ("sed 's/a = 1/a = 2/' shop.py", []),
        ("sed -i -f changes.sed shop.py", []),
    ],
)
def test_what_a_command_replaces_or_adds_word_for_word_is_stated(command: str, lines: list[str]) -> None:
    text = changed(call("bash", command=command), result(""))
    assert [line[4:] for line in text.splitlines()[1:]] == lines, text


def test_lines_that_an_editor_puts_at_a_number_are_stated() -> None:
    opened = "[File: /app/shop.py (9 lines total)]\n(Open file: /app/shop.py)\n(Current directory: /app)\nbash-$"
    for messages in (
        [call("insert", path="shop.py", insert_line=3, new_str="a = 1\nb = 2"), result("Inserted.")],
        [call("str_replace_editor", command="insert", path="shop.py", insert_line=3, new_str="a = 1\nb = 2"),
         result("The file shop.py has been edited.")],
        [call("bash", command="edit 3:4\na = 1\nb = 2\nend_of_edit"), result(opened)],
    ):  # fmt: skip
        assert changed(*messages).endswith("shop.py:\n    +a = 1\n    +b = 2"), messages
    assert changed(call("insert", path="shop.py", insert_line=3, new_str="a\nb"), result("Error: no such line 3")) == ""


def read(text: str, path: str = "shop.py") -> list[ModelMessage]:
    return [call("read_file", path=path), result(text)]


def wrote(text: str, path: str = "shop.py") -> list[ModelMessage]:
    return [call("write_file", path=path, content=text), result("Wrote it.")]


FILE = "\n".join(f"line {number}" for number in range(1, 40))


def test_a_file_that_is_written_whole_after_it_was_read_shows_what_it_has_other_than_before() -> None:
    now = FILE.replace("line 7", "line seven").replace("line 30\n", "line 30\nline 30a\n")
    shown = "shop.py:\n     line 6\n    -line 7\n    +line seven\n     line 30\n    +line 30a"
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(FILE.splitlines(), 1))
    for before in (FILE, numbered):
        assert changed(*read(before), *wrote(now)) == shown
    document = call("bash", command=f"cat > shop.py <<'EOF'\n{now}\nEOF"), result("")
    assert changed(*read(FILE), *document) == shown
    copied = [*wrote(now, "/tmp/new.py"), call("bash", command="cp /tmp/new.py shop.py"), result("")]
    assert changed(*read(FILE), *copied).partition("\nChanged in")[0] == shown


def test_a_file_that_is_written_twice_shows_what_it_has_other_than_when_it_was_read() -> None:
    once, twice = FILE.replace("line 7", "line seven"), FILE.replace("line 9", "line nine")
    text = changed(*read(FILE), *wrote(once), *read(once), *wrote(twice))
    assert text == "shop.py:\n     line 8\n    -line 9\n    +line nine"
    assert changed(*read(FILE), *wrote(once), *wrote(FILE)) == ""


def test_what_was_left_out_of_a_file_that_was_read_is_no_change() -> None:
    """Nothing is known there, neither of lines that seem to be new."""
    lines = FILE.splitlines()
    cut = "\n".join([*lines[:10], "... [20 lines truncated] ...", *lines[30:]])
    text = changed(*read(cut), *wrote(FILE.replace("line 7\n", "line seven\n").replace("line 20\n", "line twenty\n")))
    assert text == "shop.py:\n     line 6\n    -line 7\n    +line seven"
    part = call("read_file", path="shop.py", offset=10, limit=5), result("\n".join(lines[9:14]))
    assert changed(*part, *wrote(FILE)) == ""


def test_a_file_is_compared_only_while_that_is_quick() -> None:
    """Equal lines, many lines, and many files."""
    same, many = "pass\n" * 1_000, "\n".join(f"line {number}" for number in range(MOST_COMPARED))
    for before in (same, many):
        assert changed(*read(before), *wrote(f"{before}\nlast = 1")) == ""
    others = [message for number in range(MOST_ORIGINALS) for message in read(FILE, f"other_{number}.py")]
    assert changed(*read(FILE), *others, *wrote(FILE.replace("line 7\n", "line seven\n"))) == ""
    assert changed(*read(FILE), *others[2:], *wrote(FILE.replace("line 7\n", "line seven\n")))


@each_case(
    ("looked", "shown"),
    [
        (["rg", "def |first$", "def total():\ndef other():"], ""),
        (["bash", "cat shop.py | grep line", "line 1\nline 2"], ""),
        (["bash", "head -2 shop.py; tail -2 shop.py", "line 1\nline 2\nline 38\nline 39"], ""),
        (["bash", "sed -n '/9/p' shop.py", "line 9\nline 19"], ""),
    ],
)
def test_only_a_file_that_was_shown_as_a_whole_is_compared(looked: list[str], shown: str) -> None:
    tool, asked, said = looked
    found = [call(tool, **({"command": asked} if tool == "bash" else {"pattern": asked, "path": "shop.py"}))]
    now = FILE.replace("line 7\n", "line seven\n")
    assert changed(*found, result(said), *wrote(now)) == shown
    assert "+line seven" in changed(*read(FILE), *found, result(said), *wrote(now)), "what was read before counts"


@each_case(
    "mark",
    ["[… 10,000 characters left out …]", "...", "[...]", "…", "[... 40 lines ...]", "[snip]", "[40 lines truncated]"],
)
def test_lines_that_were_left_out_in_the_middle_are_not_new(mark: str) -> None:
    lines = FILE.splitlines()
    text = changed(*read("\n".join([*lines[:10], mark, *lines[30:]])), *wrote(FILE.replace("line 7\n", "line seven\n")))
    assert text == "shop.py:\n     line 6\n    -line 7\n    +line seven"


def test_numbers_of_the_file_itself_are_no_line_numbers() -> None:
    before = "CODES = {\n    200: 'OK',\n    404: 'Not Found',\n}\nfound = CODES.get(code)\nprint(found)"
    text = changed(*read(before), *wrote(before.replace("(code)", "(code, '')")))
    assert (
        text == "shop.py:\n         404: 'Not Found',\n    -found = CODES.get(code)\n    +found = CODES.get(code, '')"
    )


def test_a_file_of_the_same_name_elsewhere_is_another_one() -> None:
    assert changed(*read(FILE, "package.json"), *wrote(FILE + "\nnew", "packages/ui/package.json")) == ""


def test_a_text_that_was_edited_before_it_was_copied_is_not_known() -> None:
    made = wrote(FILE.replace("line 7\n", "line seven\n"), "/tmp/new.py")
    copied = call("bash", command="cp /tmp/new.py shop.py"), result("")
    assert changed(*read(FILE), *made, *copied).startswith("shop.py:")
    assert "shop.py" not in changed(*read(FILE), *made, *edit("line seven", "line 8", "/tmp/new.py"), *copied)


@each_case(
    ("command", "printed", "shown"),
    [
        ("sed -i 's/aa/bb/' shop.py; pytest; git checkout -- shop.py", "", ""),
        ("cp shop.py /tmp/s.py; sed -i 's/aa/bb/' shop.py; pytest; cp /tmp/s.py shop.py", "", ""),
        ("cp shop.py s.bak; sed -i 's/aa/bb/' shop.py; pytest; mv s.bak shop.py", "", ""),
        ("sed -i 's/a1 = 1/a1 = 2/' shop.py; pytest; sed -i 's/a1 = 2/a1 = 1/' shop.py", "", ""),
        ("sed -i 's/aa/bb/' a.py && false && sed -i 's/c/d/' a.py", "[exit code: 1]", "a.py:\n    -aa\n    +bb"),
        ("cat > a.py <<'E'\nimport os\nE\ncat >> a.py <<'E'\nb = 1\nE", "", "a.py:\n    +b = 1"),
        ("cat >> /etc/a.py <<'E'\nb = 1\nE", "bash: line 1: /etc/a.py: Permission denied", ""),
        ("sed -i 's/a/b/' a.py", "sed: can't read a.py: No such file or directory", ""),
    ],
)
def test_several_programs_of_a_command_do_one_after_the_other(command: str, printed: str, shown: str) -> None:
    assert changed(call("bash", command=command), result(printed)) == shown


def test_an_edit_before_a_change_that_is_not_known_says_so_until_the_file_is_seen() -> None:
    made = edit("limit = 10", "limit = 20\nrows = []")
    unknown = call("bash", command="sed -i 's/limit = [0-9]*/limit = 30/' shop.py"), result("")
    text = changed(*made, *unknown)
    assert text.startswith("shop.py (before another change, which is not shown):\n") and "+limit = 20" in text
    seen = call("bash", command="cat shop.py"), result("limit = 30\nrows = []")
    assert changed(*made, *unknown, *seen) == "shop.py:\n    -limit = 10\n    +rows = []"


def test_an_edit_that_may_have_missed_is_stated_once_when_it_is_made_for_sure() -> None:
    missed = call("bash", command="sed -i 's/count = 1/count = 2/' shop.py"), result("")
    assert changed(*missed, *edit("count  = 1", "count = 2")) == "shop.py:\n    -count  = 1\n    +count = 2"


@each_case(
    ("script", "lines"),
    [
        (r"s/print x/print(\x27x\x27)/", ["-print x", "+print('x')"]),
        ("3a\\\nimport sys\\\nimport re", ["+import sys", "+import re"]),
        (r"s/import os/import os\nimport re/", [" import os", "+import re"]),
        ("s/$/  # noqa/", []),
        ("s/^/assert /", []),
        ("s/old/new $V/", []),
    ],
)
def test_texts_of_sed_have_its_own_escapes(script: str, lines: list[str]) -> None:
    text = changed(call("bash", command=f'sed -i "{script}" shop.py'), result(""))
    assert [line[4:] for line in text.splitlines()[1:]] == lines, text


def test_arguments_that_put_nothing_at_a_line() -> None:
    now = FILE.replace("line 7\n", "line seven\n")
    shown = "shop.py:\n     line 6\n    -line 7\n    +line seven"
    created = call("create", path="shop.py", file_text=now, insert_line=None), result("Done.")
    assert changed(*read(FILE), *created) == shown
    comment = call("create_review_comment", path="shop.py", line=3, body="a\nb"), result("Done.")
    assert changed(*comment) == ""
