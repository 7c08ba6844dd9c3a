"""Changes files below one folder, opened part by part so that no link leads out of it."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

from co_tui.session.snapshots.covered_file import TooLarge, entry_of, read_covered
from co_tui.session.snapshots.entries import PERMISSIONS, FileEntry
from co_tui.session.snapshots.objects import oid_of

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
NEW_FOLDER: Final = 0o777
"""Less what the user's mask takes."""


class OpenFolder:
    """Raises OSError for what cannot be done. `part_name` is the name of a file while it is written."""

    def __init__(self, folder: Path, part_name: str) -> None:
        self._root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._part_name = part_name
        self._latest: tuple[str, int] | None = None
        """The folder of the file that was read last, opened."""

    def __enter__(self) -> "OpenFolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget_latest()
        os.close(self._root)

    def status(self, path: str) -> os.stat_result | None:
        """Of the entry itself; None if there is none."""
        try:
            with self._above(path) as (folder, name):
                return os.lstat(name, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None  # a link is where a folder was
            raise

    def read(self, path: str) -> tuple[FileEntry, bytes] | None:
        """A file or link; None if there is none, or it is not covered."""
        try:
            with self._above(path) as (folder, name):
                content, status = read_covered(name, os.lstat(name, dir_fd=folder), dir_fd=folder)
        except (OSError, TooLarge):
            return None
        return entry_of(status, oid_of(content)), content

    def content(self, path: str, status: os.stat_result) -> tuple[bytes, os.stat_result]:
        """As `read_covered`, for many files one after the other. Raises OSError and `TooLarge`."""
        above, _, name = path.rpartition("/")
        if self._latest is None or self._latest[0] != above:
            self._forget_latest()
            with self._above(path) as (folder, _):
                self._latest = above, os.dup(folder)
        return read_covered(name, status, dir_fd=self._latest[1])

    def _forget_latest(self) -> None:
        if self._latest is not None:
            os.close(self._latest[1])
        self._latest = None

    def remove(self, path: str) -> None:
        """Remove a file or a link."""
        with self._above(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, path: str) -> None:
        """Remove a folder if it is empty."""
        with self._above(path) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def make_folder(self, path: str) -> None:
        with self._above(path) as (folder, name):
            try:
                os.mkdir(name, NEW_FOLDER, dir_fd=folder)
            except FileExistsError:
                if not stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
                    raise

    def write(self, path: str, entry: FileEntry, content: bytes) -> None:
        """Replace a file or link in one step; its folder must exist."""
        with self._above(path) as (folder, name):
            part = self._part_name
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)
            try:
                if entry.is_link:
                    os.symlink(content, os.fsencode(part), dir_fd=folder)
                else:
                    _write(part, entry.mode & PERMISSIONS, content, folder)
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=folder)
                raise

    def remove_part(self, path: str) -> None:
        """Remove what a killed process left of writing this file."""
        with contextlib.suppress(OSError), self._above(path) as (folder, _):
            os.unlink(self._part_name, dir_fd=folder)

    @contextlib.contextmanager
    def _above(self, path: str) -> Iterator[tuple[int, str]]:
        """The opened folder of a path, and the path's name in it."""
        *folders, name = path.split("/")
        handle = os.dup(self._root)
        try:
            for each in folders:
                inner = os.open(each, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = inner
            yield handle, name
        finally:
            os.close(handle)


def _write(name: str, mode: int, content: bytes, folder: int) -> None:
    handle = os.open(name, _NEW_FILE, 0o600, dir_fd=folder)
    with open(handle, "wb", buffering=0) as stream:
        view = memoryview(content)
        while view:
            view = view[stream.write(view) :]
        os.fchmod(handle, mode)
