"""The library's driver, without a terminal's late answers among the keys, and with the keys it does not know."""

import contextlib
import queue
import re
import time
from collections.abc import Iterable
from typing import Any, TextIO, cast

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers import linux_driver
from textual.events import Key
from textual.message import Message

from co_tui.ui.terminal import ATTRIBUTES_REPLY, COLOUR_REPLY

_REPLY = re.compile(f"{COLOUR_REPLY}|{ATTRIBUTES_REPLY}")
_UNFINISHED = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]*\x1b?)?)?)?|\[\?[0-9;]*)$")
HELD_S = 0.5
"""How long the beginning of an answer waits for its end; Alt+] is such a beginning, too."""


ALT_ENTER = "\x1b\r"
"""As ordinary terminals send it; the library knows only the newer way."""


class QuietParser(XTermParser):
    """Drops the answers to our questions, which the library would take for keys."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._held = ""
        self._held_since = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        if not data:  # the end of all input
            return super().feed(data)
        text = _REPLY.sub("", self._held + data)
        self._held = ""
        unfinished = _UNFINISHED.search(text)
        if unfinished is not None:
            self._held, self._held_since = unfinished[0], time.monotonic()
            text = text[: unfinished.start()]
        return super().feed(text) if text else ()

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        return [Key("alt+enter", None)] if sequence == ALT_ENTER else super()._sequence_to_key_events(sequence, alt)

    def tick(self) -> Iterable[Message]:
        if self._held and time.monotonic() - self._held_since > HELD_S:
            held, self._held = self._held, ""
            yield from super().feed(held)
        yield from super().tick()


class QuietDriver(linux_driver.LinuxDriver):
    """Reads keys through `QuietParser`; a terminal that is gone is no error of its own."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._deaf = False
        self._file = cast(Any, _Forgiving(cast(TextIO, self._file)))

    def give_up(self) -> None:
        """Nobody reads what is written: write no more, and let go of whoever waits to write."""
        self._deaf = True
        if self._writer_thread is not None:
            with contextlib.suppress(queue.Empty):
                while True:
                    self._writer_thread._queue.get_nowait()

    def write(self, data: str) -> None:
        if not self._deaf:
            super().write(data)

    def run_input_thread(self) -> None:
        # The library's loop makes its parser by this name, and has no other way of being given one;
        # types know that name as a class, which cannot be assigned to.
        setattr(linux_driver, "XTermParser", QuietParser)  # noqa: B010
        with contextlib.suppress(OSError):  # hung up: the signal that comes with it ends the app
            super().run_input_thread()


class _Forgiving:
    """A stream to a terminal that may go away: what nobody can see is not written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()


def events_of(typed: str) -> list[Message]:
    """The events that typing this would have been."""
    parser = QuietParser()
    return [*parser.feed(typed), *parser.tick()] if typed else []
