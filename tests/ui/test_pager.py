"""Long texts: searched slice by slice, with the same result as at once; cut to the width without measuring all."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from co_tui.ui.widgets import text_search
from co_tui.ui.widgets.row_cutting import LONGEST_LINE_CHARS, line_pieces, place_of_row, row_of_place, rows_in
from co_tui.ui.widgets.text_search import TextSearch


def looked_through(text: str, needle: str, start: int = 0) -> TextSearch:
    search = TextSearch(text)
    search.set_needle(needle)
    for _ in search.look_through(start):
        pass
    return search


@pytest.fixture(scope="module", autouse=True)
def _small_slices() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_search, "SLICE_CHARS", 7)
        yield


WORDS = st.text(st.sampled_from("abİX日\n "), max_size=60)


@given(WORDS, st.sampled_from(["x", "b日", "a b", "i"]), st.integers(0, 60), st.sampled_from([1, -1]))
def test_a_search_in_slices_finds_what_is_there_and_goes_around_its_ends(
    text: str, needle: str, start: int, way: int
) -> None:
    there = [match.start() for match in re.finditer(re.escape(needle), text.replace("İ", "i").lower())]
    search = looked_through(text, needle.upper(), start)
    assert search.is_done and search.total == len(there)
    if not there:
        assert search.found is None and search.position == 0 and search.step(way) is None
        return
    first = next((n for n, at in enumerate(there) if at >= start), 0)
    for step in range(len(there) + 1):
        expected = (first + way * step) % len(there)
        assert search.found is not None
        assert (search.found.at, search.position) == (there[expected], expected + 1)
        search.step(way)


def test_a_match_that_a_row_parts_is_marked_in_both_rows() -> None:
    search = looked_through("aaaneedlebbb", "needle")
    assert list(search.matches_between(0, 6)) == [(3, 9)] == list(search.matches_between(6, 12))


def test_a_long_line_of_wide_letters_is_cut_where_no_character_is_parted() -> None:
    family = "👨‍👩‍👧‍👦"
    text = f"first\n{family * 3_000}\nlast"
    pieces = list(line_pieces(text))
    assert "".join(line for _, line in pieces) == text.replace("\n", "")
    assert all(text[start : start + len(line)] == line and len(line) <= LONGEST_LINE_CHARS for start, line in pieces)
    assert all(line.startswith(family) and line.endswith(family) for _, line in pieces[1:-1])


LINES = st.text(st.sampled_from("ab é日👍\u0301 "), max_size=80)


@given(LINES, st.integers(2, 30))
def test_rows_hold_all_of_a_line_and_are_never_too_wide(line: str, width: int) -> None:
    rows = [place_of_row(line, row, width) for row in range(rows_in(line, width))]
    assert "".join(text for _, text in rows) == line
    for row, (begin, text) in enumerate(rows):
        assert cell_len(text.removesuffix(" ")) <= width and line[begin : begin + len(text)] == text
        assert not text or row_of_place(line, begin, width) == row == row_of_place(line, begin + len(text) - 1, width)


def test_words_stay_whole() -> None:
    line = "eins zwölf drei"
    assert [place_of_row(line, row, 10)[1] for row in range(rows_in(line, 10))] == ["eins zwölf ", "drei"]
