"""Being asked to stop: Ctrl+C, a hang-up, or a signal to end, at any moment of a command's life."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Asked:
    """How often we were asked, and who ends what runs; without anybody, `KeyboardInterrupt` does."""

    times = 0
    react: Callable[[], None] | None = None


def asked() -> bool:
    return _Asked.times > 0


def heed_signals() -> None:
    """From now on all of them mean the same, and none ends the process by itself."""
    for number in _SIGNALS:
        # Who started us with `nohup` wants us to outlive the terminal.
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGINT:
            signal.signal(number, _on_signal)


def leave_signals_to_the_app() -> None:
    """Hand them back as Python has them: the full screen has its own way to end."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def ignore_signals() -> None:
    """What was to be done is done: the last milliseconds of the process are not worth a traceback."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def reacting(react: Callable[[], None]) -> Iterator[None]:
    """Let `react` end what runs. It is called in the main thread, between any two instructions."""
    _Asked.react = react
    try:
        yield
    finally:
        _Asked.react = None


def _on_signal(number: int, frame: FrameType | None) -> None:
    _Asked.times += 1
    if _Asked.react is None:
        raise KeyboardInterrupt
    _Asked.react()
