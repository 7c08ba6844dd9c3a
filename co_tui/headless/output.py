"""Writing for scripts and for people."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from co_tui.events.event import dump
from co_tui.inert import inert
from co_tui.paths import Paths
from co_tui.settings import Loaded

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


class Ground(NamedTuple):
    """What a command stands on: folders and settings."""

    paths: Paths
    loaded: Loaded


def print_json(value: Any) -> None:
    print(dump(value), flush=True)


def say(text: str) -> None:
    """A line for the person at the keyboard."""
    print(f"co-tui: {inert(text)}", file=sys.stderr, flush=True)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the last one runs free."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in lines
    )


def silence_stdout() -> None:
    """After a broken pipe: nobody reads any more, and the interpreter's last flush must not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
