"""Ending by a signal: close the session, restore the terminal, and never hang."""

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
"""Without progress for this long, the app is blocked by a terminal that is not being read."""
GRACE_S = 8.0
"""Time limit for closing the session."""
EXIT_CODE = 130
_TYPED = ("SIGINT", "SIGQUIT")
_ASKED = (*_TYPED, "SIGTERM", "SIGHUP")
_NOT_ENDING = ("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGINFO", "SIGTSTP", "SIGTTIN", "SIGTTOU")
_UNCATCHABLE = ("SIGKILL", "SIGSTOP")
_FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL")
"""Raised by a faulty instruction: a Python handler would return to it and never end."""
_RESTORE = b"\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
"""Resets paste, wrap, mouse, keyboard, screen, cursor and focus modes to a shell's."""


def exit_on_signals() -> None:
    """Exit on signals while nothing is open yet, but still run cleanup handlers."""

    def handle(number: int, __: FrameType | None) -> None:
        sys.unraisablehook = lambda _: None  # destructors of half-initialised objects may fail
        _reraise_at_exit(number)
        raise SystemExit(EXIT_CODE)

    _handle_signals(handle)


def leave_on_signals(
    leave: Callable[[], object], give_up_terminal: Callable[[], object], terminal_before: list[Any] | None = None
) -> None:
    """Call `leave` on the running loop when a signal asks the process to end.

    Plain handlers, not the loop's own: they run even while the loop is blocked by the terminal.
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
            _reraise_at_exit(number)
            threading.Thread(target=watch, args=(number,), name="leaving", daemon=True).start()
            loop.call_soon_threadsafe(begin)

    _handle_signals(handle)


@contextlib.contextmanager
def left_to_another_program() -> Iterator[None]:
    """While another program has the terminal, Ctrl+C and Ctrl+\\ reach us as well but are meant for it.

    They are handled, not ignored: the program would inherit ignored signals.
    """
    before = _handle_signals(lambda _, __: None, _TYPED)
    try:
        yield
    finally:
        for number, handle in before.items():
            signal.signal(number, handle or signal.SIG_DFL)


def _handle_signals(handle: Callable[[int, FrameType | None], None], names: Sequence[str] = ()) -> dict[int, Any]:
    """Handle these signals, or all that end a process; returns the previous handlers."""
    numbers = _numbers(names) if names else {*_numbers(_ASKED), *_other_fatal()}
    return {number: signal.signal(number, handle) for number in numbers}


def _numbers(names: Sequence[str]) -> set[int]:
    return {number for name in names if (number := getattr(signal, name, None)) is not None}


def _other_fatal() -> set[int]:
    """The other signals that would end the process at once. One that is ignored stays ignored."""
    others = {*map(int, signal.valid_signals())} - _numbers((*_ASKED, *_NOT_ENDING, *_UNCATCHABLE, *_FAULTS))
    return {number for number in others if signal.getsignal(number) not in (signal.SIG_IGN, None)}


def _reraise_at_exit(number: int) -> None:
    """Raise this signal again at exit; signals that ask to end use the exit code instead."""
    if number not in _numbers(_ASKED):
        atexit.register(_raise_again, number)


def _raise_again(number: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _end(code: int, terminal_before: list[Any] | None) -> None:
    """Restore the terminal and exit at once, without blocking."""
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
