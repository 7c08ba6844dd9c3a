"""What a program printed is read as a terminal shows it in the end."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui import terminal_text
from co_tui.terminal_text import Coloured, Look, printed
from tests.support.long_run import drawn

RED, BOLD_GREEN = Look("red"), Look("green", frozenset({"bold"}))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("10%\r50%\r100%", "100%"),
        ("10%\r100%\ndone\r\n", "100%\ndone\n"),
        ("downloading 10%\r\x1b[Kdone", "done"),
        ("long line\rlost", "lost line"),
        ("ab\b\bX", "Xb"),
        ("\b\bstart", "start"),
        ("wrong\x1b[2K\rright", "right"),
        ("abc\x1b[1K", ""),
        ("abc\x1b[2Kd", "   d"),
        ("abc\x1b[2K\b\bd\x1b[K", " d"),
        ("abcdef\b\b\x1b[1K\rx", "x   ef"),
        ("abc\x1b[2K\x1b[1K\r\x1b[Kde", "de"),
        ("one\x1b[2Jtwo \x1b]0;title\x07", "one\x1b[2Jtwo \x1b]0;title\x07"),
        ("\x1b[31mred\x1b[0m \x1b[", "red \x1b["),
        ("\x1b[?25l10%\r100%\x1b[?25h", "100%\x1b[?25h"),
    ],
)
def test_only_the_last_state_of_a_line_stays(said: str, shown: str) -> None:
    assert printed(said).text == shown


@pytest.mark.parametrize(
    ("said", "looks"),
    [
        ("\x1b[31mred\x1b[m no", [Coloured(0, 3, RED)]),
        ("\x1b[31ma\nb\x1b[39mc", [Coloured(0, 1, RED), Coloured(2, 3, RED)]),
        ("\x1b[1;32mok\x1b[0m", [Coloured(0, 2, BOLD_GREEN)]),
        ("\x1b[31mold\r\x1b[0mnew", []),
        ("new \x1b[31mtail\r\x1b[0mNEW", [Coloured(4, 8, RED)]),
        ("\x1b[38;5;208mx\x1b[38;2;1;2;3my", [Coloured(0, 1, Look("#ff8700")), Coloured(1, 2, Look("#010203"))]),
        ("\x1b[8;41;30mhidden", [Coloured(0, 6, Look("black"))]),
        ("\x1b[38;5mcut \x1b[999999mx", []),
    ],
)
def test_colours_are_known_and_nothing_is_concealed(said: str, looks: list[Coloured]) -> None:
    assert list(printed(said).colours) == looks


@pytest.mark.parametrize("erase", ["\x1b[2Ky", "\x1b[1K"])
def test_many_erasures_of_a_long_line_come_to_an_end(monkeypatch: pytest.MonkeyPatch, erase: str) -> None:
    """Erasing the whole line each time would take longer than a test may run."""
    monkeypatch.setattr(terminal_text, "LONGEST_LINE", 10_000_000)
    assert printed("x" * 300_000 + erase * 150_000 + "\x1b[2K\rdone").text == "done"


PIECES = st.sampled_from(("a", "bc ", "\r", "\b", "\n", "\r\n", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[31m", "\x1b[0m"))


@settings(max_examples=drawn(60), deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_whatever_is_printed(said: str) -> None:
    shown = printed(said)
    assert not set(shown.text) & set("\r\b\x1b") and printed(shown.text) == (shown.text, ())
    assert printed(re.sub(r"\x1b\[\d+m", "", said)).text.split() == shown.text.split(), "a colour takes no room"
    places = [0, *(place for each in shown.colours for place in each[:2]), len(shown.text)]
    assert places == sorted(places)
