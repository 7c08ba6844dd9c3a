"""Printing while a session runs; a blocked reader delays neither the conversation nor a stop signal."""

import asyncio
import contextlib
import os
import queue
import select
import sys
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from co_tui.events import CompactionComplete, Event, SessionError
from co_tui.events.event import encode
from co_tui.headless.output import OutputLost, json_line, message_line
from co_tui.session.recorder import Listener


class PrintedPiece(NamedTuple):
    """Something to print: data, or a message for people."""

    text: str
    data: bool = True


Show = Callable[[Event], Sequence[PrintedPiece]]
"""What to print for an event."""


def note(text: str) -> PrintedPiece:
    return PrintedPiece(message_line(text), data=False)


def as_json(event: Event) -> Sequence[PrintedPiece]:
    """The log as it is written, and a sentence for people about what a script cannot continue after."""
    if event.seq is None:
        return ()
    line = PrintedPiece(f"{json_line(encode(event))}\n")
    match event.fact:
        case CompactionComplete(success=False, trigger="manual") as failed:
            return line, note(failed.outcome_sentence())
        case SessionError(kind="steps", what=what, outcome=outcome, agent=""):
            return line, note(f"{what} ({outcome})")
        case _:
            return (line,)


async def print_events(
    listener: Listener, show: Show, output: "Output", output_lost: Callable[[], None]
) -> OutputLost | None:
    """Print until the session closes; returns why the output was lost, if it was. `output_lost` hears of it at once."""
    lost: OutputLost | None = None
    async for event in listener:
        for piece in show(event):
            if lost is None or not piece.data:
                try:
                    await output.write(piece)
                except OSError as error:
                    if piece.data:
                        lost = OutputLost(error)
                        output_lost()
    with contextlib.suppress(OSError):
        await output.write(PrintedPiece(""))  # after all that did not wait
    return lost


class Output:
    """Writes in a daemon thread, which does not delay the end of the process.

    It writes to the file itself: the stream's own buffer has a lock, which a thread that is stuck would never return.
    """

    def __init__(self) -> None:
        self._files = {
            True: (sys.stdout.fileno(), sys.stdout.encoding),
            False: (sys.stderr.fileno(), sys.stderr.encoding),
        }
        self._pieces: queue.SimpleQueue[tuple[PrintedPiece, asyncio.Future[None]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="printing", daemon=True).start()

    async def write(self, piece: PrintedPiece) -> None:
        """Returns when it was taken. Raises OSError."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._pieces.put((piece, written))
        await written

    def put(self, piece: PrintedPiece) -> None:
        """Write it without waiting; whether it is lost shows with the next event."""
        written: asyncio.Future[None] = self._loop.create_future()
        written.add_done_callback(lambda done: done.exception())
        self._pieces.put((piece, written))

    def _work(self) -> None:
        while True:
            piece, written = self._pieces.get()
            error: OSError | None = None
            try:
                file, encoding = self._files[piece.data]
                _write_all(file, piece.text.encode(encoding, "replace"))
            except OSError as failure:
                error = failure
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(_settle, written, error)


def _write_all(file: int, text: bytes) -> None:
    while text:
        try:
            text = text[os.write(file, text) :]
        except BlockingIOError:  # the file is non-blocking; wait here instead
            select.select([], [file], [])


def _settle(written: "asyncio.Future[None]", error: OSError | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)
