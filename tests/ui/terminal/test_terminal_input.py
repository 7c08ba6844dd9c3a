"""What a terminal sends: keys arrive whatever else comes between them, and however the bytes are split."""

import time
from collections.abc import Iterable
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key, Paste
from textual.message import Message

from co_tui.ui.terminal import driver, paste_reader
from co_tui.ui.terminal.driver import QuietParser
from co_tui.ui.terminal.paste_reader import PASTE_BEGINS, PASTE_ENDS, PasteArriving


class Clock:
    """Time as the parser sees it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        for module in (driver, paste_reader):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def fed(parser: QuietParser, *pieces: str) -> list[Message]:
    """As the driver does it: each read is followed by a tick."""
    return [message for piece in pieces for message in (*parser.feed(piece), *parser.tick())]


def shown(messages: Iterable[Message]) -> str:
    """Keys as their characters, pastes in angle brackets."""
    return "".join(
        message.character or f"({message.key})" if isinstance(message, Key) else f"<{message.text}>"
        for message in messages
        if isinstance(message, Key | Paste)
    )


def test_a_paste_without_an_end_is_pasted_after_a_silence_and_keys_work_again(clock: Clock) -> None:
    parser = QuietParser()
    assert shown(fed(parser, f"a{PASTE_BEGINS}one\ntw", "o")) == "a"
    clock.now += 0.9
    assert shown(parser.tick()) == "", "a slow line is waited for"
    clock.now += 0.2
    assert shown(parser.tick()) == "<one\ntwo>"
    assert shown(fed(parser, "x", "\r", "\x1b[A")) == "x\r(up)"
    assert shown(fed(parser, f"{PASTE_BEGINS}new{PASTE_ENDS}y")) == "<new>y"


def test_a_marker_that_is_split_by_the_silence_is_no_text_and_no_key(clock: Clock) -> None:
    parser = QuietParser()
    fed(parser, f"{PASTE_BEGINS}text\x1b[20")
    clock.now += 2
    assert shown(parser.tick()) == "<text>"
    assert shown(fed(parser, "1~", "x")) == "x"


def test_the_late_rest_of_a_paste_is_never_typed(clock: Clock) -> None:
    """Its line ends would send it, and a line that starts with `!` would be run."""
    parser = QuietParser()
    fed(parser, f"{PASTE_BEGINS}one\n")
    clock.now += 2
    assert shown(parser.tick()) == "<one\n>"
    assert shown(fed(parser, "typed")) == "typed", "a few characters are keys"
    rest = "!echo all of it\n" * 10
    assert shown(fed(parser, rest, f"end{PASTE_ENDS}x")) == f"<{rest}end>x"
    assert shown(fed(parser, "y" * 50)) == "y" * 50, "its end came: what follows is typed"
    fed(parser, f"{PASTE_BEGINS}two\n")
    clock.now += 2
    assert shown(parser.tick()) == "<two\n>"
    clock.now += 60
    assert shown(fed(parser, "y" * 50)) == "y" * 50, "the end is not awaited for ever"


def test_a_paste_is_bounded_and_says_what_it_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paste_reader, "MAX_CHARS", 10_000)
    messages = fed(QuietParser(), PASTE_BEGINS, *["x" * 4_000] * 5, PASTE_ENDS, "y")
    assert shown(messages) == f"<{'x' * 10_000}>y"
    assert [each.dropped_chars for each in messages if isinstance(each, PasteArriving)][-1] == 10_000


REPLIES = {
    "clipboard": "\x1b]52;c;" + "QUJD" * 25_000,
    "colour": "\x1b]11;" + "f" * 100_000,
    "colour, odd": "\x1b]11;rgb:" + "x" * 100_000,
    "long number": "\x1b]" + "1" * 100_000,
    "title": "\x1b]l" + "title" * 20_000,
    "device control": "\x1bP>|" + "name" * 25_000,
    "device control, long number": "\x1bP" + "1;" * 50_000,
    "graphics": "\x1b_Gi=31;" + "OK" * 50_000,
}


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("end", ["\x07", "\x1b\\"])
def test_a_reply_of_any_length_is_dropped_and_keys_after_it_work_at_once(name: str, end: str) -> None:
    sent = f"a{REPLIES[name]}{end}b"
    pieces = [sent[at : at + 4096] for at in range(0, len(sent), 4096)]
    assert shown(fed(QuietParser(), *pieces)) == "ab"


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_without_an_end_gives_the_keys_back(clock: Clock, name: str) -> None:
    parser = QuietParser()
    sent = f"a{REPLIES[name]}"
    assert shown(fed(parser, *[sent[at : at + 4096] for at in range(0, len(sent), 4096)])) == "a"
    fed(parser, *"lost")
    clock.now += 1.1
    assert shown((*parser.tick(), *fed(parser, *"found\r"))) == "found\r", "typing does not prolong it"
    fed(parser, sent[1:5000])
    assert shown(fed(parser, "\x1b[A", "x")) == "(up)x", "nor does it swallow a sequence"


def test_a_colour_that_stops_half_way_does_not_swallow_keys(clock: Clock) -> None:
    parser = QuietParser()
    assert shown(fed(parser, "a\x1b]11;rgb:ff")) == "a"
    clock.now += 3
    assert shown(fed(parser, *"hello")) == "hello"
    assert shown(fed(parser, "\x1b]11;rgb:ff")) == ""
    clock.now += 11
    assert shown(parser.tick()) == "", "it is no text"


@pytest.mark.usefixtures("clock")
def test_a_control_sequence_too_long_for_a_key_is_dropped() -> None:
    for parameters in ("1" * 100_000, "?" + "1;" * 50_000):
        sent = f"a\x1b[{parameters}ub"
        assert shown(fed(QuietParser(), sent)) == "ab"
        assert shown(fed(QuietParser(), *[sent[at : at + 7] for at in range(0, len(sent), 7)])) == "ab"


plain = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12)
payload = st.integers(0, 300).map(lambda length: "Zm9v" * length)
ITEMS = st.one_of(
    plain.map(lambda text: (text, text)),
    st.sampled_from([("\x1b[A", "(up)"), ("\x1b[1;5C", "(ctrl+right)"), ("\x1b[13;3u", "(alt+enter)"), ("\r", "\r")]),
    st.text(st.sampled_from("ab\n\r \x1b[2~]é漢;"), max_size=40)
    .filter(lambda text: PASTE_ENDS not in text and not text.endswith(("\x1b", "\x1b[", "\x1b[2")))
    .map(lambda text: (f"{PASTE_BEGINS}{text}{PASTE_ENDS}", f"<{text}>")),
    st.tuples(
        st.sampled_from(["\x1b]52;c;", "\x1b]4;1;", "\x1b]1337;", "\x1bP1$r", "\x1bP>|", "\x1b_Gi=1;"]),
        payload,
        st.sampled_from(["\x07", "\x1b\\"]),
    ).map(lambda parts: ("".join(parts), "")),
)


@given(st.lists(ITEMS, max_size=8), st.data())
def test_keys_pastes_and_replies_are_distinguished_however_they_are_split(
    items: list[tuple[str, str]], data: st.DataObject
) -> None:
    sent, expected = "".join(item[0] for item in items), "".join(item[1] for item in items)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(sent)), max_size=20)))
    pieces = [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True) if start < end]
    assert shown(fed(QuietParser(), *pieces)) == expected
