"""The folders of a session: the one it works in, and those its user added (T13)."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from co_tui.inert import inert, one_line
from co_tui.paths import Paths, is_inside, path_text

MOST_ADDED: Final = 20
NAME_CHARS: Final = 200
ON_A_HOST: Final = "Folders cannot be added to a session on another host."
_OF_SYSTEM: Final = re.compile(r"/(proc|sys|run|dev(?!/shm/)|(usr/(local/)?)?(s?bin|lib\w*)|usr\Z)(/|\Z)")
"""What is in them is not files, leads to services outside of the sandbox, or is run by everyone."""


class FolderRefused(Exception):
    """Why a folder cannot be added or removed: a sentence."""


class AlreadyAdded(FolderRefused):
    """It is one of the added folders."""


class Folders:
    """Those of one session, as they are now: one may be added or removed while it runs."""

    def __init__(self, first: Path, *, problem: str = "") -> None:
        """`problem` is why no other can be added."""
        self.first = first
        self.problem = problem
        self._added: tuple[Path, ...] = ()

    @property
    def added(self) -> tuple[Path, ...]:
        """Real paths of the added ones. One that is gone, or was replaced by a link since, does not count."""
        return tuple(each for each in self._added if is_real_folder(each))

    @property
    def named(self) -> tuple[Path, ...]:
        """The added ones as they were, without a look at the disk."""
        return self._added

    def use(self, added: Sequence[Path]) -> None:
        """Count these as added from now on; they are checked."""
        self._added = tuple(added)

    def holder(self, path: Path | str) -> Path | None:
        """The added folder that a path is in, links resolved."""
        return next((each for each in self.added if is_inside(path, each)), None)


def is_real_folder(folder: Path) -> bool:
    """Whether a real path is still the folder itself, not a link."""
    try:
        return folder.is_absolute() and os.path.realpath(folder) == str(folder) and folder.is_dir()
    except (OSError, ValueError):
        return False


def folder_to_add(written: str, first: Path, added: Sequence[Path], paths: Paths) -> Path:
    """The real path of a folder that may be added to those of a session. Raises `FolderRefused`.

    `first` is the folder the session works in; relative paths start there.
    """
    shown = one_line(written, NAME_CHARS)
    real = _existing(written, shown, first)
    here = Path(os.path.realpath(first))
    home = Path(os.path.realpath(Path.home()))
    if _is_in(home, real):
        what = "is your home folder" if _is_same(home, real) else "contains your home folder"
        raise FolderRefused(f"{shown} {what}. Add a folder inside of it.")
    if _is_same(here, real):
        raise FolderRefused(f"{shown} is the folder of this session.")
    if _is_in(real, here):
        raise FolderRefused(f"{shown} is already part of this session's folder.")
    if _is_in(here, real):
        raise FolderRefused(f"{shown} is above this session's folder. Start co-tui there instead.")
    if _OF_SYSTEM.match(str(real)):
        raise FolderRefused(f"{shown} belongs to the system and cannot be added.")
    ours = [Path(os.path.realpath(each)) for each in (paths.data, paths.config, paths.state)]
    if any(_is_in(real, each) for each in ours):
        raise FolderRefused(f"{shown} holds co-tui's own files and cannot be added.")
    if any(_is_in(each, real) for each in ours):
        raise FolderRefused(f"{shown} contains co-tui's own files. Add a folder inside of it.")
    _check_others(real, shown, added)
    return real


def folders_to_add(written: Sequence[str], first: Path, paths: Paths) -> tuple[str, ...]:
    """The real paths of folders that a command line names; one named twice counts once. Raises `FolderRefused`."""
    found: list[Path] = []
    for each in written:
        with suppress(AlreadyAdded):
            found.append(folder_to_add(each, first, found, paths))
    return tuple(map(str, found))


def _existing(written: str, shown: str, first: Path) -> Path:
    """The real path of a folder. Raises `FolderRefused`."""
    if not shown:
        raise FolderRefused("Name a folder.")
    try:
        path = Path(first, Path(written).expanduser())
        real = Path(os.path.realpath(path, strict=True))
        if not real.is_dir():
            raise FolderRefused(f"{shown} is a file. Name a folder.")
        os.scandir(real).close()
    except (FileNotFoundError, NotADirectoryError):
        raise FolderRefused(f"There is no folder {shown}.") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise FolderRefused(f"Cannot open {shown}: {getattr(error, 'strerror', None) or error}.") from None
    if path_text(real) != str(real):
        raise FolderRefused(f"The name of {shown} has bytes that are not UTF-8. Rename it first.")
    if inert(str(real)) != str(real) or "\n" in str(real) or "\t" in str(real):
        raise FolderRefused(f"The name of {shown} has characters that cannot be shown. Rename it first.")
    return real


def _is_in(path: Path, folder: Path) -> bool:
    """Whether a real path is a folder or is inside of it, also where upper and lower case name the same folder."""
    return any(_is_same(each, folder) for each in (path, *path.parents))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one == other or one.samefile(other)
    except OSError:
        return False


def _check_others(real: Path, shown: str, added: Sequence[Path]) -> None:
    """Raises `FolderRefused`."""
    for each in added:
        name = one_line(str(each), NAME_CHARS)
        if _is_same(real, each):
            raise AlreadyAdded(f"{shown} is added already.")
        if _is_in(real, each):
            raise FolderRefused(f"{shown} is inside of {name}, which is added already.")
        if _is_in(each, real):
            raise FolderRefused(f"{shown} contains {name}, which is added. First run /add-dir --remove {name}")
    if len(added) >= MOST_ADDED:
        raise FolderRefused(f"{MOST_ADDED} folders are added already. First remove one: /add-dir --remove PATH")
