"""What happened to a session's folder, in order: one line each, in a file next to the snapshots.

The log has what people and programs read (E13); this has what bringing files back needs.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from co_tui.paths import OWNER_ONLY_FILE, ensure_dir, write_atomically
from co_tui.session.snapshots.entries import FileEntry

JOURNAL_FILE: Final = "journal.jsonl"
Kind: TypeAlias = Literal["found", "begin", "end", "restore"]


class Line(NamedTuple):
    """`found`: others changed files. `begin`, `end`: something of the session that may change files. `restore`: files
    were brought back."""

    kind: Kind
    seq: int
    """The latest event then; for a restore, its event."""
    turn: int
    snapshot: str
    """Taken then; for a restore, before it."""
    paths: tuple[str, ...] = ()
    """What changed until then, since the line before; for a restore, what it changed (older ones do not say)."""
    before: str = ""
    """The snapshot before these changes."""
    was: tuple[FileEntry | None, ...] = ()
    """What each of the paths was before; None where there was nothing."""
    target: str = ""
    """For a restore: what was brought back."""
    after: str = ""
    """For a restore: the folder after it."""
    undoes: int = 0
    """For a restore that undoes another: the event of that one."""
    rewind: int = 0
    """For a restore together with the conversation: the event of the rewind."""
    prepares: bool = False
    """Whether it belongs to the turn that comes next: a slash command runs commands before its prompt is logged."""
    at: float = 0.0
    """When it was written; 0 in older journals."""
    missed: tuple[str, ...] = ()
    """What changed until then and is not covered."""

    @property
    def latest(self) -> str:
        """The snapshot of the folder after it."""
        return self.after or self.snapshot


class Journal:
    """Appended to by the session's one writer. A last line that was cut off is ignored."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / JOURNAL_FILE
        self._lines: list[Line] | None = None

    @property
    def lines(self) -> Sequence[Line]:
        if self._lines is None:
            self._lines = list(_read(self._file))
        return self._lines

    def add(self, line: Line) -> None:
        lines = self.lines
        ensure_dir(self._file.parent)
        # A line that was cut off must not swallow this one: each begins with a line break.
        text = f"\n{json.dumps(line._asdict())}\n"
        with open(os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, OWNER_ONLY_FILE), "ab") as stream:
            stream.write(text.encode())
        self._lines = [*lines, line]

    @property
    def latest(self) -> str:
        """The latest snapshot; empty if there is none."""
        return self.lines[-1].latest if self.lines else ""

    @property
    def unfinished(self) -> Line | None:
        """The call that had not ended when the process was killed."""
        for line in reversed(self.lines):
            if line.kind != "found":
                return line if line.kind == "begin" else None
        return None

    def since(self, seq: int, prepared_since: int) -> Sequence[Line]:
        """The lines from the first that begins at this event or later, other than what was found; with those right
        before that prepare it, since another event."""
        lines = self.lines
        first = next((n for n, line in enumerate(lines) if line.seq >= seq and line.kind != "found"), len(lines))
        at = first
        while at and lines[at - 1].seq >= prepared_since and (lines[at - 1].prepares or lines[at - 1].kind == "found"):
            at -= 1
        return lines[next((n for n in range(at, first) if lines[n].prepares), first) :]

    @property
    def undoable(self) -> Line | None:
        """The latest restore that was not undone."""
        undone: set[int] = set()
        for line in reversed(self.lines):
            if line.kind == "restore" and line.undoes:
                undone.add(line.undoes)
            elif line.kind == "restore" and line.seq not in undone:
                return line
        return None

    def copy_to(self, folder: Path, upto: int) -> None:
        """Write the lines up to an event into another folder."""
        kept = [line for line in self.lines if line.seq <= upto]
        write_atomically(folder / JOURNAL_FILE, "".join(f"{json.dumps(line._asdict())}\n" for line in kept))


def folder_name(folder: Path) -> str:
    """The name under which a folder's snapshots are kept."""
    return hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]


def _read(file: Path) -> list[Line]:
    try:
        texts = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    return [line for text in texts if text and (line := _parsed(text)) is not None]


def _parsed(text: bytes) -> Line | None:
    try:
        given: dict[str, Any] = json.loads(text)
        known = {name: value for name, value in given.items() if name in Line._fields}
        was = tuple(each and FileEntry(*each) for each in known.get("was", ()))
        lists = {name: tuple(known.get(name, ())) for name in ("paths", "missed")}
        return Line(**{**known, **lists, "was": was})
    except (ValueError, TypeError):
        return None
