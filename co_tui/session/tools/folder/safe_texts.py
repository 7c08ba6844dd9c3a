"""Small texts of a project, read safely before the project is trusted. Plain Python: another host runs it, too."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.paths import find_own_upwards, is_inside, read_small_bytes

LARGEST_TEXT_BYTES: Final = 64_000
"""A larger file is not added to requests; the model can read it like any other."""
TextEntry = tuple[str, str, bool, int | None]
"""Name, path, whether it is a folder, and the size of a file."""


class FoundText(NamedTuple):
    """What is at a path."""

    real: str
    is_inside: bool
    """Whether it is in the project, also by its links."""
    is_file: bool


class SafeTexts:
    """A view of a folder with only small regular files, and no link that leads out of the project.

    Anything else appears not to exist, so that a pipe, a device or an unreadable file fails no turn.
    """

    def __init__(self, folder: Path, own: Sequence[Path] = (), *, is_project: bool = False) -> None:
        """`own` are folders of the user's, whose links may lead anywhere. With `is_project`, nothing around the folder
        belongs to it."""
        self._folder = folder
        self._own = own
        self._is_project = is_project

    @property
    def folder(self) -> str:
        return os.path.realpath(self._folder)

    def project(self) -> str:
        """The repository that contains the folder, or the folder itself."""
        git = None if self._is_project else find_own_upwards(".git", self._folder)
        return os.path.realpath(git.parent if git is not None else self._folder)

    def stat(self, path: str) -> TextEntry:
        try:
            is_dir = self._is_folder(path)
            return Path(path).name, path, is_dir, None if is_dir else len(self.read(path))
        except (OSError, ValueError):
            raise FileNotFoundError(path) from None

    def _is_folder(self, path: str) -> bool:
        """Raises OSError for a folder that cannot be listed."""
        inside = self._limit(path)
        if not Path(path).is_dir() or (inside is not None and not is_inside(path, inside)):
            return False
        os.scandir(path).close()
        return True

    def list(self, path: str) -> list[TextEntry]:
        found = []
        for each in Path(path).iterdir():
            with suppress(FileNotFoundError):
                found.append(self.stat(str(each)))
        return found

    def read(self, path: str) -> bytes:
        """Raises OSError."""
        if not self._is_own(path):
            raise FileNotFoundError(path)
        return read_small_bytes(path, LARGEST_TEXT_BYTES, inside=self._limit(path))

    def _is_own(self, path: str) -> bool:
        """Whether a file above the folder belongs to this user or to the owner of the folder; others may have put it
        there. Raises OSError."""
        is_below = Path(path).is_relative_to(self._folder) or Path(path).is_relative_to(self.folder)
        if is_below or any(map(Path(path).is_relative_to, self._own)):
            return True
        return os.lstat(path).st_uid in (os.geteuid(), self._folder.stat().st_uid)

    def find(self, path: str) -> FoundText:
        try:
            real, is_file = os.path.realpath(path), Path(path).is_file()
        except (OSError, ValueError):  # too long, or not a path at all
            real, is_file = path, False
        return FoundText(real, is_inside(path, Path(self.project())), is_file)

    def _limit(self, path: str) -> Path | None:
        """The folder that a path must not leave."""
        return None if any(map(Path(path).is_relative_to, self._own)) else Path(self.project())
