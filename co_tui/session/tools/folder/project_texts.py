"""Texts and skills of a project, as the harness reads them."""

import asyncio
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import RunContext
from pydantic_ai.workspaces import (
    FileEntry,
    SupportsFilesystem,
    SupportsRealpath,
    Workspace,
    WorkspaceBackend,
    WorkspaceRef,
)
from pydantic_ai_harness.skills import SkillCatalog, Skills

from co_tui.session.tools.folder.safe_texts import FoundText, TextEntry


class Texts(Protocol):
    """Small texts of a project, wherever it is. Blocks: call it in a thread. All raise OSError."""

    @property
    def folder(self) -> str: ...
    def project(self) -> str: ...
    def stat(self, path: str) -> TextEntry: ...
    def list(self, path: str) -> Sequence[TextEntry]: ...
    def read(self, path: str) -> bytes: ...
    def find(self, path: str) -> FoundText: ...


class ProjectTexts(WorkspaceBackend, SupportsFilesystem, SupportsRealpath):
    """The texts as a folder that is only read."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    @property
    def ref(self) -> WorkspaceRef | None:
        return None

    async def working_dir(self) -> str:
        return self._texts.folder

    async def stat(self, path: str) -> FileEntry:
        return _entry(await asyncio.to_thread(self._texts.stat, path))

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        return [_entry(each) for each in await asyncio.to_thread(self._texts.list, path)]

    async def read_bytes(self, path: str) -> bytes:
        return await asyncio.to_thread(self._texts.read, path)

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except OSError:
            return False
        return True

    async def realpath(self, path: str) -> str:
        return (await asyncio.to_thread(self._texts.find, path)).real

    async def write_bytes(self, path: str, data: bytes) -> None:
        raise PermissionError(path)

    async def make_dir(self, path: str) -> None:
        raise PermissionError(path)

    async def remove(self, path: str) -> None:
        raise PermissionError(path)


def _entry(found: TextEntry) -> FileEntry:
    name, path, is_dir, size = found
    return FileEntry(name=name, path=path, is_dir=is_dir, size=size)


class ProjectSkills(Skills[Any]):
    """Skills of a project and of the user. Unreadable ones are left out without a warning, which would be printed over
    the screen."""

    def __init__(self, texts: Texts, folders: Sequence[str], own_skills: Sequence[Path]) -> None:
        """`texts` reads the project and the user's skills."""
        super().__init__([*folders, *own_skills], missing_directories="skip", duplicate_names="keep_first")
        self._texts = ProjectTexts(texts)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return await super().for_run(ctx)

    async def _load(self, run_workspace: Workspace | None) -> SkillCatalog:
        return await super()._load(Workspace(self._texts))

    async def instructions_by_name(self) -> dict[str, str]:
        """The instructions of each skill as the model gets them when it loads it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            catalog = await self._load(None)
        return {skill.name: skill.render() for skill in catalog.skills}
