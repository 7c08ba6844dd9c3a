"""Move away what a sandboxed command created under a protected name, before it takes effect."""

import asyncio
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_folders import git_folder_of, is_harmless
from co_tui.agent.permissions.protected_files import Present, Protected, ProtectedFiles
from co_tui.agent.permissions.protected_names import EDITOR_NAMES, GIT, PROTECTED_NAMES, normalised_name, protected_name
from co_tui.paths import ensure_dir, path_text

_ONLY_FOLDERS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class SetAside(NamedTuple):
    """A file that a command created, replaced or removed, and where it is now."""

    name: str
    """Its path in the folder."""
    kept: Path | None = None
    """Where it was moved to; None if it is gone or could not be moved."""
    restored: bool = False
    """Whether the earlier file was restored."""


class CreatedProtected(NamedTuple):
    """What a check after a command found."""

    folder: Path
    files: tuple[SetAside, ...]

    def sentence(self) -> str:
        return " ".join(map(self._sentence, self.files))

    def _sentence(self, file: SetAside) -> str:
        name = path_text(self.folder / file.name)
        if file.kept is None:
            outcome = "The previous version is restored" if file.restored else "It could not be moved: check it"
            return f"A sandboxed command changed {name}, which can make programs run. {outcome}."
        done = "replaced" if file.restored else "created"
        then = "The previous version is restored" if file.restored else "To use it, check it and move it back"
        moved = f"which can make programs run. It was moved to {path_text(file.kept)}. {then}."
        return f"A sandboxed command {done} {name}, {moved}"


class FolderGuard:
    """Remembers what existed before sandboxed commands ran, and moves away what they add."""

    def __init__(self, folder: Path, aside: Path) -> None:
        """`aside` is a folder that commands cannot reach."""
        self._files = ProtectedFiles(folder)
        self._aside = aside
        self._known: dict[str, Present] = {}
        self._accepted: set[str] = set()
        self._running = 0
        self._moved = 0
        self._checking = asyncio.Lock()

    @property
    def folder(self) -> Path:
        return self._files.folder

    async def begin(self, *, others_run: bool) -> tuple[Protected, CreatedProtected | None]:
        """What a command that starts now must not change. If no other runs, everything there is the user's."""
        async with self._checking:
            found = await asyncio.to_thread(self._files.find)
            created = None
            if others_run or self._running:
                created = await asyncio.to_thread(self._move_new, found)
                found = await asyncio.to_thread(self._files.find) if created else found
            self._known = found.names
            self._running += 1
            return found, created

    async def end(self) -> CreatedProtected | None:
        """A command ended: check what it left."""
        self._running -= 1
        return await self.check()

    async def check(self) -> CreatedProtected | None:
        async with self._checking:
            found = await asyncio.to_thread(self._files.find)
            created = await asyncio.to_thread(self._move_new, found)
            self._known = (await asyncio.to_thread(self._files.find)).names if created else found.names
            return created

    def is_protected(self, path: str) -> bool:
        """Whether a file tool asks before it changes this path."""
        return protected_name(path, self.folder) is not None

    def accept(self, path: str) -> None:
        """The user allowed this path: it was not made by a command."""
        with suppress(ValueError):
            self._accepted.add(str(Path(os.path.realpath(self.folder / path)).relative_to(self.folder)))

    def _move_new(self, found: Protected) -> CreatedProtected | None:
        """The protected names come first: a git folder elsewhere has no effect once no `.git` points to it."""
        moved = self._moved_of(found, [name for name in {*found.names, *self._known} if _is_name(name)])
        if moved:
            found = self._files.find()
        moved += self._moved_of(found, [name for name in {*found.names, *self._known} if not _is_name(name)])
        return CreatedProtected(self.folder, tuple(moved)) if moved else None

    def _moved_of(self, found: Protected, names: list[str]) -> list[SetAside]:
        moved: list[SetAside] = []
        passed: list[str] = []
        for name in sorted(names):
            before, now = self._known.get(name), found.names.get(name)
            if before == now or any(Path(name).is_relative_to(each) for each in passed):
                continue
            if before is not None and not self._was_changed(name, before):
                continue
            passed.append(name)
            if before is None and (self._is_accepted(name) or self._is_in_harmless(name)):
                continue
            moved.append(self._set_aside(name, before))
        return moved

    def _is_in_harmless(self, name: str) -> bool:
        """Also for parts of a new repository, which is judged as a whole."""
        new = [each for each in (Path(name), *Path(name).parents) if str(each) != "." and str(each) not in self._known]
        return any(self._runs_nothing(str(each)) for each in new)

    def _was_changed(self, name: str, before: Present) -> bool:
        """Whether a command can have changed it: a mount prevents that, unless it is a link or has two names."""
        if before.content is None:
            return before.link != ""
        with suppress(OSError):
            return (self.folder / name).read_bytes() != before.content
        return False  # removed, which the mount prevents

    def _is_accepted(self, name: str) -> bool:
        return any(Path(each).is_relative_to(name) or Path(name).is_relative_to(each) for each in self._accepted)

    def _runs_nothing(self, name: str) -> bool:
        """A repository as `git init`, `git clone` or `git worktree add` leaves it."""
        path = self.folder / name
        if path.is_symlink():
            return False
        if path.is_dir():
            inner = {"modules", "worktrees"} & set(path.parent.parts)
            return (normalised_name(path.name) == GIT or bool(inner)) and is_harmless(path, self.folder)
        git = git_folder_of(path) if normalised_name(path.name) == GIT else None
        kept_in_git = git is not None and git.is_relative_to(self.folder) and GIT in git.parts
        return kept_in_git and git is not None and is_harmless(git, self.folder)

    def _set_aside(self, name: str, before: Present | None) -> SetAside:
        kept: Path | None = None
        try:
            with _opened_folder(self.folder, Path(name).parent) as folder:
                last = Path(name).name
                if os.path.lexists(self.folder / name):
                    kept = self._move(last, folder, self.folder / Path(name).parent)
                if before is not None:
                    _restore(last, before, folder)
                    return SetAside(name, kept, restored=True)
        except OSError:
            pass
        return SetAside(name, kept)

    def _move(self, name: str, folder: int, parent: Path) -> Path:
        """Move it out of the folder atomically; rename it within if `aside` is on another disk."""
        while True:
            self._moved += 1
            kept = ensure_dir(self._aside / str(self._moved)) / name
            if not os.path.lexists(kept):
                break
        try:
            os.rename(name, kept, src_dir_fd=folder)
            return kept
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        renamed = f"{name}.set-aside-{os.getpid()}-{self._moved}"
        os.rename(name, renamed, src_dir_fd=folder, dst_dir_fd=folder)
        return parent / renamed


def _is_name(name: str) -> bool:
    return normalised_name(Path(name).name) in (*PROTECTED_NAMES, *EDITOR_NAMES)


@contextmanager
def _opened_folder(root: Path, inside: Path) -> Iterator[int]:
    """A handle on a folder, reached without following links: a running command may replace a folder by one."""
    handle = os.open(root, _ONLY_FOLDERS)
    try:
        for part in inside.parts:
            inner = os.open(part, _ONLY_FOLDERS, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _restore(name: str, before: Present, folder: int) -> None:
    if before.link:
        os.symlink(before.link, name, dir_fd=folder)
        return
    handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(before.content or b"")
