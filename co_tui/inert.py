"""Make untrusted text safe to show: control characters become visible instead of taking effect."""

import re
from functools import cache

from co_tui.late_pattern import late_pattern

_JOINERS = (0x200C, 0x200D)
"""Invisible, but needed for Persian, Indic scripts and joined emoji: kept."""
_DECEPTIVE = (
    # Bidirectional controls, which reorder text.
    0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A),
    # Line ends that only some programs recognise.
    0x2028, 0x2029,
    # Invisible characters, which hide text or make two different words look the same.
    0x00AD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x200B, *range(0x2060, 0x2066), *range(0x206A, 0x2070), 0x3164,
    0xFEFF, 0xFFA0, *range(0xFFF9, 0xFFFC), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B),
    # Variation selectors, of which any number may follow a character: enough to hide a text in.
    *range(0x180B, 0x1810), *range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0),
    # Tags, an invisible alphabet. Three regional flags need them and are shown as a black flag.
    *range(0xE0000, 0xE0080),
)  # fmt: skip
_STYLES = ("\ufe0e", "\ufe0f")
"""Show the symbol before them as text or as an emoji; kept there, once."""
_STRAY_STYLE = late_pattern(
    "(?<![#*0-9©®\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23fa\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55\u3030"
    "\u303d\u3297\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
)

_VISIBLE = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    **dict.fromkeys(_DECEPTIVE, 0xFFFD),
    # Lone surrogates cannot be written to a terminal.
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}


def inert(text: str) -> str:
    """Replace every character that controls, reorders or hides by a visible symbol; keep newlines and tabs."""
    text = text.replace("\r\n", "\n").translate(_VISIBLE)
    return _STRAY_STYLE.sub("\ufffd", text) if any(each in text for each in _STYLES) else text


def inert_json(text: str) -> str:
    """JSON of the same value with such characters escaped.

    They can only occur inside strings, so the JSON stays valid.
    """
    if text.isascii() and "\x7f" not in text:
        return text  # usually an image of megabytes
    return _risky().sub(lambda found: "".join(map(_escape, found[0])), text)


@cache
def _risky() -> re.Pattern[str]:
    return re.compile(
        "[" + "".join(map(chr, (0x7F, *range(0x80, 0xA0), *_DECEPTIVE, *_JOINERS, *map(ord, _STYLES)))) + "]+"
    )


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, with `…` when it is cut."""
    flat = " ".join(inert(text[: limit * 4]).split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1] + "…"


def shell_text(text: str) -> str:
    """Replace bytes that are not UTF-8, which a shell can pass in and nothing accepts."""
    try:
        return text.encode(errors="surrogateescape").decode(errors="replace")
    except UnicodeEncodeError:  # surrogates that encode no byte
        return text.encode(errors="replace").decode()
