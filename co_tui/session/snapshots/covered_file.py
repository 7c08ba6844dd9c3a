"""Reads a file as a snapshot keeps it. Follows no link, blocks on no pipe."""

import errno
import os
import stat

from co_tui.session.snapshots.entries import PERMISSIONS, FileEntry
from co_tui.session.snapshots.folder_scan import MOST_FILE_BYTES


class TooLarge(Exception):
    """A file that grew over the limit; has its status."""

    def __init__(self, status: os.stat_result) -> None:
        super().__init__("over the limit")
        self.status = status


def read_covered(file: str, status: os.stat_result, *, dir_fd: int | None = None) -> tuple[bytes, os.stat_result]:
    """The content and status of a regular file, or the target of a link. Raises OSError and `TooLarge`."""
    if stat.S_ISLNK(status.st_mode):
        return os.fsencode(os.readlink(file, dir_fd=dir_fd)), status
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=dir_fd)
    with open(handle, "rb", buffering=0) as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        content = stream.read(MOST_FILE_BYTES + 1) or b""
        if len(content) > MOST_FILE_BYTES:
            raise TooLarge(status)
    return content, status


def entry_of(status: os.stat_result, oid: str) -> FileEntry:
    if stat.S_ISLNK(status.st_mode):
        return FileEntry(stat.S_IFLNK, oid)
    return FileEntry(stat.S_IFREG | (status.st_mode & PERMISSIONS), oid)
