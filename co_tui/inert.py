"""Untrusted text made harmless: what a model, a tool or a file says is shown, never obeyed."""

import re
from functools import cache

_JOINERS = (0x200C, 0x200D)
"""Invisible, but Persian, the Indic scripts and joined emoji cannot be written without them: they stay."""
_DECEPTIVE = (
    # Marks that reorder what is read.
    0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A),
    # Line ends that only some programs see.
    0x2028, 0x2029,
    # Characters nobody sees: they hide text, or make two different words look the same.
    0x00AD, 0x034F, 0x17B4, 0x17B5, 0x180E, 0x200B, *range(0x2060, 0x2066), *range(0x206A, 0x2070), 0x3164, 0xFEFF,
    0xFFA0, *range(0xFFF9, 0xFFFC), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B),
    # Tags: a second, invisible alphabet. Three regional flags need it, and are shown as a black flag.
    *range(0xE0000, 0xE0080),
)  # fmt: skip

_VISIBLE = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    **dict.fromkeys(_DECEPTIVE, 0xFFFD),
    # Lone surrogates cannot be written to a terminal.
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}


def inert(text: str) -> str:
    """The text with every character that steers, reorders or hides turned into a visible sign.

    Newlines and tabs stay.
    """
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def inert_json(text: str) -> str:
    """JSON of the same value in which such characters are spelled as escapes.

    They can only stand inside of its strings, so that nothing of the JSON itself is touched.
    """
    if text.isascii() and "\x7f" not in text:
        return text  # megabytes of an image, mostly
    return _risky().sub(lambda found: "".join(map(_escape, found[0])), text)


@cache
def _risky() -> re.Pattern[str]:
    return re.compile("[" + "".join(map(chr, (0x7F, *range(0x80, 0xA0), *_DECEPTIVE, *_JOINERS))) + "]+")


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def one_line(text: str, limit: int) -> str:
    """The text on one line, at most `limit` characters, with a sign when there is more."""
    flat = " ".join(inert(text[: limit * 4]).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def shell_text(text: str) -> str:
    """The text with a sign for bytes that are no text, as a shell can hand them in: nothing takes those."""
    try:
        return text.encode(errors="surrogateescape").decode(errors="replace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return text.encode(errors="replace").decode()
