"""What a session changed in its folder, and which of that others changed afterwards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from co_tui.session.snapshots.entries import FileEntry
from co_tui.session.snapshots.journal import JOURNAL_FILE, Journal, Line


class Touched(NamedTuple):
    """The paths that a session changed since some line of its journal."""

    was: Mapping[str, FileEntry | None]
    """What each was before the session first changed it; None where there was nothing."""
    by_others: frozenset[str]
    """Those that others changed afterwards."""
    missed: frozenset[str] = frozenset()
    """What the session changed and snapshots do not cover."""


def touched_by(lines: Iterable[Line], elsewhere: Sequence[Line] = ()) -> Touched:
    """What the session changed in these lines. `elsewhere` are lines of other sessions in the same folder: what two
    sessions changed in the same time counts as changed by others in both."""
    was: dict[str, FileEntry | None] = {}
    began: dict[str, float] = {}
    others: set[str] = set()
    missed: set[str] = set()
    call_began = 0.0
    for line in lines:
        if line.kind == "begin":
            call_began = line.at
        elif line.kind == "found":
            others.update(path for path in line.paths if path in was)
        else:
            for path, entry in zip(line.paths, line.was, strict=False):
                if path not in was:
                    was[path], began[path] = entry, call_began if line.kind == "end" else line.at
            missed.update(line.missed)
    return Touched(was, frozenset(others | _changed_since(began, elsewhere)), frozenset(missed))


def touched_by_restore(restore: Line, later: Iterable[Line], elsewhere: Sequence[Line] = ()) -> Touched:
    """What a restore changed; whatever the session changed since counts as changed by others. Later restores were
    undone, so they changed nothing."""
    was = dict(zip(restore.paths, restore.was, strict=False))
    others = {path for line in later if line.kind in ("found", "end") for path in line.paths if path in was}
    return Touched(was, frozenset(others | _changed_since(dict.fromkeys(was, restore.at), elsewhere)))


def _changed_since(began: Mapping[str, float], lines: Iterable[Line]) -> set[str]:
    """The paths that one of the lines changed after a call that changed them began."""
    changes = ((path, line.at) for line in lines if line.kind in ("end", "restore") for path in line.paths)
    return {path for path, at in changes if path in began and at >= began[path]}


def lines_elsewhere(kept_in: Path, own: Sequence[Line], folder: Path | None = None) -> list[Line]:
    """What other sessions wrote since the first of these lines about the folder whose snapshots are kept here; with
    `folder`, its real path, also those to which it was added. Slow."""
    since = min((line.at for line in own if line.at), default=0.0)
    known = set(own)
    found: list[Line] = []
    for kept in _journals_elsewhere(kept_in, since):
        lines = [line for line in Journal(kept).lines if line not in known]
        if kept.name == kept_in.name:
            found += lines
        elif folder is not None:
            start = f"{folder}/"
            inside = (tuple(path[len(start) :] for path in each.paths if path.startswith(start)) for each in lines)
            found += [each._replace(paths=paths) for each, paths in zip(lines, inside, strict=True)]
    return found


def _journals_elsewhere(kept_in: Path, since: float) -> Iterator[Path]:
    """Where other sessions with snapshots of this folder keep their journals."""
    sessions = (each.parent for each in kept_in.parent.parent.glob(f"*/{kept_in.name}") if each != kept_in)
    for file in (file for session in sessions for file in session.glob(f"*/{JOURNAL_FILE}")):
        with suppress(OSError):
            if file.stat().st_mtime >= since:
                yield file.parent
