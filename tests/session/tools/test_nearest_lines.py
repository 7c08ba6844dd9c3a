"""A text that is not found: the model is shown the lines that were probably meant."""

from itertools import product

import pytest

from co_tui.session.tools.folder.nearest_lines import LINE_CHARS, MOST_LINES, nearest_lines
from tests.support.long_run import LONG_RUN

CODE = """\
def total(items):
    result = 0
    for item in items:
        result += item.price * item.amount
    return result


def average(items):
    return total(items) / len(items)
"""
ONLY_SPACE = "from it only in white space"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("for item in items:\n    result += item.price * item.amount\n", f"Lines 3 to 4 differ {ONLY_SPACE}"),
        ("\tfor item in items:\n\t\tresult += item.price * item.amount", f"Lines 3 to 4 differ {ONLY_SPACE}"),
        ("    return result\n\ndef average(items):", f"Lines 5 to 8 differ {ONLY_SPACE}"),
        ("def total(items):\r\n    result = 0\r\n", f"Lines 1 to 2 differ {ONLY_SPACE}"),
        ("result  = 0", f"Line 2 differs {ONLY_SPACE}"),
        ("result\n\ndef average", f"Lines 5 to 8 differ {ONLY_SPACE}"),
        ("        result += item.price * item.count\n    return result", "The nearest lines are 4 to 5"),
        ("    return totals(items) / len(item)", "The nearest line is 9"),
        ("x = 1\ndef average(items):\n    return 1", "The nearest lines are 7 to 9"),
    ],
)
def test_the_nearest_lines_are_named_and_shown(wanted: str, said: str) -> None:
    assert wanted not in CODE
    head, _, shown = nearest_lines(CODE, wanted).partition(":\n")
    assert head == said
    for line in shown.split("\n"):
        number, _, text = line.partition(": ")
        assert CODE.split("\n")[int(number) - 1] == text


@pytest.mark.parametrize(
    ("text", "wanted"), [(CODE, "import antigravity"), ("", "x"), ("\n \n", "x"), (CODE, "\n\n\n\n")]
)
def test_where_nothing_is_near_nothing_is_said(text: str, wanted: str) -> None:
    assert nearest_lines(text, wanted) == ""


def test_of_many_lines_those_around_the_first_difference_are_shown() -> None:
    lines = [f"value_{n} = {n}" for n in range(1_000)]
    wanted = [*lines[100:140], "value_140 = 0", *lines[141:160]]
    head, *shown = nearest_lines("\n".join(lines), "\n".join(wanted)).split("\n")
    assert head == "The nearest lines are 101 to 160:" and len(shown) == MOST_LINES
    assert shown[0] == "139: value_138 = 138" and shown[2] == "141: value_140 = 140"


LARGE = [
    "\n".join(f"    self.assertEqual(result[{n}], expected[{n}])" for n in range(25_000)),
    "    pass\n" * 120_000,
    "word " * 250_000,
    "x" * 1_000_000,
]
WANTED = ["    self.assertEqual(results[7], expect[7])", "pass\n\tpass\npast", "wort", "x" * 5_000 + "y"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [*product(LARGE, WANTED)] if LONG_RUN else [*zip(LARGE, WANTED, strict=True)][1::2],
    ids=lambda value: f"{len(value)} characters",
)
def test_of_a_large_file_little_is_shown(text: str, wanted: str) -> None:
    """Comparing all lines letter by letter would take longer than a test may."""
    assert len(nearest_lines(text, wanted)) < 2 * MOST_LINES * LINE_CHARS
