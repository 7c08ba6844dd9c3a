"""A folder to try changes in: nothing is written."""

from pathlib import PurePosixPath
from typing import Any

from pydantic_ai.workspaces import FileEntry, Workspace, WrapperWorkspace


class TrialFolder(WrapperWorkspace):
    """Reads a folder, with what was written here on top."""

    def __init__(self, folder: Workspace) -> None:
        super().__init__(folder)
        self.written: dict[str, bytes] = {}
        self.originals: dict[str, bytes | None] = {}
        """What was read; None where there was nothing."""
        self.made: list[str] = []
        """The new folders, in order."""

    async def read_bytes(self, path: str) -> bytes:
        if path not in self.written:
            if not await self.wrapped.exists(path):  # to find that out by reading can take a sandbox
                raise FileNotFoundError(path)
            self.originals[path] = await self.wrapped.read_bytes(path)
        return self.written.get(path, self.originals.get(path) or b"")

    async def write_bytes(self, path: str, data: bytes) -> None:
        self.written[path] = data

    async def make_dir(self, path: str) -> None:
        self.made.append(path)

    async def stat(self, path: str) -> FileEntry:
        name = PurePosixPath(path).name
        if path in self.made:
            return FileEntry(name=name, path=path, is_dir=True, size=None)
        if path in self.written:
            return FileEntry(name=name, path=path, is_dir=False, size=len(self.written[path]))
        return await self.wrapped.stat(path)

    async def remove(self, path: str) -> None:
        raise PermissionError(path)

    async def run(self, *_: Any, **__: Any) -> Any:
        raise PermissionError("nothing is run to see what would change")
