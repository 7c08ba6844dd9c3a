"""The guard of protected names for commands in a sandbox on another host."""

import asyncio
from pathlib import Path
from typing import Any

from co_tui.agent.permissions.protected_files import NOTHING, Protected
from co_tui.session.tools.folder.folder_guard import CreatedProtected, FolderGuard, SetAside
from co_tui.session.workplace.host.link import SessionLink


class HostGuard(FolderGuard):
    """As the guard of a folder here: the same code runs there."""

    def __init__(self, folder: str, link: SessionLink) -> None:
        self._there = Path(folder)
        self._link = link

    @property
    def folder(self) -> Path:
        return self._there

    async def begin(self, *, others_run: bool) -> tuple[Protected, CreatedProtected | None]:
        found = await asyncio.to_thread(self._link.ask, "guard_begin", others_run)
        read_only, pinned = (frozenset(map(str, found[name])) for name in ("read_only", "pinned"))
        return NOTHING._replace(read_only=read_only, pinned=pinned), self._created(found["created"])

    async def end(self) -> CreatedProtected | None:
        return self._created(await asyncio.to_thread(self._link.ask, "guard_end"))

    async def check(self) -> CreatedProtected | None:
        return self._created(await asyncio.to_thread(self._link.ask, "guard_check"))

    def is_protected(self, path: str) -> bool:
        return bool(self._link.ask("is_protected", path))

    def accept(self, path: str, digest: str | None = None) -> None:
        self._link.ask("accept", path, digest)

    def _created(self, found: Any) -> CreatedProtected | None:
        files = [
            SetAside(str(name), kept and Path(kept), restored=bool(restored)) for name, kept, restored in found or ()
        ]
        return CreatedProtected(self._there, tuple(files)) if files else None
