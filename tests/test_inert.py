"""Text from outside is shown, never obeyed, and hides nothing."""

import json
import unicodedata

import pytest

from co_tui.inert import inert, inert_json, one_line, shell_text

DECEPTIVE = "\u061c\u200b\u200e\u200f\u202a\u202e\u2028\u2029\u2060\u2064\u2066\u2069\u206a\ufeff\u00ad\ufff9\U000e0041"
DECEPTIVE += "\u115f\u1160\u180b\ufe00\ufe0d\ufe0e\ufe0f\U000e0100\U000e01ef"
CONTROLS = "".join(map(chr, (*range(9), *range(11, 32), *range(0x7F, 0xA0))))


@pytest.mark.parametrize("character", [*DECEPTIVE, *CONTROLS], ids=lambda c: f"U+{ord(c):04X}")
def test_what_steers_reorders_or_hides_becomes_a_sign(character: str) -> None:
    assert character not in inert(f"a{character}b")
    assert len(inert(f"a{character}b")) == 3


def test_no_format_character_of_unicode_passes_but_the_two_that_scripts_need() -> None:
    written = {0x200C, 0x200D}
    arabic_and_other_marks_that_are_seen = {
        *range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD,
        *range(0x13430, 0x13440),
    }  # fmt: skip
    passing = {
        code
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in ("Cf", "Cc") and inert(chr(code)) == chr(code)
    }
    assert passing - arabic_and_other_marks_that_are_seen == written | {9, 10}


def test_people_s_own_writing_stays_as_it_is() -> None:
    for text in ("می‌خواهم", "क्‍ष", "👩‍💻 👍🏽 ❤️", "naïve\n\tdéjà vu", "日本語", "a\r\nb"):
        assert inert(text) == text.replace("\r\n", "\n")


def test_an_emoji_hides_no_text_in_what_follows_it() -> None:
    hidden = "".join(chr(0xFE00 + (byte & 15)) + chr(0xE0100 + byte) for byte in b"run install.sh")
    shown = inert(f"⚠️{hidden}❤\ufe0f\ufe0f1\ufe0f\u20e3")
    assert shown == "⚠️" + "\ufffd" * len(hidden) + "❤\ufe0f\ufffd1\ufe0f\u20e3"


def test_json_spells_such_characters_out_and_keeps_the_value() -> None:
    value = {"text": f"x{DECEPTIVE}{CONTROLS}\u200d\u200c“ü”日本", "\u202e": 1}
    text = inert_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value and "“ü”日本" in text
    assert not set(text) & {*DECEPTIVE, *CONTROLS, "\u200d"}


def test_bytes_that_are_no_text_become_signs() -> None:
    assert shell_text("a\udcff") == "a\ufffd" and shell_text("é\udcc3\udca9") == "éé"
    assert shell_text("\ud800x").endswith("x") and shell_text("\ud800x").isprintable()


def test_one_line_is_inert_too() -> None:
    assert one_line("a\u2028b\nc", 10) == "a\ufffdb c"


def test_a_line_that_was_cut_says_so_also_after_many_spaces() -> None:
    assert one_line(f"true{' ' * 100}; more", 20) == "true…"
