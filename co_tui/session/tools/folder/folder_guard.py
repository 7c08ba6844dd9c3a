"""Move away what a sandboxed command made that would make other programs run, before it takes effect (X9)."""

import asyncio
import errno
import hashlib
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_folders import (
    GIT,
    GIT_CONTROL_FILES,
    HEAD,
    git_folder_of,
    is_git_layout,
    is_harmless,
)
from co_tui.agent.permissions.obeyed import is_obeyed_entry, normalised_name, obeyed_name
from co_tui.agent.permissions.protected_files import (
    LARGEST_KEPT_BYTES,
    MOST_FOLDERS,
    NOTHING,
    Present,
    Protected,
    ProtectedFiles,
)
from co_tui.paths import ensure_dir, path_text, read_small_bytes

MOST_ROUNDS: Final = 20
_MOVED_FIRST: Final = (HEAD, "commondir", "refs", "objects")
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

    def __init__(self, folder: Path, aside: Path, home: Path, programs: Callable[[], Iterable[Path]] = tuple) -> None:
        """`aside` is a folder that commands cannot reach, `home` the user's; `programs` returns the paths of what
        co-tui itself runs."""
        self._files = ProtectedFiles(folder, home, programs)
        self._programs = programs
        self._aside = aside
        self._home = Path(os.path.realpath(home))
        self._known = NOTHING
        self._accepted: dict[str, str | None] = {}
        """Paths that the user allowed, with the digest of what was written: empty for a folder, None until it is."""
        self._unmounted: set[str] = set()
        """Names that the user allowed while commands ran, which can still change them."""
        self._running = 0
        self._has_begun = False
        """Whether it is known what was there before the first command."""
        self._moved = 0
        self._checking = asyncio.Lock()

    @property
    def folder(self) -> Path:
        return self._files.folder

    async def begin(self, *, others_run: bool) -> tuple[Protected, CreatedProtected | None]:
        """What a command that starts now must not change. If no other runs, everything there is the user's."""
        async with self._checking:
            created = None
            if self._has_begun and (others_run or self._running):
                created = await asyncio.to_thread(self._move_new)
            else:
                self._accepted.clear()
                self._unmounted.clear()
                self._known = await asyncio.to_thread(self._files.find)
                self._has_begun = True
            self._running += 1
            return self._known, created

    async def end(self) -> CreatedProtected | None:
        """A command ended: check what it left."""
        self._running -= 1
        return await self.check()

    async def check(self) -> CreatedProtected | None:
        async with self._checking:
            return await asyncio.to_thread(self._move_new) if self._has_begun else None

    def is_protected(self, path: str) -> bool:
        """Whether a file tool asks before it changes this path."""
        if obeyed_name(path, self.folder, self._home, written=True) is not None:
            return True
        named, real = Path(os.path.normpath(self.folder / path)), Path(os.path.realpath(self.folder / path))
        return any(each.is_relative_to(program) for program in self._programs() for each in (named, real))

    def accept(self, path: str, digest: str | None = None) -> None:
        """The user allowed this path, with the content of this digest: it was not made by a command."""
        with suppress(ValueError):
            self._accepted[str(Path(os.path.realpath(self.folder / path)).relative_to(self.folder))] = digest

    def _move_new(self) -> CreatedProtected | None:
        """Move away what is new until nothing is: a command may still be running, so only what was checked is known."""
        moved: list[SetAside] = []
        for _ in range(MOST_ROUNDS):
            # A command must not hide something behind many folders.
            found = self._files.find(math.inf if self._known.whole else MOST_FOLDERS)
            new = self._moved_first(found)
            moved += new
            if all(each.kept is None and not each.restored for each in new):
                self._known = self._without(found, [each.name for each in new])
                break
        return CreatedProtected(self.folder, tuple(moved)) if moved else None

    def _without(self, found: Protected, failed: list[str]) -> Protected:
        """What was found, but what could not be moved as it was known before: the next check tries again."""
        before = self._known
        names = {name: each for name, each in found.names.items() if name not in failed}
        names |= {name: before.names[name] for name in failed if name in before.names}
        folders = {str(Path(name).parent) for name in failed}
        parts = {folder: each for folder, each in found.git_parts.items() if folder not in folders}
        parts |= {folder: before.git_parts[folder] for folder in folders if folder in before.git_parts}
        return found._replace(names=names, git_parts=parts)

    def _moved_first(self, found: Protected) -> list[SetAside]:
        """Git folders in disguise come first, then the names: a git folder elsewhere has no effect once no `.git`
        points to it."""
        if moved := [self._set_aside(name, None) for name in self._disguises(found)]:
            return moved
        names = {*found.names, *self._known.names} - found.git_parts.keys()
        moved = self._moved_of(found, [name for name in names if _is_name(name)])
        return moved or self._moved_of(found, [name for name in names if not _is_name(name)])

    def _disguises(self, found: Protected) -> Iterator[str]:
        """Of each folder that became a git folder and may run something: what is new and made it one, in any case."""
        for folder in self._new_git_folders(found):
            if not self._is_harmless(folder):
                new = found.git_parts[folder] - self._known.git_parts.get(folder, frozenset())
                first = min((each.lower() for each in new), key=_MOVED_FIRST.index)
                yield from (str(Path(folder, each)) for each in sorted(new) if each.lower() == first)

    def _new_git_folders(self, found: Protected) -> list[str]:
        before = self._known.git_parts
        return [
            each
            for each, parts in sorted(found.git_parts.items())
            if is_git_layout(parts) and not is_git_layout(before.get(each, frozenset()))
        ]

    def _is_harmless(self, folder: str) -> bool:
        """Whether a git folder runs nothing, or the user allowed all that controls it."""
        path = self.folder / folder
        controls = [each for each in ("HEAD", *GIT_CONTROL_FILES) if os.path.lexists(path / each)]
        allowed = all(self._is_accepted(str(Path(folder, each))) for each in controls)
        return allowed or is_harmless(path, self.folder)

    def _moved_of(self, found: Protected, names: list[str]) -> list[SetAside]:
        moved: list[SetAside] = []
        passed = list(map(Path, self._new_git_folders(found)))
        for name in sorted(names):
            before, now = self._known.names.get(name), found.names.get(name)
            is_known = before == now and (name not in self._unmounted or self._is_accepted(name))
            is_known = is_known or name in found.programs - self._known.programs  # the settings name it since
            if is_known or any(Path(name).is_relative_to(each) for each in passed):
                continue
            if name in self._unmounted:
                before = None
            if before is not None and not self._was_changed(name, before):
                continue
            passed.append(Path(name))
            if before is None and self._is_accepted(name):
                self._unmounted.add(name)
            elif before is not None or not self._is_in_harmless(name):
                moved.append(self._set_aside(name, before))
        return moved

    def _is_in_harmless(self, name: str) -> bool:
        """Also for parts of a new repository, which is judged as a whole."""
        for each in map(str, (Path(name), *Path(name).parents)):
            if each not in (".", *self._known.names) and self._runs_nothing(each):
                return True
            if _is_name(each):
                break
        return False

    def _was_changed(self, name: str, before: Present) -> bool:
        """Whether a command can have changed it: a mount prevents that, unless it is a link or has two names."""
        if before.content is None:
            return before.link != ""
        with suppress(OSError):
            return (self.folder / name).read_bytes() != before.content
        return False  # removed, which the mount prevents

    def _is_accepted(self, name: str) -> bool:
        """Whether the user allowed it and all that is in it, and no command changed it since."""
        path = self.folder / name
        inside = {each: digest for each, digest in self._accepted.items() if Path(each).is_relative_to(name)}
        if not inside or None in inside.values():
            return bool(inside)
        files = [Path(folder, file) for folder, _, files in os.walk(path) for file in files]
        return all(map(self._is_as_accepted, files if path.is_dir() and not path.is_symlink() else [path]))

    def _is_as_accepted(self, path: Path) -> bool:
        try:
            content = read_small_bytes(path, LARGEST_KEPT_BYTES)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return content_digest(content) == self._accepted.get(str(path.relative_to(self.folder)))

    def _runs_nothing(self, name: str) -> bool:
        """A repository as `git init`, `git clone` or `git worktree add` leaves it."""
        path = self.folder / name
        if path.is_symlink():
            return False
        if path.is_dir():
            return (normalised_name(path.name) == GIT or self._is_inner(name)) and is_harmless(path, self.folder)
        git = git_folder_of(path) if normalised_name(path.name) == GIT else None
        kept_in_git = git is not None and git.is_relative_to(self.folder) and GIT in git.parts
        return kept_in_git and git is not None and is_harmless(git, self.folder)

    def _is_inner(self, name: str) -> bool:
        """Whether it is in the folder of a repository for its submodules or worktrees."""
        kept = [self.folder / each for each in Path(name).parents if each.name in ("modules", "worktrees")]
        return any(is_git_layout([inside.name for inside in each.parent.iterdir()]) for each in kept)

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
            with suppress(PermissionError):
                os.rename(name, kept, src_dir_fd=folder)
                return kept
            _make_writable(name, folder)
            os.rename(name, kept, src_dir_fd=folder)
            return kept
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        renamed = f"{name}.set-aside-{os.getpid()}-{self._moved}"
        os.rename(name, renamed, src_dir_fd=folder, dst_dir_fd=folder)
        return parent / renamed


def content_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_name(name: str) -> bool:
    return is_obeyed_entry(Path(name).name, normalised_name(Path(name).parent.name))


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


def _make_writable(name: str, folder: int) -> None:
    """Let us move an entry, which needs permission to write to its folder and, if it is one, to itself."""
    os.fchmod(folder, os.fstat(folder).st_mode | stat.S_IRWXU)
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        os.chmod(name, status.st_mode | stat.S_IRWXU, dir_fd=folder)


def _restore(name: str, before: Present, folder: int) -> None:
    if before.link:
        os.symlink(before.link, name, dir_fd=folder)
        return
    handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(before.content or b"")
