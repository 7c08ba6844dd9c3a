"""Writing for scripts and for people."""

import contextlib
import errno
import os
import select
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from co_tui.headless.stopping import stop_requested
from co_tui.inert import inert, inert_json, one_line
from co_tui.paths import Paths, path_text

if TYPE_CHECKING:
    from co_tui.session.workplace.workplace import Workplace
    from co_tui.settings import Loaded
    from co_tui.store.port import Store

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
LAST_LINE_S = 1.0
"""After a stop request, how long the reader has for the last line."""


class CommandContext(NamedTuple):
    """What every command needs: folders, settings and the store."""

    paths: Paths
    loaded: "Loaded"
    store: "Store"
    workplace: "Workplace"
    """Where sessions work."""
    private: bool = False
    """Whether sessions leave nothing on disk."""


class OutputLost(Exception):
    """Standard output does not take what is written; the text says why, and is empty when its reader went away."""

    def __init__(self, error: OSError) -> None:
        self.reader_left = isinstance(error, BrokenPipeError)
        super().__init__("" if self.reader_left else f"Cannot write output: {error.strerror or error}.")


def put(text: str) -> None:
    """A line of data. Raises `OutputLost`."""
    with _lost_if_failing():
        print(text)


def put_json(value: Any) -> None:
    """A value on a line of its own, at once. Raises `OutputLost`."""
    with _lost_if_failing():
        print(json_line(value), flush=True)


def put_last_json(value: Any) -> None:
    """The same at the end of a command; after a stop request, only if the reader takes it soon."""
    if not stop_requested():
        put_json(value)
    elif _takes_more(sys.stdout):
        line = f"{json_line(value)}\n".encode(sys.stdout.encoding, "replace")
        writing = threading.Thread(target=_write_if_read, args=(sys.stdout.fileno(), line), daemon=True)
        writing.start()
        writing.join(LAST_LINE_S)


def _write_if_read(file: int, text: bytes) -> None:
    with contextlib.suppress(OSError):
        while text:
            text = text[os.write(file, text) :]


def json_line(value: Any) -> str:
    from co_tui.events.storable import dump

    return inert_json(dump(value))


def finish() -> None:
    """Flush standard output. Raises `OutputLost`."""
    with _lost_if_failing():
        sys.stdout.flush()


@contextlib.contextmanager
def _lost_if_failing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputLost(error) from None


def say(text: str) -> None:
    """A line for the person at the keyboard. Failures to print it are ignored."""
    try:
        if not stop_requested() or _takes_more(sys.stderr):
            print(message_line(text), end="", file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def has_terminal() -> bool:
    """Whether a person can be asked: messages are shown, and the answer is typed, in a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def message_line(text: str) -> str:
    return f"co-tui: {inert(text)}\n"


def _takes_more(stream: TextIO) -> bool:
    """Whether a line can be written without waiting: a stop request must not wait for a blocked reader."""
    return bool(select.select([], [stream.fileno()], [], 0)[1])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the last one runs free."""
    lines = [list(header), *([inert(cell).replace("\n", " ") for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in lines
    )


def discard(stream: TextIO) -> None:
    """Discard the rest of the stream: the interpreter's last flush must neither block nor fail."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def os_error_sentence(error: OSError) -> str:
    """What happened to which file, in a sentence."""
    where = (
        one_line(path_text(Path(os.fsdecode(error.filename))), 300) if isinstance(error.filename, str | bytes) else ""
    )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk{f' with {where}' if where else ''} is full. Nothing is saved until there is space."
    return f"{where or 'A file'}: {error.strerror or error}."
