"""Find protected files in a folder, and build the bubblewrap mounts that make them read-only."""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_folders import (
    GIT,
    GIT_CONTROL_FILES,
    HEAD,
    HEAD_WITH,
    common_folder,
    git_folder_of,
    inner_git_folders,
    is_git_layout,
    named_by_git,
)
from co_tui.agent.permissions.obeyed import DEEPEST_IN_HOME, is_obeyed_entry, name_in_home, normalised_name

MOST_FOLDERS: Final = 20_000
"""Folders searched at most, outermost first: a command must not wait for a search of the whole disk."""
SKIPPED: Final = frozenset({"node_modules", "site-packages", "__pycache__"})
"""Installed packages, where neither git nor agents run."""
MOST_LINKS: Final = 200
MOST_SEARCHED: Final = 1_000
"""Folders inside of a protected one, such as `.claude`, searched for links."""
SETTLED_S: Final = 2.0
"""A folder that changed this recently is read again: its timestamp may not distinguish two changes."""
LARGEST_KEPT_BYTES: Final = 1_000_000
ENVIRONMENT: Final = "pyvenv.cfg"
"""In the folder of every Python environment."""
_GIT_PARTS: Final = frozenset((HEAD, *HEAD_WITH))


class Present(NamedTuple):
    """The state of one protected name, as far as a mount cannot preserve it."""

    link: str = ""
    """The target if it is a link, which can be replaced, since nothing can be mounted on a link."""
    content: bytes | None = None
    """The content of a file with a second hard link, through which it could be written."""


class Protected(NamedTuple):
    """The protected files of a folder."""

    names: dict[str, Present]
    """By path relative to the folder."""
    read_only: frozenset[str]
    """Absolute real paths inside the folder that commands may not write."""
    pinned: frozenset[str]
    """Folders that may be written to but not moved."""
    whole: bool
    """False when there were too many folders to search all."""
    git_parts: dict[str, frozenset[str]] = {}
    """For each folder with a HEAD other than `.git`, by relative path: which parts of a git folder it has."""
    programs: frozenset[str] = frozenset()
    """Relative paths of what co-tui itself runs, whether they exist or not."""
    environments: frozenset[str] = frozenset()
    """Whole paths of Python environments, which need the Python that they were made with."""


NOTHING: Final = Protected({}, frozenset(), frozenset(), whole=True)


class _Listing(NamedTuple):
    changed_ns: int
    folders: tuple[str, ...]
    """The whole paths of those to search."""
    protected: tuple[str, ...]
    git_parts: frozenset[str]
    is_environment: bool


class ProtectedFiles:
    """Searches one folder; later searches only read what changed."""

    def __init__(self, folder: Path, home: Path, programs: Callable[[], Iterable[Path]] = tuple) -> None:
        """`programs` returns the paths of what co-tui itself runs, in any folder."""
        self.folder = Path(os.path.realpath(folder))
        self._programs = programs
        self._home = Path(os.path.realpath(home))
        self._listings: dict[str, _Listing] = {}

    def find(self, most_folders: float = MOST_FOLDERS) -> Protected:
        found = _Finding(self.folder)
        found.add_above()
        waiting, listings = deque([str(self.folder)]), dict[str, _Listing]()
        while waiting and len(listings) < most_folders:
            path = waiting.popleft()
            if (listing := self._listed(path)) is None:
                found.add_unreadable(Path(path))
                continue
            listings[path] = listing
            waiting.extend(each for each in listing.folders if each not in listings)
            for name in listing.protected:
                found.add(Path(path, name))
            if listing.git_parts:
                found.add_git_parts(Path(path), listing.git_parts)
            if listing.is_environment:
                found.environments.add(path)
        self._listings = listings
        found.add_programs(self._programs())
        return found.result(whole=not waiting)

    def _listed(self, path: str) -> _Listing | None:
        try:
            changed_ns = os.lstat(path).st_ctime_ns
            known = self._listings.get(path)
            if known is not None and known.changed_ns == changed_ns:
                return known
            # Do not cache a timestamp so recent that another change might not update it.
            settled = time.time() - changed_ns / 1e9 > SETTLED_S
            with os.scandir(path) as entries:
                return self._read(path, list(entries), changed_ns if settled else -1)
        except OSError:
            return None  # gone by now, or not readable

    def _read(self, path: str, entries: "list[os.DirEntry[str]]", changed_ns: int) -> _Listing:
        folders, protected, git_parts = [], [], set[str]()
        parent = normalised_name(path.rpartition(os.sep)[2])
        looks_home = self._is_near_home(path)
        for entry in entries:
            if entry.name.lower() in _GIT_PARTS:
                git_parts.add(entry.name)
            is_link = entry.is_symlink()
            in_home = looks_home and name_in_home(Path(entry.path), self._home) is not None
            if in_home or is_obeyed_entry(entry.name, parent, is_link=is_link):
                protected.append(entry.name)
            elif is_link:
                folders += self._skipped_target(entry.path)
            elif entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
        if is_git_layout(git_parts):  # many folders, with nothing but objects
            folders = [each for each in folders if Path(each).name.lower() not in _GIT_PARTS]
        has_head = any(name.lower() == HEAD for name in git_parts)
        parts = frozenset(git_parts if has_head else ())
        is_environment = any(entry.name == ENVIRONMENT for entry in entries)
        return _Listing(changed_ns, tuple(folders), tuple(sorted(protected)), parts, is_environment)

    def _skipped_target(self, link: str) -> list[str]:
        """The folder that a link leads to, if it is in one that is skipped: outside of those it is searched anyway."""
        target = Path(os.path.realpath(link))
        skipped = target.is_relative_to(self.folder) and SKIPPED.intersection(target.relative_to(self.folder).parts)
        return [str(target)] if skipped and target.is_dir() else []

    def _is_near_home(self, path: str) -> bool:
        """Whether entries of a folder can be obeyed because they are in the home folder."""
        if not f"{path}{os.sep}".startswith(f"{self._home}{os.sep}"):
            return False
        return path == str(self.folder) or path.count(os.sep) - str(self._home).count(os.sep) < DEEPEST_IN_HOME


class _Finding:
    """Collects the results of `find`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, Present] = {}
        self._read_only: set[str] = set()
        self._pinned: set[str] = set()
        self._git_folders: set[Path] = set()
        self._git_parts: dict[str, frozenset[str]] = {}
        self._programs: set[str] = set()
        self.environments: set[str] = set()

    def add(self, path: Path) -> None:
        if normalised_name(path.name) != GIT:
            self._keep(path)
            self._keep_links_in(path)
            return
        if not path.is_dir() or path.is_symlink():
            self._keep(path, read_only=not path.is_dir())
        if (git := git_folder_of(path)) is None:
            return
        self._keep_named(common_folder(git), path.parent)
        if git.is_relative_to(self._folder):
            for each in (git, *inner_git_folders(git)):
                self._add_git_folder(each, path.parent)

    def add_unreadable(self, folder: Path) -> None:
        """A folder whose owner cannot read it hides what is in it, but programs can still find that by its name."""
        with suppress(OSError):
            if folder != self._folder and folder.lstat().st_uid == os.geteuid():
                self._keep(folder)

    def add_above(self) -> None:
        """Protect what the repository around the folder names in it."""
        dot_git = next((each / GIT for each in self._folder.parents if os.path.lexists(each / GIT)), None)
        if dot_git is not None and (git := git_folder_of(dot_git)) is not None:
            self._keep_named(common_folder(git), dot_git.parent)

    def add_git_parts(self, folder: Path, parts: frozenset[str]) -> None:
        """A folder with a HEAD: git takes it for a repository once the other parts are there, whatever its name."""
        self._git_parts[self._relative(folder)] = parts
        if is_git_layout(parts):
            for each in (folder, *inner_git_folders(folder)):
                self._add_git_folder(each, folder)

    def add_programs(self, paths: Iterable[Path]) -> None:
        """Protect what co-tui itself runs, also once it is created."""
        for path in paths:
            if path.is_relative_to(self._folder):
                self._programs.add(self._relative(path))
                self._keep(path)

    def result(self, *, whole: bool) -> Protected:
        found = (self._read_only, self._pinned, self._programs, self.environments)
        read_only, pinned, programs, environments = map(frozenset, found)
        return Protected(self._names, read_only, pinned, whole, self._git_parts, programs, environments)

    def _add_git_folder(self, git: Path, work_tree: Path) -> None:
        if git in self._git_folders:
            return
        self._git_folders.add(git)
        if git != self._folder:
            self._pinned.add(str(git))
            self._names[self._relative(git)] = Present()
        for name in GIT_CONTROL_FILES:
            self._keep(git / name)
        self._keep_named(git, work_tree)

    def _keep_named(self, git: Path, work_tree: Path) -> None:
        """Protect what git obeys outside of its folder, also once it is created."""
        for path in named_by_git(git, work_tree):
            real = Path(os.path.realpath(path))
            if real != self._folder and real.is_relative_to(self._folder) and os.path.lexists(real):
                self._names.setdefault(self._relative(real), Present())
            self._keep_target(path)

    def _keep(self, path: Path, *, read_only: bool = True) -> None:
        """Protect a path in the folder, and its target if `read_only`."""
        try:
            status = os.lstat(path)
            link = str(path.readlink()) if stat.S_ISLNK(status.st_mode) else ""
            twice = stat.S_ISREG(status.st_mode) and status.st_nlink > 1 and status.st_size <= LARGEST_KEPT_BYTES
            self._names[self._relative(path)] = Present(link, path.read_bytes() if twice else None)
        except OSError:
            return
        if read_only:
            self._keep_target(path)

    def _keep_target(self, path: Path) -> None:
        """Protect a path's target if it is in the folder; elsewhere nothing can be written anyway."""
        real = Path(os.path.realpath(path))
        if real != self._folder and real.is_relative_to(self._folder) and os.path.lexists(real):
            self._read_only.add(str(real))

    def _keep_links_in(self, path: Path) -> None:
        """Protect the targets of links: a hook is often a link to a script of the project."""
        links = 0
        for folder, folders, files in islice(os.walk(path), MOST_SEARCHED):
            if folder != str(path) and GIT in (*folders, *files):
                folders.clear()  # another work tree
                continue
            for name in (*folders, *files):
                if links < MOST_LINKS and (inside := Path(folder, name)).is_symlink():
                    links += 1
                    self._keep_target(inside)

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self._folder))


def mounts(protected: Protected, folder: Path, others: Sequence[str] = ()) -> tuple[str, ...]:
    """The bubblewrap arguments that protect them, combined with `others`: mounts of the form OPTION PATH PATH.

    Every read-only path and its parent folders become mount points, which cannot be renamed or removed. They are
    sorted, since a later mount hides earlier ones below it.
    """
    read_only = _outermost({*protected.read_only, *_paths(others, "--ro-bind")})
    around = {str(above) for path in (*read_only, *protected.pinned) for above in _parents(Path(path), folder)}
    writable = {*around, *protected.pinned, *_paths(others, "--bind")} - read_only
    chosen = dict.fromkeys(read_only, "--ro-bind")
    chosen |= {path: "--bind" for path in writable if not any(str(above) in read_only for above in Path(path).parents)}
    return tuple(argument for path in sorted(chosen, key=_depth) for argument in (chosen[path], path, path))


def _paths(arguments: Sequence[str], option: str) -> Iterator[str]:
    return (path for name, path, _ in zip(*[iter(arguments)] * 3, strict=True) if name == option)


def _parents(path: Path, folder: Path) -> Iterator[Path]:
    return (above for above in path.parents if above != folder and above.is_relative_to(folder))


def _outermost(paths: Iterable[str]) -> set[str]:
    every = set(paths)
    return {path for path in every if not any(str(above) in every for above in Path(path).parents)}


def _depth(path: str) -> tuple[int, str]:
    return path.count(os.sep), path
