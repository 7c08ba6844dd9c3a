"""The harness's file tools; listing and searching start no program and follow no link out of the folder."""

import asyncio
import os
import posixpath
import re
import stat
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast

from pydantic_ai.capabilities import WrapToolExecuteHandler
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.workspaces import WorkspaceError
from pydantic_ai_harness.filesystem import DirectoryListedEvent, FileSystem, FileSystemToolset, Replacement

from co_tui.agent.known_keys import KeyNotThere, KnownKeys
from co_tui.agent.library_internals import Scope, apply_replacements, recoverable
from co_tui.events.storable import storable_text
from co_tui.folder_files import Entry, FolderWalk
from co_tui.folders import Folders
from co_tui.paths import is_inside, path_text
from co_tui.session.call_facts import CALL_FACTS
from co_tui.session.tools.folder.globs import FindPattern, globs, names_hidden
from co_tui.session.tools.folder.made_changes import MADE, MadeChange, with_diff
from co_tui.session.tools.folder.nearest_lines import nearest_lines
from co_tui.session.tools.folder.outside_files import Allows, OutsideReader, OutsideScope, scope_for, shown_in
from co_tui.session.tools.folder.seen_files import SeenFiles
from co_tui.session.tools.folder.several_files import SeveralFiles
from co_tui.session.tools.folder.text_search import CUT, Found, TextSearch
from co_tui.session.tools.folder.trial_folder import TrialFolder

WALKING_S: Final = 10.0
_IGNORED: Final = "[all of these are ignored by .gitignore or .ignore]"
_NUMBERED: Final = re.compile(r"^ *(\d+)\t", re.MULTILINE)
"""A line of a file, as the harness shows it."""
_NO_MATCHES: Final = "No matches found."
_NOT_FOUND: Final = re.compile(r"(?:old_text|replacement (\d+)) not found in ")
"""How the harness says that a text to replace is not there."""
T = TypeVar("T")
ToolMethod = TypeVar("ToolMethod", bound=Callable[..., Awaitable[str]])


def _retryable(method: ToolMethod) -> ToolMethod:
    """Return correctable errors to the model, with the harness's wording."""
    return cast(ToolMethod, recoverable(cast(Any, method)))


Wanted = Callable[[], bool]
"""Whether the caller still waits."""


class _Area(NamedTuple):
    """A folder to search, and how its paths are written."""

    folder: Path
    root: Path
    prefix: str
    """Put before a path to show it."""
    below_root: str
    """The folder, relative to the root."""
    allows: Allows | None = None
    """Outside of the session's folder: what may be read."""


def _area(scope: Scope, folder: str, resolved: str) -> _Area:
    root, allows = Path(scope.bounds.root), scope.allows if isinstance(scope, OutsideScope) else None
    return _Area(Path(folder), root, shown_in(scope, resolved), posixpath.relpath(folder, root), allows)


class FolderToolset(FileSystemToolset[Any]):
    """Lists, finds and searches in this process, in a thread. The harness would start a shell, git and grep."""

    hides: Callable[[Path], bool] | None = None
    outside: OutsideReader | None = None
    seen: SeenFiles | None = None
    keys: KnownKeys | None = None
    folders: Folders | None = None

    async def _scope_of(self, scope: Scope, path: str, *, write: bool = False) -> tuple[Scope, str]:
        """Where a path is, and the path there; what is only read may also be where a rule allows it."""
        return await scope_for(scope, path, self.folders, None if write else self.outside)

    async def _read_target(self, scope: Scope, resolved: str) -> bytes:
        if isinstance(scope, OutsideScope):
            return await scope.read(resolved)
        return await super()._read_target(scope, resolved)

    @_retryable
    async def _list_directory(self, scope: Scope, ctx: RunContext[Any] | None, path: str = ".") -> str:
        scope, path = await self._scope_of(scope, path)
        resolved, real = await self._safe_resolve_real(scope, path, check_allowed=False)
        try:
            entries = await asyncio.to_thread(_listed, real, Path(scope.bounds.root))
        except (FileNotFoundError, NotADirectoryError):
            raise NotADirectoryError(f"Not a directory: {path}") from None
        prefix = shown_in(scope, resolved)
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
        scope: Scope,
        ctx: RunContext[Any] | None,
        pattern: str,
        *,
        path: str = ".",
        include_glob: str | None = None,
    ) -> str:
        scope, path = await self._scope_of(scope, path)
        resolved, real = await self._safe_resolve_real(scope, path, check_allowed=False)
        is_dir = await asyncio.to_thread(os.path.isdir, real)
        folder, prefix = (real, resolved) if is_dir else (posixpath.dirname(real), posixpath.dirname(resolved))
        area = _area(scope, folder, prefix)
        if not await asyncio.to_thread(os.path.lexists, real):
            raise FileNotFoundError(f"Path not found: {path}")
        only = "" if is_dir else posixpath.basename(real)
        found, was_cut = await in_thread(lambda wanted: self._search(area, pattern, include_glob, only, wanted))
        if ctx is not None:
            cut = found.is_full or found.is_late or was_cut
            await ctx.emit(
                self._searched(scope, resolved, pattern, search="grep", match_count=len(found.lines), truncated=cut)
            )
        return "\n".join([*(found.lines or [_NO_MATCHES]), *found.notes(was_cut)])

    def _search(
        self, area: _Area, pattern: str, include_glob: str | None, only: str, wanted: Wanted
    ) -> tuple[Found, bool]:
        """Search the files of an area, or `only` one of them; also says whether the walk was cut short."""
        search, hidden = TextSearch(pattern, wanted=wanted), names_hidden(include_glob)
        walk = FolderWalk(area.folder, inside=area.root, hidden=hidden, longest_s=WALKING_S, keep_going=wanted)
        files = [only] if only else self._files(walk, area, hidden)
        if include_glob:
            matches = globs(include_glob)
            files = [each for each in files if matches(each) or matches(posixpath.join(area.below_root, each))]
        found = search.run(
            files,
            area.folder,
            self._max_search_results,
            inside=area.root,
            shown=lambda each: _shown(area.prefix, each),
        )
        return found, walk.was_cut

    def _files(self, walk: FolderWalk, area: _Area, hidden: bool) -> list[str]:
        """The files of an area that may be read, folder by folder."""
        files = [each.path for each in self._readable(walk, area, hidden=hidden) if not each.is_dir]
        if (hides := self.hides) is not None:
            files = [each for each in files if not hides(Path(area.folder, each).resolve())]
        return sorted(files, key=_by_folder)

    @_retryable
    async def _find_files(
        self, scope: Scope, ctx: RunContext[Any] | None, pattern: str, *, path: str = ".", files_only: bool = False
    ) -> str:
        if posixpath.isabs(pattern):
            raise ValueError(f"Pattern {pattern!r} must be relative to the search path, not absolute.")
        glob = FindPattern(pattern, files_only)
        scope, path = await self._scope_of(scope, path)
        resolved, real = await self._safe_resolve_real(scope, path, check_allowed=False)
        if not await asyncio.to_thread(os.path.isdir, real):
            raise NotADirectoryError(f"Not a directory: {path}")
        area = _area(scope, real, resolved)
        found, hidden, was_cut = await in_thread(lambda wanted: self._find(area, glob, wanted))
        notes = []
        if not found:
            found, hidden, was_cut = await in_thread(lambda wanted: self._find(area, glob, wanted, ignored=True))
            notes = [_IGNORED] if found else []
        found.sort(key=lambda each: _by_folder(each.path))
        count = min(len(found), self._max_find_results)
        if ctx is not None:
            cut = was_cut or len(found) > count
            await ctx.emit(self._searched(scope, resolved, pattern, search="find", match_count=count, truncated=cut))
        lines = [f"{_shown(area.prefix, each.path)}{'/' * each.is_dir}" for each in found[:count]]
        if len(found) > count:
            notes.append(f"[... truncated at {count} matches]")
        notes += [*_hidden_note(hidden), *([CUT] if was_cut else [])]
        return "\n".join([*(lines or [_NO_MATCHES]), *notes])

    def _find(
        self, area: _Area, glob: FindPattern, wanted: Wanted, *, ignored: bool = False
    ) -> tuple[list[Entry], int, bool]:
        """What matches, how many hidden matches were left out, and whether the walk was cut short."""
        walk = FolderWalk(
            area.folder,
            inside=area.root,
            hidden=glob.names_hidden,
            ignored=ignored,
            longest_s=WALKING_S,
            keep_going=wanted,
        )
        found, left_out = [], 0
        for each in self._readable(walk, area, hidden=True):
            if glob.is_above(each):
                break  # the walk goes down level by level
            if each.is_hidden and not glob.names_hidden:
                left_out += glob.may_match(each)
            elif glob.matches(each):
                found.append(each)
        return found, left_out, walk.was_cut

    @_retryable
    async def _write_file(
        self,
        scope: Scope,
        ctx: RunContext[Any] | None,
        path: str,
        content: str,
        *,
        expected_hash: str | None = None,
    ) -> str:
        """Creates missing folders, with the same checks as for the file: inside, and through no link out."""
        scope, path = await self._scope_of(scope, path, write=True)
        resolved = await self._safe_resolve(scope, path, write=True)
        parent = posixpath.dirname(resolved)
        if await self._stat(scope, parent) is None and await self._nearest_existing_is_dir(scope, resolved):
            await scope.workspace.make_dir(parent)
        (content,) = await self._with_keys(scope, resolved, path, content)
        return await super()._write_file(scope, ctx, path, content, expected_hash=expected_hash)

    @_retryable
    async def _edit_file(
        self,
        scope: Scope,
        ctx: RunContext[Any] | None,
        path: str,
        replacements: Sequence[Replacement],
        *,
        expected_hash: str | None = None,
    ) -> str:
        """If a text is not found, names the nearest lines."""
        scope, path = await self._scope_of(scope, path, write=True)
        resolved = await self._safe_resolve(scope, path, write=True)
        said = [text for each in replacements for text in (each.old_text, each.new_text)]
        texts = iter(await self._with_keys(scope, resolved, path, *said))
        replacements = [replace(each, old_text=next(texts), new_text=next(texts)) for each in replacements]
        try:
            return await super()._edit_file(scope, ctx, path, replacements, expected_hash=expected_hash)
        except ModelRetry as refused:
            if not (found := _NOT_FOUND.match(refused.message)):
                raise
            *earlier, missing = replacements[: int(found[1] or 1)]
            text = apply_replacements((await scope.workspace.read_bytes(resolved)).decode(), earlier, path)
            near = await asyncio.to_thread(nearest_lines, text, missing.old_text)
            raise ModelRetry(f"{refused.message} {near}".rstrip()) from refused

    async def _with_keys(self, scope: Scope, resolved: str, path: str, *texts: str) -> Sequence[str]:
        """The texts for a file with its keys, of which the model was shown only the names."""
        if self.keys is None or not any(" removed]" in each for each in texts):
            return texts
        there = await _content(scope, resolved) or b""
        if isinstance(scope.given, TrialFolder):  # an earlier edit of the same call may have taken the key away
            there += b"\n" + (scope.given.originals.get(resolved) or b"")
        try:
            return [self.keys.put_back(each, there.decode(errors="replace")) for each in texts]
        except KeyNotThere as error:
            raise ModelRetry(f"{path}: {error} No changes were written.") from None

    @_retryable
    async def _create_directory(self, scope: Scope, ctx: RunContext[Any] | None, path: str) -> str:
        scope, path = await self._scope_of(scope, path, write=True)
        return await super()._create_directory(scope, ctx, path)

    @asynccontextmanager
    async def _changing(self, scope: Scope, real: str) -> AsyncGenerator[None]:
        """While no other call changes the file: note what it was before and is after."""
        async with super()._changing(scope, real):
            if isinstance(scope.given, TrialFolder):
                yield
                return
            before, path = await _content(scope, real), shown_in(scope, real)
            if self.seen is not None:
                self.seen.check(real, path, before)
            yield
            after = await _content(scope, real)
            if self.seen is not None:
                self.seen.note(real, after)
            if (made := MADE.get()) is not None:
                made.append(MadeChange(before, after, path))

    @_retryable
    async def _read_file(
        self, scope: Scope, ctx: RunContext[Any] | None, path: str, *, offset: int = 0, limit: int | None = None
    ) -> Any:
        """Notes what the model sees; of a part, the whole file."""
        scope, path = await self._scope_of(scope, path)
        result = await super()._read_file(scope, ctx, path, offset=offset, limit=limit)
        if (facts := CALL_FACTS.get()) is not None and (shown := _shown_lines(result)) is not None:
            read = shown_in(scope, await self._safe_resolve(scope, path))
            facts.read = ({"path": storable_text(read), **shown},)
        if self.seen is not None and not isinstance(scope, OutsideScope):
            with suppress(OSError, WorkspaceError, ValueError):
                real = (await self._safe_resolve_real(scope, path))[1]
                self.seen.note(real, await _content(scope, real))
        return result

    def _readable(self, entries: Iterable[Entry], area: _Area, *, hidden: bool) -> Iterator[Entry]:
        for each in entries:
            path = posixpath.normpath(posixpath.join(area.below_root, each.path))
            if not (hidden or not each.is_hidden) or not self._patterns.readable(path):
                continue
            if area.allows is None or area.allows((area.folder / each.path).resolve()):
                yield each


class FolderFiles(FileSystem[Any]):
    """The harness's file tools, with the toolset above."""

    hides: Callable[[Path], bool] | None = None
    """Whether a file is left out of searches; None to leave out none."""
    outside: OutsideReader | None = None
    """Which files outside of the folder rules allow to read; None for none."""
    seen: SeenFiles | None = None
    """What the model has seen of the files; None to change files whatever it has seen."""
    keys: KnownKeys | None = None
    """Those that the model is not shown, to put them back into what it writes."""
    folders: Folders | None = None
    """Those of the session; None if there is only one."""
    changes_several: bool = False
    """Whether to offer the tool that changes several files."""
    makes: type[FolderToolset] = FolderToolset
    """The tools themselves."""

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Keep the diff of a change with its result."""
        return await with_diff(call.tool_name, args, lambda: handler(args))

    def _file_system_toolset(self) -> FileSystemToolset[Any]:
        if self._toolset is None:
            self._toolset = self.makes(
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
            self._toolset.hides, self._toolset.seen, self._toolset.keys = self.hides, self.seen, self.keys
            self._toolset.outside, self._toolset.folders = self.outside, self.folders
            if self.changes_several:
                self._toolset.add_function(SeveralFiles(self._toolset).edit_files)
        return self._toolset


def _shown_lines(result: Any) -> dict[str, int] | None:
    """The first and the last line that a read showed; nothing of an empty file or an image, None if it showed none."""
    if not isinstance(result, str):
        return {}
    if numbers := _NUMBERED.findall(result):
        return {"first": int(numbers[0]), "last": int(numbers[-1])}
    return {} if result.endswith("\n(empty file)\n") else None


async def _content(scope: Scope, real: str) -> bytes | None:
    """A file's bytes; None if there is none, or if it cannot be read."""
    try:
        return await scope.workspace.read_bytes(real)
    except (OSError, WorkspaceError):
        return None


async def in_thread(work: Callable[[Wanted], T]) -> T:
    """Run work in a thread; it gets a function that returns whether the caller still waits."""
    given_up = threading.Event()
    try:
        return await asyncio.to_thread(work, lambda: not given_up.is_set())
    finally:
        given_up.set()


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
