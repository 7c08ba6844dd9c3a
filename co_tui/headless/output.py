"""Writing for scripts and for people."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from co_tui.events.event import dump
from co_tui.paths import Paths
from co_tui.settings import Loaded

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True, slots=True)
class Ground:
    """What a command stands on: folders and settings."""

    paths: Paths
    loaded: Loaded


def inert(text: str) -> str:
    """The text with every control character made visible: output of models and tools is never obeyed."""
    return "".join(_VISIBLE.get(character, character) for character in text)


_VISIBLE = {
    **{chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"},
    "\x7f": "\u2421",
    **{chr(code): "\ufffd" for code in range(0x80, 0xA0)},
    # Invisible marks that reorder or hide what is read.
    **{chr(code): "\ufffd" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))},
}


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
