"""Parts of a text: pages, lines, matches and passages, whatever characters and line ends it has."""

import io
import math

import pytest

from co_tui.session.tools import artifact_parts
from co_tui.session.tools.artifact_parts import PAGE_BYTES, lines_of, matching_lines, page_of, passages_with

TEXT = "".join(f"{n}: žluťoučký kůň 🐴 number {n}\n" for n in range(1, 2_001))


def opened(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode())


@pytest.fixture(params=[1 << 20, 1_000])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifact_parts, "_BLOCK_BYTES", request.param)


def test_all_pages_together_are_the_text() -> None:
    pages = -(-len(TEXT.encode()) // PAGE_BYTES)
    found = [page_of(opened(TEXT), n).partition("\n") for n in range(1, pages + 1)]
    assert [head for head, _, _ in found] == [f"[page {n} of {pages}]" for n in range(1, pages + 1)]
    assert "".join(text for _, _, text in found) == TEXT
    assert page_of(opened(""), 1) == "[page 1 of 1]\n"


@pytest.mark.usefixtures("small_blocks")
def test_lines_continue_where_the_last_ones_ended() -> None:
    line, read = 1, ""
    while line:
        head, _, text = lines_of(opened(TEXT), line).partition("\n")
        assert text.startswith(f"{line}: ")
        read += text if "to the end" in head else f"{text}\n"
        line = 0 if "to the end" in head else int(head.split("line=")[1].split()[0])
    assert read == TEXT


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("text", "line", "there"), [(TEXT, 2_001, 2_000), ("a\nb", 3, 2), ("a\nb\n", 3, 2), ("", 2, 1)]
)
def test_a_line_that_is_not_there_is_refused(text: str, line: int, there: int) -> None:
    with pytest.raises(ValueError, match=f"lines 1 to {there}\\."):
        lines_of(opened(text), line)


def test_a_long_line_continues_on_a_page() -> None:
    text = f"first\n{'x' * 10_000}\nlast\n"
    head = lines_of(opened(text), 2).partition("\n")[0]
    assert head == "[line 2 is long; page=2 continues it]"


@pytest.mark.usefixtures("small_blocks")
def test_matching_lines_have_their_numbers_and_continue() -> None:
    found = matching_lines(opened(TEXT), "NUMBER 19.9$").splitlines()
    assert [each.partition(": ")[0] for each in found] == [f"19{n}9" for n in range(10)]
    many = matching_lines(opened(TEXT), "kůň").splitlines()
    assert len(many) == 41 and many[-1] == "… more lines match; line=41 continues"
    assert matching_lines(opened(TEXT), "kůň", 41).startswith("41: 41: ")
    assert matching_lines(opened("a (b\n"), "(b") == "1: a (b", "not an expression: a text"
    assert matching_lines(opened(TEXT), "nothing") == "No line matches 'nothing'."


@pytest.mark.usefixtures("small_blocks")
def test_passages_have_the_line_of_the_first_word() -> None:
    [found] = [each for each in passages_with(opened(TEXT), ["number 1234", "1234:"], 3, math.inf) if each.words == 2]
    assert found.line == 1_234
    assert list(passages_with(opened(TEXT), ["absent"], 3, math.inf)) == []
