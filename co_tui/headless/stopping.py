"""Stop requests: Ctrl+C, a hang-up or a termination signal, at any moment of a command."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _StopRequests:
    """How many signals came, and what they call; without a callback they raise `KeyboardInterrupt`."""

    count = 0
    callback: Callable[[], None] | None = None


def stop_requested() -> bool:
    return _StopRequests.count > 0


def handle_signals() -> None:
    """Treat all of these signals the same from now on; none ends the process by itself."""
    for number in _SIGNALS:
        # `nohup` ignores SIGHUP so that the command outlives its terminal.
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGINT:
            signal.signal(number, _on_signal)


def restore_signals() -> None:
    """Restore Python's own handlers: the full-screen app installs its own."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def ignore_signals() -> None:
    """Ignore signals once the work is done: a late one must not print a traceback.

    An interrupt inside evaluated text, such as the body of a named tuple, makes Python end itself by SIGINT even
    after we caught it. Evaluating any other text takes that back, and the exit code stays ours.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, signal.SIG_IGN)
    exec("")


@contextmanager
def on_stop(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` for every stop signal, in the main thread, between any two instructions."""
    _StopRequests.callback = callback
    try:
        yield
    finally:
        _StopRequests.callback = None


def _on_signal(number: int, frame: FrameType | None) -> None:
    _StopRequests.count += 1
    if _StopRequests.callback is None:
        raise KeyboardInterrupt
    _StopRequests.callback()
