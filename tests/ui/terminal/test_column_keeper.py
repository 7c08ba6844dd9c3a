"""Characters whose width terminals disagree about: what follows them stays in its column."""

import re
import unicodedata
from collections.abc import Callable

import pytest
from rich.cells import cell_len

from co_tui.ui.terminal.column_keeper import with_fixed_columns

ODD = ["👨‍👩‍👧‍👦", "👩🏽‍💻", "🏳️‍🌈", "🇩🇪", "❤️", "1️⃣", "क्षि", "กำ", "a\u00adb", "x\u200by", "👍🏽"]


def column_of_bar(drawn: str, width_of: Callable[[str], int]) -> int:
    """Where a terminal that measures each character so draws the bar."""
    column = 0
    for piece in re.finditer(r"\x1b\[\d+;(\d+)H|\x1b\[(\d+)G|\x1b\[[0-9;]*m|(.)", drawn):
        if piece[3] == "|":
            break
        column = int(piece[1] or piece[2]) if piece[1] or piece[2] else column + width_of(piece[3] or "")
    return column


def each_by_itself(character: str) -> int:
    return cell_len(character)


def marks_take_cells(character: str) -> int:
    return 1 if character and unicodedata.category(character)[0] in "MC" else cell_len(character)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("width_of", [each_by_itself, marks_take_cells])
def test_what_follows_stays_in_its_column(odd: str, width_of: Callable[[str], int]) -> None:
    text = f"日本 {odd} and {odd}{odd} "
    drawn = with_fixed_columns(f"\x1b[7;5H\x1b[31m{text}\x1b[0m|")
    assert column_of_bar(drawn, width_of) == 5 + cell_len(text)
    assert re.sub(r"\x1b\[\d+G| ", "", drawn) == f"\x1b[7;5H\x1b[31m{text}\x1b[0m|".replace(" ", ""), "nothing is lost"


@pytest.mark.parametrize(
    "data", ["\x1b[1;1H日本語 plain é ─│█▀\x1b[0m", "👍🏽 nobody knows where", "\x1b]0;👍🏽\x07", "\x1b(B👍🏽"]
)
def test_all_else_is_written_as_it_is(data: str) -> None:
    assert with_fixed_columns(data) == data
