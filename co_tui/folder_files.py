"""List the files of a folder, respecting its ignore files. Runs no program and follows no link to a folder.

Slow: call it in a thread.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.ignore_rules import IgnoreRules
from co_tui.paths import find_upwards, is_inside, read_small_text

MOST_ENTRIES: Final = 200_000
LONGEST_S: Final = 3.0
RULES_BYTES: Final = 200_000
"""A larger ignore file is skipped."""
IGNORE_FILES: Final = (".gitignore", ".ignore")
"""The later one takes precedence."""
GENERATED: Final = frozenset(
    {
        *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs"),
        *("site-packages", ".venv", "venv", ".ipynb_checkpoints"),
        *("node_modules", "bower_components", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo"),
        *(".gradle", ".dart_tool", ".terraform", ".stack-work", ".bundle"),
    }
)
"""Folders that only programs write: skipped where no ignore rules say what to skip."""
GENERATED_IF_WITH: Final = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
"""A folder with one of these files is a virtual environment, or a cache by its own account."""
BUILT_FOLDERS: Final = frozenset({"build", "dist", "env", "target"})
"""Often generated, too: skipped outside of repositories."""


class Entry(NamedTuple):
    """A file or folder below the start of a walk."""

    path: str
    """Relative to the start."""
    is_dir: bool
    is_hidden: bool


class _Level(NamedTuple):
    """Ignore rules, and how to turn a folder of the walk into a path relative to their file."""

    rules: IgnoreRules
    above: str
    cut: int

    def named(self, folder: str) -> str:
        return f"{self.above}{folder[self.cut :]}"


WalkedEntries = list[tuple[os.DirEntry[str], bool]]
"""The entries of one folder, and whether each is a folder."""


class FolderWalk:
    """Walks a folder level by level, so that a walk that was cut short has covered the top levels.

    Skips links to folders, special files, `.git`, and anything unreadable. Includes a link to a file only if the file
    is inside `inside`. Hidden entries are marked; hidden folders are entered only with `hidden`.
    """

    def __init__(
        self,
        start: Path,
        *,
        inside: Path | None = None,
        hidden: bool = False,
        ignored: bool = False,
        longest_s: float = LONGEST_S,
        built_folders: frozenset[str] = BUILT_FOLDERS,
        keep_going: Callable[[], bool] = lambda: True,
    ) -> None:
        """`built_folders` are skipped outside of repositories, together with what is generated for certain."""
        self.was_cut = False
        self.in_repository = False
        self._start = str(start)
        self._inside = Path(os.path.realpath(inside or start))
        self._hidden = hidden
        self._ignored = ignored
        self._built_folders = built_folders
        self._until = time.monotonic() + longest_s
        self._keep_going = keep_going

    def __iter__(self) -> Iterator[Entry]:
        levels = () if self._ignored else self._levels_above()
        folders = deque([("", levels)])
        seen = 0
        while folders:
            if seen >= MOST_ENTRIES or time.monotonic() > self._until or not self._keep_going():
                self.was_cut = True
                return
            folder, levels = folders.popleft()
            entries = self._entries(folder)
            seen += len(entries)
            if not self._ignored:
                names = {entry.name for entry, _ in entries}
                levels = (*levels, *self._levels_in(folder, names))
                if folder and self._skips_generated(levels) and names & GENERATED_IF_WITH:
                    self._leave_out(folder)
                    continue
                entries = self._not_ignored(folder, entries, levels)
            for entry, is_dir in entries:
                path, is_hidden = f"{folder}{entry.name}", entry.name[0] == "."
                yield Entry(path, is_dir, is_hidden)
                if is_dir and (self._hidden or not is_hidden):
                    folders.append((f"{path}/", levels))

    def _entries(self, folder: str) -> WalkedEntries:
        """Folders and ordinary files, by name."""
        try:
            with os.scandir(f"{self._start}/{folder}") as found:
                kept = [(entry, kind) for entry in found if (kind := self._is_dir(entry)) is not None]
        except (OSError, ValueError):
            return []
        return sorted(kept, key=lambda each: each[0].name)

    def _is_dir(self, entry: os.DirEntry[str]) -> bool | None:
        """Whether it is a folder; None for an entry to skip."""
        if entry.name == ".git":
            return None
        try:
            if entry.is_dir(follow_symlinks=False):
                return True
            if entry.is_file(follow_symlinks=False):
                return False
            if entry.is_symlink() and entry.is_file() and is_inside(entry.path, self._inside):
                return False
        except OSError:
            pass
        return None

    def _skips_generated(self, levels: tuple[_Level, ...]) -> bool:
        return not (self.in_repository and levels)

    def _leave_out(self, folder: str) -> None:
        """A folder turned out to be generated."""

    def _not_ignored(self, folder: str, entries: WalkedEntries, levels: tuple[_Level, ...]) -> WalkedEntries:
        skipped = GENERATED if self._skips_generated(levels) else frozenset()
        if not self.in_repository:
            skipped |= self._built_folders
        entries = [each for each in entries if not (each[1] and each[0].name in skipped)]
        names = [f"{entry.name}/" if is_dir else entry.name for entry, is_dir in entries]
        asked = [(level.rules, level.named(folder)) for level in reversed(levels)]
        about = [(rules, named) for rules, named in asked if rules.may_match(named, names)]
        if not about:
            return entries
        return [each for each, name in zip(entries, names, strict=True) if not _is_ignored(name, about)]

    def _levels_above(self) -> tuple[_Level, ...]:
        """The rules of the repository and of its folders above the start."""
        start = Path(self._start)
        git = find_upwards(".git", start)
        self.in_repository = git is not None
        if git is None:
            return ()
        between = [folder for folder in reversed(start.parents) if folder.is_relative_to(git.parent)]
        in_folders = [(each, each / name) for each in between for name in IGNORE_FILES]
        found = []
        for folder, file in [(git.parent, git / "info" / "exclude"), *in_folders]:
            if rules := _read(file, Path(os.path.realpath(git.parent))):
                relative = start.relative_to(folder).as_posix()
                found.append(_Level(rules, "" if relative == "." else f"{relative}/", 0))
        return tuple(found)

    def _levels_in(self, folder: str, names: set[str]) -> Iterator[_Level]:
        for name in IGNORE_FILES:
            if name in names and (rules := _read(Path(f"{self._start}/{folder}{name}"), self._inside)):
                yield _Level(rules, "", len(folder))


def _is_ignored(name: str, about: Iterable[tuple[IgnoreRules, str]]) -> bool:
    """The verdict of the first rules that match it."""
    verdicts = (rules.verdict(folder, name) for rules, folder in about)
    return next((verdict for verdict in verdicts if verdict is not None), False)


def _read(file: Path, inside: Path) -> IgnoreRules | None:
    try:
        return IgnoreRules(read_small_text(file, RULES_BYTES, errors="replace", inside=inside).splitlines())
    except (OSError, ValueError):
        return None


def modified_at(file: str) -> float | None:
    """The modification time of a regular file; None for anything else."""
    try:
        status = os.stat(file)  # noqa: PTH116 - a Path for each file would take twice as long
    except (OSError, ValueError):
        return None
    return status.st_mtime if stat.S_ISREG(status.st_mode) else None
