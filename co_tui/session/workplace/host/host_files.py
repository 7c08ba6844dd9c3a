"""The files of a folder on another host, as the harness's tools read and write them."""

import asyncio
import base64
import posixpath
from collections.abc import Sequence
from typing import Any

from pydantic_ai.workspaces import FileEntry, SupportsFilesystem, SupportsRealpath, WorkspaceError

from co_tui.session.tools.after_edit import note_written
from co_tui.session.workplace.host.address import HostUnreachable
from co_tui.session.workplace.host.host_judge import AGAIN
from co_tui.session.workplace.host.link import SessionLink


class HostFiles(SupportsFilesystem, SupportsRealpath):
    """Each operation is one question to the program there. Paths are absolute."""

    _link: SessionLink

    async def read_bytes(self, path: str) -> bytes:
        return bytes(await self._ask("read", path))

    async def write_bytes(self, path: str, data: bytes) -> None:
        await self._ask("write", path, base64.b64encode(data).decode())
        note_written(path)

    async def stat(self, path: str) -> FileEntry:
        return _entry(await self._ask("stat", path))

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        return [_entry(each) for each in await self._ask("list", path)]

    async def make_dir(self, path: str) -> None:
        await self._ask("make", path)

    async def remove(self, path: str) -> None:
        await self._ask("remove", path, again=False)

    async def exists(self, path: str) -> bool:
        return bool(await self._ask("exists", path))

    async def realpath(self, path: str) -> str:
        return str(await self._ask("real", path))

    async def _ask(self, call: str, path: str, *given: str, again: bool = True) -> Any:
        if not posixpath.isabs(path):
            raise ValueError(f"path must be absolute, got {path!r}")
        try:
            return await asyncio.to_thread(self._link.ask, f"files.{call}", path, *given, again=again)
        except HostUnreachable as lost:
            raise WorkspaceError(f"{lost} {AGAIN}") from lost


def _entry(said: Any) -> FileEntry:
    name, path, is_dir, size = said
    return FileEntry(name=str(name), path=str(path), is_dir=bool(is_dir), size=size if isinstance(size, int) else None)
