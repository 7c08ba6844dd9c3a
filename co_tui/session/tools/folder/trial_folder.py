"""A folder to try changes in: nothing is written to disk."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.workspaces import FileEntry, LocalWorkspaceBackend, Workspace

ReadFile = Callable[[str], Awaitable[bytes]]
"""The content of a file by its path. Raises `OSError` and `WorkspaceError`."""


class TrialFolder(LocalWorkspaceBackend):
    """Reads the folder, with what was written here on top; nothing reaches the disk."""

    def __init__(self, folder: Path, read: ReadFile | None = None, base: Workspace | None = None) -> None:
        """`read` reads files elsewhere than on the disk, such as in an editor; `base` is a folder of another host, to
        be tried instead of this one."""
        super().__init__(folder)
        self._read = base.read_bytes if base is not None else read
        self.base = base
        self.written: dict[str, bytes] = {}
        self.originals: dict[str, bytes | None] = {}
        """What was read; None where there was nothing."""
        self.made: list[str] = []
        """The new folders, in order."""

    async def read_bytes(self, path: str) -> bytes:
        if path not in self.written:
            self.originals[path] = await (self._read or super().read_bytes)(path)
        return self.written.get(path, self.originals.get(path) or b"")

    async def write_bytes(self, path: str, data: bytes) -> None:
        self.written[path] = data

    async def make_dir(self, path: str) -> None:
        self.made.append(path)

    async def stat(self, path: str) -> FileEntry:
        if path in self.made:
            return FileEntry(name=Path(path).name, path=path, is_dir=True, size=None)
        if path in self.written:
            return FileEntry(name=Path(path).name, path=path, is_dir=False, size=len(self.written[path]))
        return await (super().stat(path) if self.base is None else self.base.stat(path))

    async def working_dir(self) -> str:
        return await (super().working_dir() if self.base is None else self.base.working_dir())

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        return await (super().list_dir(path) if self.base is None else self.base.list_dir(path))

    async def exists(self, path: str) -> bool:
        return await (super().exists(path) if self.base is None else self.base.exists(path))

    async def realpath(self, path: str) -> str:
        return await (super().realpath(path) if self.base is None else self.base.realpath(path))

    async def remove(self, path: str) -> None:
        raise PermissionError(path)

    async def run(self, *_: Any, **__: Any) -> Any:
        raise PermissionError("nothing is run to see what would change")
