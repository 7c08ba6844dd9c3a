"""Asking the terminal whether its background is dark, before the app takes the screen."""

import os
import re
import select
import sys
import time

TIMEOUT_S = 0.15
_REPLIES = re.compile(rb"\x1b\]11;[^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b\[\?[0-9;]*c|\x1b[^\x1b]?")
_COLOUR = re.compile(rb"\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)")


def look_at(colorfgbg: str = "") -> tuple[bool, str]:
    """Whether the background is dark (unless the terminal says otherwise, it is), and what was typed meanwhile."""
    if colorfgbg:
        return colorfgbg.rpartition(";")[2] not in ("7", "15"), ""
    answer = _ask() if os.name == "posix" and sys.stdin.isatty() and sys.stdout.isatty() else b""
    typed = _REPLIES.sub(b"", answer).decode(errors="ignore")
    found = _COLOUR.search(answer)
    if not found:
        return True, typed
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5), typed


def _ask() -> bytes:
    """The reply to a colour query. A second query that every terminal answers marks its end,
    so that one that does not know the first costs no waiting and leaves nothing unread."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    try:
        before = termios.tcgetattr(terminal)
    except termios.error:
        return b""
    answer = b""
    try:
        tty.setcbreak(terminal)
        os.write(sys.stdout.fileno(), b"\x1b]11;?\x07\x1b[c")
        until = time.monotonic() + TIMEOUT_S
        while (left := until - time.monotonic()) > 0 and not re.search(rb"\x1b\[\?[0-9;]*c", answer):
            if select.select([terminal], [], [], left)[0]:
                answer += os.read(terminal, 256)
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
    return answer
