"""The terminal before the app starts: keep what is typed, and query the background colour."""

import contextlib
import os
import re
import select
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

BACKGROUND_QUERY: Final = "\x1b]11;?\x1b\\"
COLOUR_REPLY: Final = r"\x1b\]11;([^\x07\x1b]{0,100})(?:\x07|\x1b\\)"
"""A terminal's reply to the background query, ended by BEL or ST."""
_COLOUR: Final = r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})"
_HEX: Final = r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})"
_LIGHT_ANSI: Final = ("7", "15")


class EarlyInput(NamedTuple):
    """Input typed before the app, and the shell's terminal attributes."""

    typed: str = ""
    attributes: list[Any] | None = None


@contextlib.contextmanager
def unbuffered() -> Iterator[EarlyInput]:
    """Read keys unbuffered and without echo; restores the terminal on exit.

    Keeps what was typed before: switching with a flush, as `tty` does, would drop it.
    """
    before = _attributes()
    if before is None:
        yield EarlyInput()
        return
    import termios

    terminal = sys.stdin.fileno()
    changed = list(before)
    changed[0] &= ~termios.ICRNL  # Enter and Ctrl+J stay two keys
    changed[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, changed)
    # Until now the terminal translated Enter to a newline.
    typed = _pending(terminal).replace(b"\n", b"\r").decode(errors="ignore")
    try:
        yield EarlyInput(typed, before)
    finally:
        with contextlib.suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def ask_for_background() -> None:
    """Send the query without waiting: a reply arrives among the keys, if at all."""
    if sys.stdout.isatty() and _attributes() is not None:
        os.write(sys.stdout.fileno(), BACKGROUND_QUERY.encode())


def typed_by_now() -> str:
    """Pending input, replies included; does not wait."""
    if _attributes() is None:
        return ""
    return _pending(sys.stdin.fileno()).decode(errors="ignore")


def _pending(terminal: int) -> bytes:
    return os.read(terminal, 4096) if select.select([terminal], [], [], 0)[0] else b""


def has_dark_background(typed: str, colorfgbg: str = "") -> bool | None:
    """Whether the background is dark, by the terminal's reply, else by $COLORFGBG; None when unknown."""
    found = re.search(COLOUR_REPLY, typed) if "\x1b" in typed else None
    dark = is_dark_colour(found[1]) if found is not None else None
    if dark is None and colorfgbg:
        return colorfgbg.rpartition(";")[2] not in _LIGHT_ANSI
    return dark


def is_dark_colour(colour: str) -> bool | None:
    """Whether a colour in a terminal's notation is dark; None if it is not a colour."""
    found = re.match(_COLOUR, colour) or re.match(_HEX, colour)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def _attributes() -> list[Any] | None:
    """The terminal's attributes; None without a terminal."""
    if not sys.stdin.isatty():
        return None
    import termios

    try:
        return termios.tcgetattr(sys.stdin.fileno())
    except termios.error:
        return None
