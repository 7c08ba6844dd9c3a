"""Texts and skills of a project, read safely before the project is trusted."""

import asyncio
import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import RunContext
from pydantic_ai.workspaces import FileEntry, LocalWorkspaceBackend, Workspace
from pydantic_ai_harness.skills import SkillCatalog, Skills

from co_tui.paths import is_inside, read_small_bytes

LARGEST_TEXT_BYTES: Final = 64_000
"""A larger file is not added to requests; the model can read it like any other."""


class ProjectTexts(LocalWorkspaceBackend):
    """A view of a folder with only small regular files, and no link that leads out of the project.

    Anything else appears not to exist, so that a pipe, a device or an unreadable file fails no turn.
    """

    def __init__(self, folder: Path, project: Path, *, own: Path | None = None) -> None:
        """`own` is a folder of the user's, whose links may lead anywhere."""
        super().__init__(folder)
        self._project = Path(os.path.realpath(project))
        self._own = own

    async def stat(self, path: str) -> FileEntry:
        return await asyncio.to_thread(self._stat, path)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        return await asyncio.to_thread(self._list, path)

    async def read_bytes(self, path: str) -> bytes:
        return await asyncio.to_thread(self.read, path)

    def _stat(self, path: str) -> FileEntry:
        try:
            is_dir = self._is_folder(path)
            return FileEntry(
                name=Path(path).name, path=path, is_dir=is_dir, size=None if is_dir else len(self.read(path))
            )
        except (OSError, ValueError):
            raise FileNotFoundError(path) from None

    def _is_folder(self, path: str) -> bool:
        """Raises OSError for a folder that cannot be listed."""
        inside = self._limit(path)
        if not Path(path).is_dir() or (inside is not None and not is_inside(path, inside)):
            return False
        os.scandir(path).close()
        return True

    def _list(self, path: str) -> list[FileEntry]:
        found = []
        for each in Path(path).iterdir():
            with suppress(FileNotFoundError):
                found.append(self._stat(str(each)))
        return found

    def read(self, path: str) -> bytes:
        """Raises OSError."""
        return read_small_bytes(path, LARGEST_TEXT_BYTES, inside=self._limit(path))

    def _limit(self, path: str) -> Path | None:
        """The folder that a path must not leave."""
        return None if self._own is not None and Path(path).is_relative_to(self._own) else self._project


class ProjectSkills(Skills[Any]):
    """Skills of a project and of the user. Unreadable ones are left out without a warning, which would be printed over
    the screen."""

    def __init__(self, folder: Path, project: Path, folders: Sequence[str], user_skills: Path) -> None:
        super().__init__([*folders, user_skills], missing_directories="skip", duplicate_names="keep_first")
        self._texts = ProjectTexts(folder, project, own=user_skills)

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
