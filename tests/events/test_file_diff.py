"""The diff of a file change, as it is stored and as it is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui.events.file_diff import DiffRow, read_diff, with_marks
from co_tui.session.tools.folder import diff_text as making
from co_tui.session.tools.folder.diff_text import diff_text

LINES = st.lists(st.sampled_from(["a", "b", "-- c", "++ d", "", "@@ -1 +1 @@", "…", "\\", "x\r", "é"]), max_size=25)
TEXTS = st.tuples(LINES, st.booleans()).map(lambda given: ("\n".join(given[0]) + "\n" * given[1]).encode())


def rebuilt(before: bytes, diff: str) -> list[str]:
    """The lines after the change: those of the diff, and between its hunks those of before."""
    change = read_diff(diff)
    assert change is not None
    old = before.decode().split("\n")
    old = old[:-1] if old[-1] == "" else old
    after: list[str] = []
    at = 0
    for row in change.rows:
        if row.sign == "-":
            after += [line.removesuffix("\r") for line in old[at : row.number - 1]]
            assert old[row.number - 1].removesuffix("\r") == row.text.removesuffix("␍")
            at = row.number
        elif row.sign in "+ ":
            missing = row.number - 1 - len(after)
            after += [line.removesuffix("\r") for line in old[at : at + missing]]
            at += missing + (row.sign == " ")
            after.append(row.text.removesuffix("␍"))
    return after + [line.removesuffix("\r") for line in old[at:]]


@given(TEXTS, TEXTS, st.sampled_from([3, 2_000]))
def test_a_diff_leads_from_one_text_to_the_other(before: bytes, after: bytes, most_compared: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "MOST_COMPARED_LINES", most_compared)
        diff = diff_text(before, after, "a.txt")
    if before == after:
        assert diff == ""
        return
    lines = after.decode().split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    assert rebuilt(before, diff) == [line.removesuffix("\r") for line in lines]
    change = read_diff(diff)
    assert change is not None and not change.left_out
    assert change.added - change.removed == len(lines) - len(before.decode().removesuffix("\n").split("\n")) + (
        not before
    )


def test_one_changed_line_of_many_is_one_line() -> None:
    lines = [f"line {n}" for n in range(119)]
    before = "\n".join(lines).encode()
    after = "\n".join([*lines[:60], "line sixty", *lines[61:]]).encode()
    change = read_diff(diff_text(before, after, "a.py"))
    assert change is not None and change.figures == "+1 −1"
    assert [row.number for row in change.rows] == [58, 59, 60, 61, 61, 62, 63, 64]
    assert with_marks(change.rows)[3:5] == [
        DiffRow("-", "line 60", 61, ((5, 7),)),
        DiffRow("+", "line sixty", 61, ((5, 10),)),
    ]


def test_the_end_of_a_file_and_of_its_lines_are_changes_too() -> None:
    change = read_diff(diff_text(b"a\nb", b"a\nb\n", "x"))
    assert change is not None and change.figures == "+1 −1"
    assert [row.text for row in change.rows] == ["a", "b", "no newline at the end", "b"]
    windows = read_diff(diff_text(b"a\r\nb\r\n", b"a\r\nc\r\n", "x"))
    assert windows is not None and [row.text for row in windows.rows] == ["a", "b", "c"]
    converted = read_diff(diff_text(b"a\r\n", b"a\n", "x"))
    assert converted is not None and [row.text for row in converted.rows] == ["a␍", "a"]


def test_a_new_file_is_all_added_and_nothing_changed_is_nothing() -> None:
    change = read_diff(diff_text(None, b"a\nb\n", "x"))
    assert change is not None and change.is_new and change.figures == "+2"
    assert diff_text(b"a", b"a", "x") == ""


def test_a_huge_change_keeps_its_figures_and_its_first_lines() -> None:
    before = "".join(f"old {n}\n" for n in range(24_000)).encode()
    after = "".join(f"new {n}\n" if n % 2 else f"old {n}\n" for n in range(24_000)).encode()
    text = diff_text(before, after, "big.txt")
    change = read_diff(text)
    assert change is not None and change.figures == "+12,000 −12,000" and len(text) < 21_000
    assert change.rows[0].text == "old 0" and change.left_out > 20_000
    shown = change.first_rows(12)
    assert len(shown) == 12 and change.hidden_after(shown) == 24_000 - 12


def test_a_few_changes_far_apart_in_a_huge_file_are_found_exactly() -> None:
    lines = [f"line {n}\n" for n in range(50_000)]
    changed = list(lines)
    changed[10] = "first\n"
    del changed[40_000]
    change = read_diff(diff_text("".join(lines).encode(), "".join(changed).encode(), "big.txt"))
    assert change is not None and change.figures == "+1 −2" and not change.left_out


def test_a_line_without_end_is_cut() -> None:
    text = diff_text(b"", b"x" * 1_000_000, "x")
    assert len(text) < 3_000 and "998,000 more characters" in text


def test_several_files_in_one_text_have_their_names() -> None:
    text = "\n".join((diff_text(None, b"--- a\n+++ b\n", "one"), diff_text(None, b"c\n", "two")))
    change = read_diff(text)
    assert change is not None and change.added == 3
    assert [(row.sign, row.text) for row in change.rows] == [
        ("file", "one"), ("+", "--- a"), ("+", "+++ b"), ("file", "two"), ("+", "c"),
    ]  # fmt: skip


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    for each in (text, f"--- a\n+++ b\n{text}", f"--- a\n+++ b\n@@ -1,9 +1,9 @@\n{text}"):
        change = read_diff(each)
        assert change is None or with_marks(change.rows) is not None


@pytest.mark.parametrize("text", ["", "No changes to a.py", "--- a", "creates the folder x"])
def test_other_texts_are_no_diff(text: str) -> None:
    assert read_diff(text) is None
