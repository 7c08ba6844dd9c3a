"""Textual's Linux driver, with terminal replies separated from keys, and with more keys."""

import asyncio
import codecs
import contextlib
import os
import re
import selectors
import signal
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, TextIO

from rich.cells import cell_len
from textual.app import App
from textual.drivers import linux_driver
from textual.events import Key
from textual.keys import Keys
from textual.message import Message

from co_tui.ui.terminal.before_app import COLOUR_REPLY, is_dark_colour
from co_tui.ui.terminal.column_keeper import with_fixed_columns
from co_tui.ui.terminal.paste_reader import (
    ESCAPE,
    HELD_ESCAPE_S,
    LONGEST_SEQUENCE_CHARS,
    PASTE_BEGINS,
    SILENCE_S,
    STRING_BEGINS,
    PasteReader,
    StringSkipper,
)
from co_tui.ui.terminal.terminal_facts import is_job
from co_tui.ui.textual_internals import LinuxDriverInternals, ParserInternals, set_parser, set_used

ASCII_HANDLER: Final = "co-tui-plain"
_ASCII_SYMBOLS: Final = {
    "-": "─━╸╺╴╶═–—−┄",
    "|": "│┃║▌▐▎▍▏▊▉▋┆",
    "+": "╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝",
    "#": "█■▇▆",
    "%": "▓",
    "=": "▒▅▄",
    ".": "░·•◌▁▂▃▔▀…",
    "*": "◆●★◉◇✓⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏",
    "o": "○◔☐",
    "x": "✗×☑",
    ">": "→▸▶›»⟩↳↗❯",
    "<": "←‹«⟨↶↩↲⌫",
    "^": "↑▲",
    "v": "↓▼▾",
    "~": "≈⇄↻",
    "!": "⚠",
    '"': "“”„",
    "'": "’‘",
}
_ASCII: Final = {symbol: plain for plain, symbols in _ASCII_SYMBOLS.items() for symbol in symbols}

_REPLY: Final = re.compile(rf"{COLOUR_REPLY}|\x1b\[\?997;([12])n|\x1b\[\?[0-9;]*c")
"""Replies: the background colour, a change to dark or light, device attributes."""
_COLOUR: Final = "[rgba:/#0-9A-Fa-f]{0,64}"
_UNFINISHED: Final = re.compile(
    rf"\x1b(?:\](?:11;{_COLOUR}\x1b?|\d{{0,4}})|P[\d;]{{0,16}}|_|\[[0-?]{{0,{LONGEST_SEQUENCE_CHARS - 1}}})\Z"
)
_BEGINS: Final = re.compile(rf"{re.escape(PASTE_BEGINS)}|(?!\x1b\]11;{_COLOUR}(?:\x07|\x1b\\|\x1b?\Z)){STRING_BEGINS}")
"""The beginning of a paste, or of a reply that is dropped; the background colour is kept."""
_BEGUN: Final = "\x1b]11;"
"""Never typed, so its end may take as long as a slow connection."""
HELD_S: Final = 0.5
"""How long the beginning of a reply is held; Alt+] looks the same."""
HELD_BEGUN_S: Final = 10.0
ANSWER_EXPECTED_S: Final = 5.0
FOLLOW_COLOURS, LEAVE_COLOURS = "\x1b[?2031h", "\x1b[?2031l"
"""Ask the terminal to report changes between dark and light; unsupported terminals ignore it."""
ALT_ENTER: Final = "\x1b\r"
"""Sent by ordinary terminals; Textual knows only the kitty protocol's form."""


class BackgroundReported(Message):
    """The terminal reported whether its background is dark."""

    def __init__(self, dark: bool) -> None:
        super().__init__()
        self.dark = dark


class QuietParser(ParserInternals):
    """Separates terminal replies from keys; Textual would read them as keys."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._held = ""
        self._held_at = self._held_until = 0.0
        self._expects_answer_until = time.monotonic() + ANSWER_EXPECTED_S
        self._pastes = PasteReader()
        self._skipper = StringSkipper()

    def feed(self, data: str) -> Iterable[Message]:
        if not data:  # the end of all input
            yield from super().feed(data)
            return
        while data:
            if self._pastes.under_way or self._pastes.continues(self._held + data):
                messages, data = self._pastes.take(self._held + data)
                self._held = ""
                yield from messages
            elif self._skipper.under_way:
                data = self._skipper.skip(data)
            else:
                text = self._taken(data)
                begins = _BEGINS.search(text)
                if begins is None:
                    yield from self._feed_typed(text)
                    return
                data = text[begins.end() :]
                if begins[0] == PASTE_BEGINS:
                    self._pastes.begin()
                else:
                    self._skipper.begin(begins[0])
                yield from self._feed_typed(text[: begins.start()], is_last=False)

    def _taken(self, data: str) -> str:
        """The held text plus the data; a stale unfinished reply does not swallow keys."""
        held, self._held = self._held, ""
        if held.startswith(_BEGUN) and time.monotonic() > self._held_at + SILENCE_S:
            held = "" if _BEGINS.match(held + data) else held
        return held + data

    def _feed_typed(self, data: str, *, is_last: bool = True) -> Iterable[Message]:
        """Parse keys and the replies among them. Only the last piece of the input can be unfinished."""
        reports: list[Message] = []
        text = _REPLY.sub(lambda reply: self._note(reply, reports), data)
        yield from reports
        unfinished = _UNFINISHED.search(text) if is_last else None
        if unfinished is not None:
            self._hold(unfinished[0], HELD_BEGUN_S if unfinished[0].startswith(_BEGUN) else HELD_S)
        elif is_last and text.endswith(ESCAPE) and time.monotonic() < self._expects_answer_until:
            self._hold(ESCAPE, HELD_ESCAPE_S)
        if text := text.removesuffix(self._held):
            yield from super().feed(text)

    def _note(self, reply: re.Match[str], reports: list[Message]) -> str:
        colour, scheme = reply.groups()
        dark = scheme == "1" if scheme else is_dark_colour(colour or "")
        if dark is not None:
            reports.append(BackgroundReported(dark))
            self._expects_answer_until = 0.0
        return ""

    def _hold(self, text: str, seconds: float) -> None:
        self._held, self._held_at = text, time.monotonic()
        self._held_until = self._held_at + seconds

    def translate(self, sequence: str, usual: Callable[[], Iterable[Key]]) -> Iterable[Key]:
        if sequence == ALT_ENTER:
            return [Key("alt+enter", None)]
        try:
            keys = list(usual())
            "".join(key.character or "" for key in keys).encode()
        except (ValueError, OverflowError):  # a code point that does not exist
            return [Key(Keys.Ignore, sequence)]
        return keys

    def parse_mouse_code(self, code: str) -> Message | None:
        try:
            return super().parse_mouse_code(code)
        except ArithmeticError:  # the screen has no size
            return None

    @property
    def awaits_more(self) -> bool:
        """Whether time alone decides what was typed, so that `tick` has to be called."""
        is_open = self._pastes.under_way or self._skipper.under_way
        return bool(self._held) or is_open or super().awaits_more

    def tick(self) -> Iterable[Message]:
        if self._held and time.monotonic() > self._held_until:
            held, self._held = self._held, ""
            if not held.startswith(_BEGUN):
                yield from super().feed(held)
        yield from self._pastes.give_up_if_silent()
        if typed := self._skipper.give_up_if_silent():
            yield from super().feed(typed)
        yield from super().tick()


def lenient_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """A decoder that replaces invalid bytes: Textual's own would end the app."""
    return partial(codecs.getincrementaldecoder(encoding), "replace")


class WakingEvent(threading.Event):
    """An event that can be waited for together with input: `fileno` is readable while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self._read, self._write = os.pipe()

    def fileno(self) -> int:
        return self._read

    def set(self) -> None:
        if not self.is_set():
            os.write(self._write, b"x")
        super().set()

    def clear(self) -> None:
        if self.is_set():
            os.read(self._read, 1)
        super().clear()

    def __del__(self) -> None:
        os.close(self._read)
        os.close(self._write)


class PatientSelector(selectors.SelectSelector):
    """Waits for input as long as it takes; Textual's wakes up ten times a second to look whether to end."""

    def __init__(self, ending: WakingEvent, is_patient: Callable[[], bool]) -> None:
        super().__init__()
        self._ending, self._is_patient = ending, is_patient
        self.register(ending, selectors.EVENT_READ)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(None if self._is_patient() else timeout)
        return [each for each in ready if each[0].fileobj is not self._ending]


class QuietDriver(LinuxDriverInternals, linux_driver.LinuxDriver):
    """Reads keys through `QuietParser`; survives a terminal that has gone away."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._is_muted = False
        self._asked_to_stop = False
        self._parser: QuietParser | None = getattr(app, "key_parser", None)
        self._terminal_before: list[Any] | None = getattr(app, "terminal_before", None)
        """The shell's terminal attributes, for the first start: by then they have been changed."""
        self._reading: QuietParser | None = None
        self.exit_event = self._ending = WakingEvent()
        self.wrap_output(_LossyStream)

    def stop_output(self) -> None:
        """The terminal is gone: stop writing, and release blocked writers."""
        self._is_muted = True
        self.drop_pending_output()

    def write(self, data: str) -> None:
        # While an editor has the terminal, drop output; the screen is redrawn afterwards.
        if not self._is_muted and self.is_writing:
            super().write(with_fixed_columns(data))

    def stop_requested(self) -> None:
        if is_job():  # without job control nothing could resume us
            self._asked_to_stop = True
            self._run_in_loop(self._stop)

    def continued(self) -> None:
        if self._asked_to_stop:
            self._asked_to_stop = False  # `_stop` resumes by itself, or no longer has to stop
        else:
            self._run_in_loop(self._reenter_screen)

    def _run_in_loop(self, act: Callable[[], object]) -> None:
        """Run in the event loop: inside a signal handler, a lock may be held by the interrupted code."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._event_loop.call_soon_threadsafe(act)

    def _stop(self) -> None:
        """Stop the whole process group, such as `uv run`: the shell waits for all of it."""
        has_screen = self.has_screen
        if has_screen:
            self.suspend_application_mode()
        if self._asked_to_stop:  # unless continued by now
            os.killpg(0, signal.SIGSTOP)
            self._asked_to_stop = False
        if has_screen:
            self._resume()

    def _reenter_screen(self) -> None:
        """After SIGSTOP, which skips `_stop`: leave the screen and enter it again."""
        if self.has_screen and self.is_writing:
            self.suspend_application_mode()
            self._resume()

    def _resume(self) -> None:
        """Enter the screen again; in the background this stops the process, so retry when it continues."""
        self.announce_resume()
        while not self.is_writing:
            self.resume_application_mode()

    def start_application_mode(self) -> None:
        self._event_loop = asyncio.get_running_loop()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # the library gives it no types
        self.write(FOLLOW_COLOURS)
        self.attrs_before, self._terminal_before = self._terminal_before or self.attrs_before, None

    def stop_application_mode(self) -> None:
        self.write(LEAVE_COLOURS)
        super().stop_application_mode()

    def close(self) -> None:
        """Drop later output: writing to an ended thread's full queue would block."""
        super().close()
        self.forget_writer()

    def _make_parser(self, debug: bool) -> QuietParser:
        """The parser that read the input typed before the start, since it may hold part of a reply; then new ones."""
        parser, self._parser = self._parser, None
        self._reading = parser or QuietParser(debug)
        return self._reading

    def _make_selector(self) -> "PatientSelector":
        return PatientSelector(self._ending, lambda: self._reading is not None and not self._reading.awaits_more)

    def run_input_thread(self) -> None:
        set_parser(linux_driver, self._make_parser)
        set_used(linux_driver, "getincrementaldecoder", lenient_decoder)
        waiting = SimpleNamespace(SelectSelector=self._make_selector, EVENT_READ=selectors.EVENT_READ)
        set_used(linux_driver, "selectors", waiting)
        with contextlib.suppress(OSError):  # hung up: SIGHUP ends the app
            super().run_input_thread()


class _LossyStream:
    """A stream to a terminal that may go away; ignores write errors."""

    def __init__(self, stream: TextIO) -> None:
        use_ascii_symbols(stream)
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()


def use_ascii_symbols(stream: TextIO) -> None:
    """Make a stream with a limited encoding write ASCII symbols of the same width."""
    if not (stream.encoding or "utf-8").lower().startswith("utf"):
        codecs.register_error(ASCII_HANDLER, _as_ascii)
        stream.reconfigure(errors=ASCII_HANDLER)  # type: ignore[attr-defined]  # streams to a terminal have it


def _as_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unwritable = error.object[error.start : error.end]
    return "".join(_ASCII.get(symbol, "?" * cell_len(symbol)) for symbol in unwritable), error.end
