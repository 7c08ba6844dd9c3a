"""The terminal before the app takes it: what is typed is kept, and its background colour is asked for."""

import contextlib
import os
import re
import select
import sys
import time
from collections.abc import Iterator
from typing import Any

TIMEOUT_S = 0.15
COLOUR_REPLY = r"\x1b\]11;[^\x07\x1b]*(?:\x07|\x1b\\)"
"""A terminal's answer to the question for its background, ended by BEL or ST."""
ATTRIBUTES_REPLY = r"\x1b\[\?[0-9;]*c"
REPLIES = re.compile(f"{COLOUR_REPLY}|{ATTRIBUTES_REPLY}".encode())
_LAST_REPLY = re.compile(ATTRIBUTES_REPLY.encode())
_COLOUR = re.compile(rb"\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)")


@contextlib.contextmanager
def unbuffered() -> Iterator[str]:
    """Take keys as they come, without echo, from now on; the terminal is as it was when this ends.

    Gives what was typed before: switching with a flush, as `tty` does, would drop it.
    """
    before = _attributes()
    if before is None:
        yield ""
        return
    import termios

    terminal = sys.stdin.fileno()
    changed = list(before)
    changed[0] &= ~termios.ICRNL  # Enter and Ctrl+J stay two keys
    changed[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, changed)
    # A line's end was Enter, which the terminal translated while it still did so.
    typed = _pending(terminal).replace(b"\n", b"\r").decode(errors="ignore")
    try:
        yield typed
    finally:
        with contextlib.suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def _pending(terminal: int) -> bytes:
    return os.read(terminal, 4096) if select.select([terminal], [], [], 0)[0] else b""


def look_at(colorfgbg: str = "") -> tuple[bool, str]:
    """Whether the background is dark (unless the terminal says otherwise, it is), and what was typed meanwhile."""
    if colorfgbg:
        return colorfgbg.rpartition(";")[2] not in ("7", "15"), ""
    answer = _ask() if _attributes() is not None and sys.stdout.isatty() else b""
    typed = REPLIES.sub(b"", answer).decode(errors="ignore")
    found = _COLOUR.search(answer)
    if not found:
        return True, typed
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5), typed


def _attributes() -> list[Any] | None:
    """How the terminal is set; None when there is none."""
    if os.name != "posix" or not sys.stdin.isatty():
        return None
    import termios

    try:
        return termios.tcgetattr(sys.stdin.fileno())
    except termios.error:
        return None


def _ask() -> bytes:
    """The reply to a colour query. A second query that every terminal answers marks its end,
    so that one that does not know the first costs no waiting."""
    terminal = sys.stdin.fileno()
    os.write(sys.stdout.fileno(), b"\x1b]11;?\x07\x1b[c")
    answer = b""
    until = time.monotonic() + TIMEOUT_S
    while (left := until - time.monotonic()) > 0 and not _LAST_REPLY.search(answer):
        if select.select([terminal], [], [], left)[0]:
            read = os.read(terminal, 4096)
            if not read:
                break  # the terminal is gone
            answer += read
    return answer
