"""The folders that a user adds to a session: checked, logged, and there again when it is resumed."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from co_tui.events import FoldersChanged
from co_tui.folders import NAME_CHARS, AlreadyAdded, FolderRefused, Folders, folder_to_add
from co_tui.inert import one_line
from co_tui.paths import Paths, home_text
from co_tui.session.recorder import Recorder
from co_tui.session.workplace.workplace import Workplace
from co_tui.settings.trust_requests import added_folder_answer, added_folder_request
from co_tui.trust import Trust, TrustRequest

NOT_ADDED: Final = "{} is not added. /add-dir lists what is."


class AddedFolders:
    """Those of one session. What is added or removed counts from the next call of a tool on."""

    def __init__(self, folders: Folders, recorder: Recorder, paths: Paths) -> None:
        self._folders, self._recorder, self._paths = folders, recorder, paths
        self.problems: list[str] = []
        """A sentence for each that could not be used when the session was opened."""

    @property
    def now(self) -> tuple[Path, ...]:
        """Real paths of those that are there."""
        return self._folders.added

    async def restore(self, further: Sequence[str]) -> None:
        """Use those of the log again, and add `further` ones."""
        self.problems = await asyncio.to_thread(self._use_logged)
        for written in further:
            try:
                await self.add(written)
            except AlreadyAdded:
                continue
            except FolderRefused as refused:
                self.problems += [str(refused)] if str(refused) not in self.problems else []

    def _use_logged(self) -> list[str]:
        used, problems = list[Path](), list[str]()
        for name in self._recorder.state.folders:
            shown = one_line(name, NAME_CHARS)
            try:
                self._check_possible()
                real = folder_to_add(name, self._folders.first, used, self._paths)
            except FolderRefused as refused:
                problems.append(f"Not added again: {refused}")
                continue
            if str(real) == name:
                used.append(real)
            else:
                problems.append(f"Not added again: {shown} is a link now.")
        self._folders.use(used)
        return problems

    def _check_possible(self) -> None:
        if self._folders.problem:
            raise FolderRefused(self._folders.problem)

    async def add(self, written: str) -> Path:
        """Returns its real path. Raises `FolderRefused`."""
        self._check_possible()
        real = await asyncio.to_thread(folder_to_add, written, self._folders.first, self._folders.named, self._paths)
        await self._recorder.record(FoldersChanged(added=(str(real),)))
        self._folders.use((*self._folders.named, real))
        return real

    async def remove(self, written: str) -> Path:
        """Also one that is gone. Returns its path. Raises `FolderRefused`."""
        real = await asyncio.to_thread(_real, written, self._folders.first)
        name = next((each for each in self._recorder.state.folders if each in (str(real), written)), None)
        if name is None:
            raise FolderRefused(NOT_ADDED.format(one_line(written, NAME_CHARS)))
        await self._recorder.record(FoldersChanged(removed=(name,)))
        self._folders.use([each for each in self._folders.named if str(each) != name])
        return Path(name)

    def untrusted(self) -> list[TrustRequest]:
        """What folders request that the user does not trust. Reads files."""
        trust = Trust(self._paths.trust_file)
        found = ((each, added_folder_request(each)) for each in self.now)
        return [request for each, request in found if request is not None and not added_folder_answer(trust, each)]


class NextFolders:
    """The same for the session that is opened next."""

    def __init__(self, workplace: Workplace, paths: Paths) -> None:
        self._workplace, self._paths = workplace, paths

    @property
    def now(self) -> tuple[Path, ...]:
        return tuple(map(Path, self._workplace.add_dirs))

    async def add(self, written: str) -> Path:
        workplace = self._workplace
        if workplace.folders.problem:
            raise FolderRefused(workplace.folders.problem)
        real = await asyncio.to_thread(folder_to_add, written, workplace.folder, self.now, self._paths)
        self._use((*self.now, real))
        return real

    async def remove(self, written: str) -> Path:
        real = await asyncio.to_thread(_real, written, self._workplace.folder)
        if real not in self.now:
            raise FolderRefused(NOT_ADDED.format(one_line(written, NAME_CHARS)))
        self._use([each for each in self.now if each != real])
        return real

    def _use(self, added: Sequence[Path]) -> None:
        self._workplace.add_dirs = tuple(map(str, added))
        self._workplace.folders.use(added)


def _real(written: str, first: Path) -> Path:
    try:
        return Path(os.path.realpath(Path(first, Path(written).expanduser())))
    except (OSError, ValueError, RuntimeError):
        return Path(written)


def folder_lines(first: str, added: Sequence[str]) -> str:
    """All folders of a session, for people."""
    names = [one_line(home_text(each), NAME_CHARS) for each in added]
    return "\n".join([f"{one_line(home_text(first), NAME_CHARS)} (this session's folder)", *names])
