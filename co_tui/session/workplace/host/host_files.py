"""The files of a folder on another host, as tools, instructions and skills use them."""

import asyncio
import base64
import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.tools import RunContext
from pydantic_ai.workspaces import FileEntry, SupportsFilesystem, SupportsRealpath, WorkspaceError
from pydantic_ai_harness.filesystem import FileSystemToolset

from co_tui.agent.library_internals import Scope
from co_tui.agent.permissions.verdict import reading_only
from co_tui.inert import inert
from co_tui.session.tools.after_edit import note_written
from co_tui.session.tools.folder.folder_tools import FolderToolset
from co_tui.session.tools.folder.safe_texts import LARGEST_TEXT_BYTES, FoundText, SafeTexts, TextEntry
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


class HostFileTools(FolderToolset):
    """Lists, finds and searches with the harness's commands, which run there. Rules allow no file outside."""

    async def _scope_of(self, scope: Scope, path: str, *, write: bool = False) -> tuple[Scope, str]:
        return scope, path

    async def _list_directory(self, scope: Scope, ctx: RunContext[Any] | None, path: str = ".") -> str:
        return await FileSystemToolset._list_directory(self, scope, ctx, path)

    async def _search_files(
        self,
        scope: Scope,
        ctx: RunContext[Any] | None,
        pattern: str,
        *,
        path: str = ".",
        include_glob: str | None = None,
    ) -> str:
        with reading_only():
            return await FileSystemToolset._search_files(
                self, scope, ctx, pattern, path=path, include_glob=include_glob
            )

    async def _find_files(
        self, scope: Scope, ctx: RunContext[Any] | None, pattern: str, *, path: str = ".", files_only: bool = False
    ) -> str:
        with reading_only():
            return await FileSystemToolset._find_files(self, scope, ctx, pattern, path=path, files_only=files_only)


class HostTexts:
    """The texts of a project there; those of the user's own folders are of this machine."""

    def __init__(self, folder: str, link: SessionLink, own: Sequence[Path]) -> None:
        self.folder = folder
        self._link = link
        self._own, self._own_texts = own, SafeTexts(own[0] if own else Path(), own)

    def _is_own(self, path: str) -> bool:
        return any(map(Path(path).is_relative_to, self._own))

    def project(self) -> str:
        return str(self._link.ask("texts.project"))

    def stat(self, path: str) -> TextEntry:
        found: TextEntry = self._own_texts.stat(path) if self._is_own(path) else self._link.ask("texts.stat", path)
        return found

    def list(self, path: str) -> Sequence[TextEntry]:
        found: Sequence[TextEntry] = (
            self._own_texts.list(path) if self._is_own(path) else self._link.ask("texts.list", path)
        )
        return found

    def read(self, path: str) -> bytes:
        """What comes from a host is made harmless to show, as its commands' output is."""
        if self._is_own(path):
            return self._own_texts.read(path)
        data: bytes = self._link.ask("texts.read", path)[:LARGEST_TEXT_BYTES]
        return data if b"\0" in data else inert(data.decode(errors="replace")).encode()

    def find(self, path: str) -> FoundText:
        return self._own_texts.find(path) if self._is_own(path) else FoundText(*self._link.ask("texts.find", path))
