"""Long replies: drawn in pieces while they are written, and read as in the whole, however they arrive."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from co_tui.ui.text import markdown_splitter
from co_tui.ui.text.markdown_pieces import MARKER
from co_tui.ui.text.prose import Prose
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import DARK, palette_of
from tests.support import long_run

LOOK = TextRenderer(palette_of(DARK))
TABLE_ROWS = 700 if long_run.LONG_RUN else 320


def drawn(text: str, width: int = 80, steps: Sequence[int] = ()) -> list[str]:
    """The lines of a reply that arrives at once, or in steps of that many characters."""
    prose = Prose(LOOK, width)
    at = 0
    while steps and at < len(text):
        step = steps[at % len(steps)]
        prose.feed(text[at : at + step])
        at += step
    if not steps:
        prose.feed(text)
    return lines_of(prose)


def lines_of(prose: Prose) -> list[str]:
    return ["".join(segment.text for segment in prose[n]).rstrip() for n in range(len(prose))]


def in_one_piece(text: str, width: int = 80) -> list[str]:
    return [strip.text.rstrip() for strip in LOOK.prose(text, width)]


def words(lines: Sequence[str]) -> list[str]:
    return [word for word in " ".join(lines).split() if word != "▌"]


# As in the issue


def test_a_number_in_a_long_paragraph_begins_no_list() -> None:
    text = " ".join(f"value {n}." for n in range(5_000, 7_000))[: 50_000 if long_run.LONG_RUN else 15_000]
    assert drawn(text) == in_one_piece(text) == drawn(text, steps=[7, 900])
    assert any("5846." in line for line in drawn(text))


@pytest.mark.parametrize("steps", long_run.also_in_a_long_run([[11, 3, 400]], [[], [5_000]]))
def test_a_long_table_stays_a_table_and_repeats_its_header(steps: list[int]) -> None:
    rows = [f"| {n} | name {n} | {'word ' * (n % 7)} |" for n in range(TABLE_ROWS)]
    lines = drawn("\n".join(["| n | name | what |", "|---|---|---|", *rows, "", "After it."]), steps=steps)
    assert [line.split()[0] for line in lines if re.match(r"\d", line)] == [str(n) for n in range(TABLE_ROWS)]
    assert [line.split() for line in lines].count(["n", "name", "what"]) > TABLE_ROWS // 150
    assert lines[-1] == "After it." and not any("|" in line or MARKER in line for line in lines)
    columns = {line.index("name") for line in lines if "name" in line}
    assert len(columns) <= 3, "the columns stay where they are, but for longer numbers"


def test_a_row_of_any_length_stays_in_its_table() -> None:
    long = "cell " * 1_000
    lines = drawn(f"| a | b |\n|---|---|\n| 1 | {long}|\n| 2 | x |\n", steps=[350])
    assert words(lines).count("cell") == 1_000 and not any("|" in line for line in lines)


@pytest.mark.parametrize("steps", long_run.also_in_a_long_run([[13, 1, 700]], [[]]))
def test_deep_lists_keep_their_depth_and_their_numbers(steps: list[int]) -> None:
    text = "".join(
        f"1. step {n}\n   - inner {n}\n     1. deep {n}\n     1. deep again {n}\n        - deepest {n}\n"
        for n in range(60)
    )
    lines = drawn(text, steps=steps)
    assert [line.strip() for line in lines] == [line.strip() for line in in_one_piece(text)]
    numbers = [line.strip().split()[0] for line in lines if " step " in line]
    assert numbers == [f"{n}." for n in range(1, 61)]
    deepest = {len(line) - len(line.lstrip()) for line in lines if "deepest" in line}
    assert len(deepest) <= 3 and min(deepest) > 8


@pytest.mark.parametrize(("levels", "width"), long_run.also_in_a_long_run([(12, 80), (60, 40)], [(30, 40), (120, 40)]))
def test_no_level_of_a_list_is_too_deep_to_be_shown(levels: int, width: int) -> None:
    text = "".join(f"{'  ' * level}- level {level} is here\n" for level in range(levels))
    steps = [29 if levels < 58 else 499]  # a step draws all levels again
    shown = " ".join(words(drawn(text, width, steps)))
    assert all(f"level {level} is here" in shown for level in range(levels))


def test_a_line_without_spaces_is_only_wrapped() -> None:
    text = "QUJD" * (12_500 if long_run.LONG_RUN else 3_000)
    assert drawn(text) == in_one_piece(text) and "".join(drawn(text, steps=[333])) == text


def test_a_long_paragraph_in_an_item_or_a_quotation_stays_in_it() -> None:
    sentences = " ".join(f"Sentence {n} ends 12." for n in range(200))
    for text in (f"- one\n  - two {sentences}\n  - three\n- four\n", f"> {sentences}\n> and more\n"):
        lines = drawn(text, steps=[117, 61])
        assert lines == drawn(text) and words(lines) == words(in_one_piece(text))
        assert {line[:4] for line in lines if "Sentence" in line} <= {"    ", "   •", "▌ Se", "▌ en", "▌ 12"} | {
            line[:4] for line in in_one_piece(text)
        }


def test_a_list_continues_after_code_in_it() -> None:
    text = "1. one\n   - inner\n     ```sh\n     ls\n     ```\n   - inner too\n1. two\n   ```\n   x\n   ```\n1. three\n"
    lines = [line for line in drawn(text, steps=[3]) if line]
    assert lines == [line for line in drawn(text) if line]
    assert [line.rstrip() for line in lines if "ls" not in line and line.strip() != "x"] == [
        " 1. one", "     • inner", "     • inner too", " 2. two", " 3. three",
    ]  # fmt: skip


def test_a_streaming_table_draws_each_row_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn_chars: list[int] = []
    draw = TextRenderer.prose

    def counted(look: TextRenderer, text: str, *more: Any, **named: Any) -> Any:
        drawn_chars.append(len(text))
        return draw(look, text, *more, **named)

    monkeypatch.setattr(TextRenderer, "prose", counted)
    rows = (f"| row {n} | {n * 17} | some words about row {n} here |\n" for n in range(150))
    text = f"| name | value | note |\n|---|---|---|\n{''.join(rows)}"
    drawn(text, 100, [60])
    assert sum(drawn_chars) < 6 * len(text)


@pytest.mark.parametrize("width", long_run.also_in_a_long_run([24], [80]))
def test_odd_rows_of_a_streaming_table_look_as_in_the_whole(width: int) -> None:
    text = "| a | b |\n|---|---|\n| 1 | x |\n| | |\n|\n| 2 | much longer than before, so that it is wrapped |\n| 3"
    text += "\n- item\n"
    prose = Prose(LOOK, width)
    for end, character in enumerate(text, 1):
        prose.feed(character)
        assert lines_of(prose) == drawn(text[:end], width), text[:end]


# Whatever comes

WORDS = st.sampled_from(
    [
        *("alpha", "beta.", "gamma!", "5846.", "12)", "-", "+", "*", "#", ">", "|", "x_y", "end.", "é", "漢字"),
        *("`code`", "**bold**", "*it*", "~~no~~", "[a](https://b.example/c)"),
    ]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)
PROSE = st.lists(SENTENCES, min_size=1, max_size=3).map(lambda lines: "x " + "\nx ".join(lines))
TABLES = st.lists(
    st.tuples(st.integers(0, 99), st.sampled_from(["a", "b c", "`d`", "**e**"])), min_size=1, max_size=60
).map(lambda rows: "\n".join(["| n | what |", "|---|---|", *(f"| {n} | {what} |" for n, what in rows)]))
ITEMS = st.lists(st.tuples(st.integers(0, 3), st.booleans(), SENTENCES), min_size=1, max_size=25)
CODE = st.lists(st.sampled_from(["x = 1", "", "    - y", "| a |", "# no heading"]), max_size=30).map(
    lambda lines: "\n".join(["```py", *lines, "```"])
)


@st.composite
def lists(draw: st.DrawFn) -> str:
    """A list in which each item is at most one level deeper than the one before."""
    lines, before = [], -1
    for level, numbered, text in draw(ITEMS):
        before = min(level, before + 1)
        lines.append(f"{'    ' * before}{'1.  ' if numbered else '-   '}x {text}")
    return "\n".join(lines)


REPLIES = st.lists(st.one_of(PROSE, TABLES, lists(), CODE), min_size=1, max_size=5).map("\n\n".join)
SMALL = 400


@given(REPLIES, st.lists(st.integers(1, 300), min_size=1, max_size=5), st.sampled_from([30, 80, 140]))
@settings(
    max_examples=long_run.drawn(10),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_reply_looks_the_same_however_it_arrives(text: str, steps: list[int], width: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown_splitter, "LONG_BLOCK_CHARS", SMALL)
        assert drawn(text, width, steps) == drawn(text, width)


@given(st.one_of(PROSE, lists()))
@settings(
    max_examples=long_run.drawn(10),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_no_word_is_lost_or_read_otherwise_in_pieces(text: str) -> None:
    whole = in_one_piece(text, 400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown_splitter, "LONG_BLOCK_CHARS", SMALL)
        assert words(drawn(text, 400, [50])) == words(whole)


@given(TABLES)
@settings(max_examples=long_run.drawn(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_row_is_lost_in_pieces(text: str) -> None:
    def rows(lines: Sequence[str]) -> list[list[str]]:
        return [line.split() for line in lines if re.match(r"\d", line)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown_splitter, "LONG_BLOCK_CHARS", SMALL)
        assert rows(drawn(text, steps=[40])) == rows(in_one_piece(text))
