"""Files on the other host, read and written for the tools; instruction files and skills of a project."""

import base64
import os
import shutil
import stat
from pathlib import Path
from typing import Any, Final

from co_tui.session.tools.folder.safe_texts import SafeTexts

LARGEST_BYTES: Final = 40_000_000


class RemoteFiles:
    """By absolute path, with the errors that the functions of Python raise."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> str:
        """A regular file's content, in base 64."""
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe may have no writer
        try:
            status = os.fstat(handle)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(path)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"not a regular file: {path!r}")
            if status.st_size > LARGEST_BYTES:
                raise OSError(f"larger than {LARGEST_BYTES // 1_000_000} MB: {path!r}")
            with open(handle, "rb", closefd=False) as file:
                return base64.b64encode(file.read(LARGEST_BYTES)).decode()
        finally:
            os.close(handle)

    def write(self, path: str, content: str) -> None:
        """Write through a link, and create missing folders."""
        file = Path(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise NotADirectoryError(path) from error
        if file.exists() and not file.is_dir() and not file.is_file():
            raise OSError(f"not a regular file: {path!r}")
        file.write_bytes(base64.b64decode(content))

    def stat(self, path: str) -> tuple[str, str, bool, int | None]:
        """Name, path, whether it is a folder, and the size of a file."""
        status = Path(path).stat()
        is_dir = stat.S_ISDIR(status.st_mode)
        return Path(path).name, path, is_dir, None if is_dir else status.st_size

    def list(self, path: str) -> list[tuple[str, str, bool, int | None]]:
        with os.scandir(path) as entries:
            return [_listed(each) for each in sorted(entries, key=lambda each: each.path)]

    def make(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with all that is in it; never the whole folder of the session."""
        file = Path(path)
        if not file.is_symlink() and file.resolve() in (self._root, *self._root.parents):
            raise ValueError("cannot remove the folder of the session")
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file)
        else:
            file.unlink()

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def real(self, path: str) -> str:
        return os.path.realpath(path)


def _listed(entry: "os.DirEntry[str]") -> Any:
    """A broken link, or a loop of links, is an entry without a size."""
    try:
        is_dir = entry.is_dir()
    except OSError:
        is_dir = False
    try:
        size = None if is_dir else entry.stat().st_size
    except OSError:
        size = None
    return entry.name, entry.path, is_dir, size


class RemoteTexts:
    """The same code as here; contents are in base 64."""

    def __init__(self, texts: SafeTexts) -> None:
        self.project, self.stat, self.list = texts.project, texts.stat, texts.list
        self._texts = texts

    def read(self, path: str) -> str:
        return base64.b64encode(self._texts.read(path)).decode()

    def find(self, path: str) -> tuple[str, bool, bool]:
        real, is_inside, is_file = self._texts.find(path)
        return real, is_inside, is_file
