"""Checkpoints: each summary of a session as a file people can read, in the session's own folder."""

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from co_tui.inert import inert, one_line
from co_tui.paths import ensure_dir, write_atomically
from co_tui.store.sync.files.synced_file import OnChange, not_synced
from co_tui.store.timestamps import now

SLUG_CHARS = 50
TITLE_CHARS = 120
_NAME = re.compile(r"(\d{3,})-(.+)\.md")


class CheckpointFailed(Exception):
    """A checkpoint could not be written; the text names the file and the reason. The session can go on."""


class Checkpoint(NamedTuple):
    """One summary that was kept."""

    number: int
    title: str
    path: Path


class _File(NamedTuple):
    path: Path
    written: float

    @property
    def number(self) -> int:
        return int(self.path.name.partition("-")[0])


class Checkpoints:
    """The checkpoints of one session. The files are the truth: the index is always written from them."""

    def __init__(self, folder: Path, on_change: OnChange = not_synced) -> None:
        """`folder` is the session's own; nothing is created before the first checkpoint."""
        self._on_change = on_change
        self._workspace = folder / "workspace.yaml"
        self._folder = folder / "checkpoints"
        self._index = self._folder / "index.md"
        self._undone = self._folder / "undone"
        self._titles: dict[tuple[Path, float], str] = {}
        """Of the files as they were written: a title is read once."""

    def write(
        self, number: int, title: str, body: str, *, facts: Mapping[str, object], workspace: Mapping[str, str]
    ) -> Checkpoint:
        """Keep a summary under its number; raises `CheckpointFailed`, and then keeps nothing.

        `facts` head the file, those without a value left out. `workspace` says where the session is at home.
        """
        title = heading(title)
        path = self._folder / file_name(number, title)
        try:
            write_atomically(path, _text(title, body, facts))
            self._remove_leftovers(number, path)
            self._write_workspace(workspace)
            write_atomically(self._index, _index_text(self.list()))
        except OSError as error:
            self._remove(path)
            raise CheckpointFailed(f"Cannot save checkpoint {path}: {_reason(error)}.") from error
        self._on_change()
        return Checkpoint(number, title, path)

    def list(self) -> Sequence[Checkpoint]:
        """What is there, by number; nothing when no checkpoint was ever written."""
        return [Checkpoint(number, self._title(*found), found.path) for number, found in self._found().items()]

    def _found(self) -> "dict[int, _File]":
        files = [_File(path, _written(path)) for path in self._folder.glob("*.md") if _NAME.fullmatch(path.name)]
        files.sort(key=lambda file: (file.number, file.written))
        return {file.number: file for file in files}  # of two with one number, the later

    def _title(self, path: Path, written: float) -> str:
        if (path, written) not in self._titles:
            self._titles[path, written] = _title(path)
        return self._titles[path, written]

    def align(self, names: Collection[str], workspace: Mapping[str, str]) -> None:
        """Keep exactly the files of these names in place; raises `CheckpointFailed`.

        The others are moved aside and come back when they are named again.
        """
        if not self._folder.is_dir():
            return
        there = {file.path.name for file in self._found().values()}
        if there == set(names) and self._index.exists():
            return
        try:
            for name in there.difference(names):
                ensure_dir(self._undone)
                (self._folder / name).replace(self._undone / name)
            for name in set(names) - there:
                if (self._undone / name).exists():
                    (self._undone / name).replace(self._folder / name)
            self._write_workspace(workspace)
            write_atomically(self._index, _index_text(self.list()))
        except OSError as error:
            raise CheckpointFailed(f"Cannot update the checkpoints in {self._folder}: {_reason(error)}.") from error
        self._on_change()

    def copy_to(self, folder: Path, names: Collection[str]) -> "Checkpoints":
        """Those of the files that are here, in another session's folder, put aside; raises `CheckpointFailed`."""
        copy = Checkpoints(folder)
        try:
            for name in names:
                found = next((path for path in (self._folder / name, self._undone / name) if path.exists()), None)
                if found is not None:
                    write_atomically(copy._undone / name, found.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointFailed(f"Cannot copy the checkpoints to {folder}: {error}.") from error
        return copy

    def _remove_leftovers(self, number: int, path: Path) -> None:
        """A crash before the event was logged leaves a file whose number is given out again."""
        for pattern in (f"{number:03d}-*.md", f".{number:03d}-*.md.*"):
            for other in self._folder.glob(pattern):
                if other != path:
                    other.unlink(missing_ok=True)

    def _write_workspace(self, workspace: Mapping[str, str]) -> None:
        values = {key: _quoted(value) for key, value in workspace.items()}
        values |= {"summary_count": str(len(self._found())), "updated": _quoted(workspace.get("updated") or now())}
        try:
            before = self._workspace.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            before = ""
        write_atomically(self._workspace, _merged(before, values))

    def _remove(self, path: Path) -> None:
        """What is not in the index must not be listed either."""
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return


Shelf: TypeAlias = dict[Path, dict[str, Checkpoint]]
"""Checkpoints of private sessions: by session folder, then by file name; none is on disk."""


class InMemoryCheckpoints(Checkpoints):
    """The checkpoints of a private session, on a shelf that all sessions of a process share."""

    def __init__(self, shelf: Shelf, folder: Path) -> None:
        super().__init__(folder)
        self._shelf = shelf
        self._kept = shelf.setdefault(folder, {})
        self._standing: set[str] = set(self._kept)

    def write(
        self, number: int, title: str, body: str, *, facts: Mapping[str, object], workspace: Mapping[str, str]
    ) -> Checkpoint:
        title = heading(title)
        name = file_name(number, title)
        kept = self._kept[name] = Checkpoint(number, title, Path("in memory") / name)
        self._standing.add(name)
        return kept

    def list(self) -> Sequence[Checkpoint]:
        return sorted(each for name, each in self._kept.items() if name in self._standing)

    def align(self, names: Collection[str], workspace: Mapping[str, str]) -> None:
        self._standing = set(names) & set(self._kept)

    def copy_to(self, folder: Path, names: Collection[str]) -> "InMemoryCheckpoints":
        self._shelf.setdefault(folder, {}).update({name: self._kept[name] for name in names if name in self._kept})
        return InMemoryCheckpoints(self._shelf, folder)


def _reason(error: OSError) -> str:
    where = error.filename2 or error.filename
    return f"{error.strerror or error}" + (f" ({Path(where).name})" if where else "")


def heading(title: str) -> str:
    """What a checkpoint is called."""
    return one_line(title, TITLE_CHARS) or "Checkpoint"


def file_name(number: int, title: str) -> str:
    return f"{number:03d}-{_slug(title)}.md"


def _slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return words[:SLUG_CHARS].rstrip("-") or "checkpoint"


def _text(title: str, body: str, facts: Mapping[str, object]) -> str:
    known = {name: value for name, value in facts.items() if value is not None and value != ""}
    lines = [f"- {name.replace('_', ' ')}: {one_line(str(value), 200)}" for name, value in known.items()]
    block = "\n".join(lines) + "\n\n" if lines else ""
    return f"# {title}\n\n{block}{inert(body).strip()}\n"


def _index_text(checkpoints: Sequence[Checkpoint]) -> str:
    lines = [f"- {each.number:03d} [{_escaped(each.title)}]({each.path.name})" for each in checkpoints]
    return "# Checkpoints\n\n" + "".join(f"{line}\n" for line in lines)


def _escaped(title: str) -> str:
    return re.sub(r"([\[\]\\])", r"\\\1", title)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _title(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            first = stream.readline(4 * TITLE_CHARS)
    except OSError:
        first = ""
    return one_line(first.removeprefix("#"), TITLE_CHARS) or path.stem


def _quoted(value: str) -> str:
    # A JSON string without escaped pairs is also a YAML string.
    return json.dumps(inert(value), ensure_ascii=False)


def _merged(before: str, values: Mapping[str, str]) -> str:
    """The file with these keys set in their old places, new ones at the end, and all else as it was."""
    missing = dict(values)
    lines: list[str] = []
    ours = False
    for line in before.rstrip("\n").split("\n") if before.strip() else ():
        # Indented lines and list items belong to the key above them.
        if line[:1] not in ("", " ", "\t", "-"):
            key = line.partition(":")[0].strip(" \"'")
            ours = key in values
            if key in missing:
                lines.append(f"{key}: {missing.pop(key)}")
        if not ours:
            lines.append(line)
    lines += [f"{key}: {value}" for key, value in missing.items()]
    return "\n".join(lines) + "\n"
