"""Being told to end: the session is closed in order, the terminal restored, and nothing may hold that up."""

import asyncio
import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

BLOCKED_S = 1.0
"""After so long without a step, the app is held up by a terminal that nobody reads from."""
GRACE_S = 8.0
"""So long the app has for leaving in order."""
EXIT_CODE = 130
_TYPED = ("SIGINT", "SIGQUIT")
_ASKED = (*_TYPED, "SIGTERM", "SIGHUP")
_NOT_ENDING = ("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGINFO", "SIGTSTP", "SIGTTIN", "SIGTTOU")
_UNCATCHABLE = ("SIGKILL", "SIGSTOP")
_FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL")
"""Raised by a broken instruction: a handler in Python would return to it and never end."""
_RESTORE = b"\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
"""Paste, wrap, mouse, keyboard, screen, cursor and focus as they are in a shell."""


def exit_on_signals() -> None:
    """Before there is anything to leave in order: end, but let what was begun be put back."""

    def handle(number: int, __: FrameType | None) -> None:
        sys.unraisablehook = lambda _: None  # what is only half made, as the loop may be, cannot be taken down in order
        _end_by(number)
        raise SystemExit(EXIT_CODE)

    _heed(handle)


def leave_on_signals(
    leave: Callable[[], object], give_up_terminal: Callable[[], object], terminal_before: list[Any] | None = None
) -> None:
    """Call `leave` on the running loop when a signal asks the process to end.

    Plain handlers, not the loop's own: they run even while the loop is held up by the terminal.
    """
    loop = asyncio.get_running_loop()
    asked, begun = False, threading.Event()

    def begin() -> None:
        begun.set()
        leave()

    def watch(number: int) -> None:
        if not begun.wait(BLOCKED_S):
            give_up_terminal()
        time.sleep(GRACE_S)
        _end(EXIT_CODE if number in _numbers(_ASKED) else 128 + number, terminal_before)

    def handle(number: int, __: FrameType | None) -> None:
        nonlocal asked
        if not asked:
            asked = True
            _end_by(number)
            threading.Thread(target=watch, args=(number,), name="leaving", daemon=True).start()
            loop.call_soon_threadsafe(begin)

    _heed(handle)


@contextlib.contextmanager
def left_to_another_program() -> Iterator[None]:
    """While it has the terminal: Ctrl+C and Ctrl+\\ there reach us as well, but are meant for that program.

    They are not ignored, as it would inherit that.
    """
    before = _heed(lambda _, __: None, _TYPED)
    try:
        yield
    finally:
        for number, handle in before.items():
            signal.signal(number, handle or signal.SIG_DFL)


def _heed(handle: Callable[[int, FrameType | None], None], names: Sequence[str] = ()) -> dict[int, Any]:
    """Handle these signals, or all that end a process; returns who heeded them before."""
    numbers = _numbers(names) if names else {*_numbers(_ASKED), *_deadly()}
    return {number: signal.signal(number, handle) for number in numbers}


def _numbers(names: Sequence[str]) -> set[int]:
    return {number for name in names if (number := getattr(signal, name, None)) is not None}


def _deadly() -> set[int]:
    """The other signals that would end the process at once. One that is ignored stays ignored."""
    others = {*map(int, signal.valid_signals())} - _numbers((*_ASKED, *_NOT_ENDING, *_UNCATCHABLE, *_FAULTS))
    return {number for number in others if signal.getsignal(number) not in (signal.SIG_IGN, None)}


def _end_by(number: int) -> None:
    """Let the process end by this signal once all is in order; those that ask to end have an exit code instead."""
    if number not in _numbers(_ASKED):
        atexit.register(_raise_again, number)


def _raise_again(number: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _end(code: int, terminal_before: list[Any] | None) -> None:
    """The way out that cannot be held up."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        output = sys.__stderr__.fileno() if sys.__stderr__ is not None else 2
        os.set_blocking(output, False)
        os.write(output, _RESTORE)
    if terminal_before is not None:
        import termios

        with contextlib.suppress(termios.error, OSError, ValueError, AttributeError):
            terminal = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
            termios.tcsetattr(terminal, termios.TCSANOW, terminal_before)
    os._exit(code)
