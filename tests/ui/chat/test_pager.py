"""Long texts: searched slice by slice, with the same result as at once; cut to the width without measuring all."""

import re
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from co_tui.ui.text import find_in_text, long_text
from co_tui.ui.text.find_in_text import TextSearch
from co_tui.ui.text.long_text import MEASURED_AT_ONCE_CHARS, Pager
from co_tui.ui.text.row_cutting import LONGEST_LINE_CHARS, line_pieces, row_of_column, row_text, rows_in
from tests.support.screen import until
from tests.support.waiting import PATIENCE_S


def looked_through(text: str, needle: str, start: int = 0) -> TextSearch:
    search = TextSearch(text)
    search.set_needle(needle)
    for _ in search.search_from(start):
        pass
    return search


@pytest.fixture(scope="module", autouse=True)
def _small_slices() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find_in_text, "SLICE_CHARS", 7)
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
        assert search.found is None and search.match_number == 0 and search.step(way) is None
        return
    first = next((n for n, at in enumerate(there) if at >= start), 0)
    for step in range(len(there) + 1):
        expected = (first + way * step) % len(there)
        assert search.found is not None
        assert (search.found.at, search.match_number) == (there[expected], expected + 1)
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


LINES = st.text(st.sampled_from("ab é日한👍❤\ufe0f\u200d\u0301\u0947म "), max_size=80)


@given(LINES, st.integers(2, 30))
def test_rows_hold_all_of_a_line_and_are_never_too_wide(line: str, width: int) -> None:
    rows = [row_text(line, row, width) for row in range(rows_in(line, width))]
    assert "".join(text for _, text in rows) == line
    for row, (begin, text) in enumerate(rows):
        assert cell_len(text.removesuffix(" ")) <= width and line[begin : begin + len(text)] == text
        assert not text or row_of_column(line, begin, width) == row == row_of_column(line, begin + len(text) - 1, width)


def test_rows_of_wide_letters_are_full() -> None:
    line = "日本語 and more 日本語 नमस्ते दुनिया"
    assert [row_text(line, row, 9)[1] for row in range(rows_in(line, 9))] == [
        "日本語 an", "d more 日", "本語 नमस्ते", " दुनिया",
    ]  # fmt: skip


@pytest.mark.parametrize("emoji", ["👨‍👩‍👧‍👦", "❤️", "👍"])
@pytest.mark.parametrize("width", [5, 8, 11, 17])
def test_no_row_parts_an_emoji(emoji: str, width: int) -> None:
    line = emoji * 40
    rows = [row_text(line, row, width)[1] for row in range(rows_in(line, width))]
    assert "".join(rows) == line and all(row.replace(emoji, "") == "" and cell_len(row) <= width for row in rows)


async def test_a_long_text_with_wide_letters_can_be_read_while_it_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()

    def rows_in_when_told(line: str, width: int) -> int:
        assert goes_on.wait(PATIENCE_S), "what is read must not wait for it"
        return rows_in(line, width)

    monkeypatch.setattr(long_text, "rows_in", rows_in_when_told)
    lines = [f"{number} {'日本語 abc ' * 30}" for number in range(MEASURED_AT_ONCE_CHARS // 200)]
    text = Pager("\n".join(lines))
    async with PagerApp(text).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: text.render_line(0).text.startswith("0 日本語 abc"))
        text.focus()
        await pilot.pause()
        await pilot.press("pagedown")
        await pilot.wait_for_scheduled_animations()
        top, estimated = text.top, text.virtual_size.height
        assert text.scroll_y > 0
        goes_on.set()
        await until(pilot, lambda: text.virtual_size.height < estimated)
        assert text.virtual_size.height == sum(rows_in(line, text.virtual_size.width) for line in lines)
        assert text.top == top, "one goes on reading where one was"
        await pilot.press("end")
        await pilot.wait_for_scheduled_animations()
        assert "abc" in text.render_line(text.size.height - 1).text


class PagerApp(App[None]):
    def __init__(self, pager: Pager) -> None:
        super().__init__()
        self._pager = pager

    def compose(self) -> ComposeResult:
        yield self._pager


def test_words_stay_whole() -> None:
    line = "eins zwölf drei"
    assert [row_text(line, row, 10)[1] for row in range(rows_in(line, 10))] == ["eins zwölf ", "drei"]
