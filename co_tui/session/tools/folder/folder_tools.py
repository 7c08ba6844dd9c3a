"""The harness's file tools; listing and searching start no program and follow no link out of the folder."""

import asyncio
import fnmatch
import os
import posixpath
import re
import stat
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from pydantic_ai.tools import RunContext
from pydantic_ai_harness.filesystem import DirectoryListedEvent, FileSystem
from pydantic_ai_harness.filesystem._matching import glob_match, glob_parts
from pydantic_ai_harness.filesystem._toolset import FileSystemToolset, _recoverable, _Scope

from co_tui.folder_files import Entry, FolderWalk
from co_tui.paths import is_inside, path_text
from co_tui.session.tools.folder.text_search import Found, TextSearch

WALKING_S: Final = 10.0
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_GLOBS: Final = 64
_MOST_NAMED: Final = 10
_CUT: Final = "[... the folder is too large to search completely; narrow the path]"
_IGNORED: Final = "[all of these are ignored by .gitignore or .ignore]"
_LATE: Final = "[... the search timed out; narrow the path]"
T = TypeVar("T")
ToolMethod = TypeVar("ToolMethod", bound=Callable[..., Awaitable[str]])


def _retryable(method: ToolMethod) -> ToolMethod:
    """Return correctable errors to the model, with the harness's wording."""
    return cast(ToolMethod, _recoverable(cast(Any, method)))


class FolderFiles(FileSystem[Any]):
    """The harness's file tools, with the toolset below."""

    hides: Callable[[Path], bool] | None = None
    """Whether a file is left out of searches; None to leave out none."""

    def _file_system_toolset(self) -> FileSystemToolset[Any]:
        if self._toolset is None:
            self._toolset = FolderToolset(
                allowed_patterns=self.allowed_patterns,
                denied_patterns=self.denied_patterns,
                read_only_patterns=self.read_only_patterns,
                max_read_lines=self.max_read_lines,
                max_read_chars=self.max_read_chars,
                max_list_results=self.max_list_results,
                max_search_results=self.max_search_results,
                max_find_results=self.max_find_results,
                id=self.id or "file_system",
                content_hashes=self.content_hashes,
                tools=self.tools,
                max_retries=self.max_retries,
            )
            self._toolset.hides = self.hides
        return self._toolset


class FolderToolset(FileSystemToolset[Any]):
    """Lists, finds and searches in this process, in a thread. The harness would start a shell, git and grep."""

    hides: Callable[[Path], bool] | None = None

    @_retryable
    async def _list_directory(self, scope: _Scope, ctx: RunContext[Any] | None, path: str = ".") -> str:
        resolved, real = await self._safe_resolve_real(scope, path, check_allowed=False)
        try:
            entries = await asyncio.to_thread(_listed, real, Path(scope.bounds.root))
        except (FileNotFoundError, NotADirectoryError):
            raise NotADirectoryError(f"Not a directory: {path}") from None
        prefix = posixpath.relpath(resolved, scope.bounds.cwd)
        lines = [f"{_shown(prefix, name)}{kind}" for name, kind in entries if name[0] != "."]
        hidden, count = len(entries) - len(lines), min(len(lines), self._max_list_results)
        if len(lines) > count:
            lines[count:] = [f"[... truncated at {count} entries]"]
        if ctx is not None:
            await ctx.emit(DirectoryListedEvent(**self._event_location(scope, resolved), entry_count=count))
        return "\n".join([*lines, *_hidden_note(hidden)]) or "(empty directory)"

    @_retryable
    async def _search_files(
        self,
        scope: _Scope,
        ctx: RunContext[Any] | None,
        pattern: str,
        *,
        path: str = ".",
        include_glob: str | None = None,
    ) -> str:
        resolved, real = await self._safe_resolve_real(scope, path, check_allowed=False)
        root = Path(scope.bounds.root)
        is_dir = await asyncio.to_thread(os.path.isdir, real)
        folder, prefix = (real, resolved) if is_dir else (posixpath.dirname(real), posixpath.dirname(resolved))
        shown = posixpath.relpath(prefix, scope.bounds.cwd)
        below_root = posixpath.relpath(folder, root)

        def search(wanted: Callable[[], bool]) -> tuple[Found, bool]:
            search, hidden = TextSearch(pattern, wanted=wanted), names_hidden(include_glob)
            walk = FolderWalk(Path(folder), inside=root, hidden=hidden, longest_s=WALKING_S, keep_going=wanted)
            files = [posixpath.basename(real)]
            if is_dir:
                files = [each.path for each in self._readable(walk, below_root, hidden=hidden) if not each.is_dir]
                if (hides := self.hides) is not None:
                    files = [each for each in files if not hides(Path(folder, each).resolve())]
                files.sort(key=_by_folder)
            if include_glob:
                matches = globs(include_glob)
                files = [each for each in files if matches(each) or matches(posixpath.join(below_root, each))]
            found = search.run(
                files, Path(folder), self._max_search_results, inside=root, shown=lambda each: _shown(shown, each)
            )
            return found, walk.was_cut

        if not await asyncio.to_thread(os.path.lexists, real):
            raise FileNotFoundError(f"Path not found: {path}")
        found, was_cut = await in_thread(search)
        if ctx is not None:
            cut = found.is_full or found.is_late or was_cut
            await ctx.emit(
                self._searched(scope, resolved, pattern, search="grep", match_count=len(found.lines), truncated=cut)
            )
        notes = [
            *([f"[... truncated at {len(found.lines)} matches]"] if found.is_full else []),
            *([_skipped_note(found.skipped)] if found.skipped else []),
            *([_LATE] if found.is_late else []),
            *([_CUT] if was_cut else []),
        ]
        return "\n".join([*(found.lines or ["No matches found."]), *notes])

    @_retryable
    async def _find_files(
        self, scope: _Scope, ctx: RunContext[Any] | None, pattern: str, *, path: str = ".", files_only: bool = False
    ) -> str:
        if posixpath.isabs(pattern):
            raise ValueError(f"Pattern {pattern!r} must be relative to the search path, not absolute.")
        parts, folders_only = glob_parts(pattern)
        resolved, real = await self._safe_resolve_real(scope, path, check_allowed=False)
        if not await asyncio.to_thread(os.path.isdir, real):
            raise NotADirectoryError(f"Not a directory: {path}")
        below_root = posixpath.relpath(real, scope.bounds.root)
        anywhere = "**" in parts

        def matches(path: str) -> bool:
            # The last part rules out most paths quickly.
            *_, name = names = path.split("/")
            return (parts[-1] == "**" or fnmatch.fnmatchcase(name, parts[-1])) and glob_match(parts, names)

        def find(wanted: Callable[[], bool], ignored: bool) -> tuple[list[Entry], int, bool]:
            hidden = names_hidden(pattern)
            walk = FolderWalk(
                Path(real), inside=Path(scope.bounds.root), hidden=hidden, ignored=ignored, longest_s=WALKING_S,
                keep_going=wanted,
            )  # fmt: skip
            found, left_out = [], 0
            for each in self._readable(walk, below_root, hidden=True):
                if not anywhere and each.path.count("/") >= len(parts):
                    break  # the walk goes down level by level
                if each.is_hidden and not hidden:
                    left_out += (each.is_dir and anywhere) or matches(each.path)
                elif matches(each.path) and not (files_only if each.is_dir else folders_only):
                    found.append(each)
            return found, left_out, walk.was_cut

        found, hidden, was_cut = await in_thread(lambda wanted: find(wanted, False))
        notes = []
        if not found:
            found, hidden, was_cut = await in_thread(lambda wanted: find(wanted, True))
            notes = [_IGNORED] if found else []
        found.sort(key=lambda each: _by_folder(each.path))
        count = min(len(found), self._max_find_results)
        if ctx is not None:
            cut = was_cut or len(found) > count
            await ctx.emit(self._searched(scope, resolved, pattern, search="find", match_count=count, truncated=cut))
        prefix = posixpath.relpath(resolved, scope.bounds.cwd)
        lines = [f"{_shown(prefix, each.path)}{'/' * each.is_dir}" for each in found[:count]]
        if len(found) > count:
            notes.append(f"[... truncated at {count} matches]")
        notes += [*_hidden_note(hidden), *([_CUT] if was_cut else [])]
        return "\n".join([*(lines or ["No matches found."]), *notes])

    @_retryable
    async def _write_file(
        self,
        scope: _Scope,
        ctx: RunContext[Any] | None,
        path: str,
        content: str,
        *,
        expected_hash: str | None = None,
    ) -> str:
        """Creates missing folders, with the same checks as for the file: inside, and through no link out."""
        resolved = await self._safe_resolve(scope, path, write=True)
        parent = posixpath.dirname(resolved)
        if await self._stat(scope, parent) is None and await self._nearest_existing_is_dir(scope, resolved):
            await scope.workspace.make_dir(parent)
        return await super()._write_file(scope, ctx, path, content, expected_hash=expected_hash)

    def _readable(self, entries: Iterable[Entry], below_root: str, *, hidden: bool) -> Iterator[Entry]:
        for each in entries:
            path = posixpath.normpath(posixpath.join(below_root, each.path))
            if (hidden or not each.is_hidden) and self._patterns.readable(path):
                yield each


async def in_thread(work: Callable[[Callable[[], bool]], T]) -> T:
    """Run work in a thread; it gets a function that returns whether the caller still waits."""
    given_up = threading.Event()
    try:
        return await asyncio.to_thread(work, lambda: not given_up.is_set())
    finally:
        given_up.set()


def names_hidden(pattern: str | None) -> bool:
    """Whether a glob names a hidden file or folder: only then are they searched."""
    parts = re.split(r"[/{,]", pattern or "")
    return any(part.startswith(".") and part not in (".", "..") for part in parts)


def globs(pattern: str) -> Callable[[str], bool]:
    """A matcher for a glob whose `*` also spans `/`, with `**` and `{a,b}` as in ripgrep."""
    given = pattern.removeprefix("!").removeprefix("./").removeprefix("/")
    forms = {form for each in _expanded(given) for form in (each, each.replace("**/", ""))}
    return lambda path: any(fnmatch.fnmatchcase(path, form) for form in forms) != pattern.startswith("!")


def _expanded(pattern: str) -> list[str]:
    done: list[str] = []
    open_ = [pattern]
    while open_ and len(done) < _MOST_GLOBS:
        each = open_.pop()
        braces = _BRACES.search(each)
        if braces is None:
            done.append(each)
        else:
            open_ += [f"{each[: braces.start()]}{part}{each[braces.end() :]}" for part in braces[1].split(",")]
    return done


def _listed(folder: str, root: Path) -> list[tuple[str, str]]:
    with os.scandir(folder) as entries:
        found = [(entry.name, kind) for entry in entries if (kind := _kind(entry, root)) is not None]
    return sorted(found)


def _kind(entry: os.DirEntry[str], root: Path) -> str | None:
    """The text after a name; None for a broken link."""
    try:
        if entry.is_symlink() and not is_inside(entry.path, root):
            return "  (link out of the folder)"
        if entry.is_dir():
            return "/"
        status = entry.stat()
    except OSError:
        return None
    return f"  ({status.st_size} bytes)" if stat.S_ISREG(status.st_mode) else "  (pipe, socket or device)"


def _shown(prefix: str, name: str) -> str:
    """A path as one line of text, whatever characters it has."""
    path = name if prefix == "." else f"{prefix}/{name}"
    return path_text(Path(path)).replace("\n", "\\n")


def _by_folder(path: str) -> str:
    """Sorts paths part by part."""
    return path.replace("/", "\0")


def _hidden_note(count: int) -> Sequence[str]:
    return [f"[{count} hidden entries omitted; name a hidden path explicitly to include it]"] if count else []


def _skipped_note(skipped: Sequence[str]) -> str:
    more = ", ..." if len(skipped) > _MOST_NAMED else ""
    return f"[{len(skipped)} files skipped (too large or unreadable): {', '.join(skipped[:_MOST_NAMED])}{more}]"
