"""Preview a file change: run the tool itself on a workspace that writes nothing to disk."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pydantic_ai.workspaces import Workspace, WorkspaceError
from pydantic_ai_harness.filesystem import FileSystem

from co_tui.events.file_diff import NEW_FILE, header
from co_tui.events.tool_calls import changed_paths
from co_tui.paths import read_small_bytes
from co_tui.session.tools.folder.diff_text import diff_text
from co_tui.session.tools.folder.seen_files import SeenFiles
from co_tui.session.tools.folder.several_files import try_edits
from co_tui.session.tools.folder.trial_folder import ReadFile, TrialFolder

MOST_BYTES: Final = 20_000_000
"""Of a file that is checked for changes before a question about it."""


class FileChanges:
    """Previews changes as diffs. A change that its tool would refuse raises the same error here."""

    def __init__(
        self,
        files: FileSystem[Any],
        folder: Path,
        seen: SeenFiles | None = None,
        read: ReadFile | None = None,
        elsewhere: Callable[[], Workspace] | None = None,
    ) -> None:
        """`seen` is what the model has seen of the files: a change of a stale one is refused. `read` reads them
        elsewhere than on the disk; `elsewhere` returns the folder of another host."""
        self._tools = files.get_toolset()
        self._folder = folder
        self._seen = seen
        self._read = read
        self._elsewhere = elsewhere

    async def diff(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The change as a unified diff. Raises what the tool raises for an invalid change."""
        base = self._elsewhere() if self._elsewhere is not None else None
        trial = TrialFolder(self._folder, self._read, base)
        paths = changed_paths(tool, arguments)
        for each in paths if self._seen is not None else ():
            await self._check_seen(each, base)
        path = ", ".join(paths)
        tools: Any = self._tools
        match tool:
            case "edit_files":
                await try_edits(tools, arguments["files"], trial)
            case "write_file":
                await tools.write_file(path, arguments["content"], workspace=trial)
            case "edit_file":
                for old, new in _replacements(arguments):
                    await tools.edit_file(path, old, new, workspace=trial)
            case "create_directory":
                await tools.create_directory(path, workspace=trial)
                return f"creates the folder {path}"
        folder = self._folder if base is None else Path(await base.working_dir())
        if base is not None:
            await _read_originals(trial, base)
        return await asyncio.to_thread(_preview, trial, path, folder if tool == "edit_files" else None)

    async def _check_seen(self, path: str, base: Workspace | None) -> None:
        assert self._seen is not None
        if base is not None:
            with suppress(OSError, ValueError, WorkspaceError):
                real = await base.realpath(path)
                self._seen.check(real, path, await base.read_bytes(real))
            return
        real = await asyncio.to_thread(os.path.realpath, self._folder / path)
        with suppress(OSError, ValueError, WorkspaceError):
            if self._read is not None:
                self._seen.check(real, path, await self._read(real))
            else:
                self._seen.check(real, path, await asyncio.to_thread(read_small_bytes, real, MOST_BYTES))


def _replacements(arguments: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    several = arguments.get("replacements")
    if several:
        return [(_of(each, "old_text"), _of(each, "new_text")) for each in several]
    return [(arguments.get("old_text") or "", arguments.get("new_text") or "")]


def _of(replacement: Any, name: str) -> str:
    """Arguments are the tool's own objects, or their logged JSON."""
    return str(replacement[name] if isinstance(replacement, Mapping) else getattr(replacement, name))


def _preview(trial: TrialFolder, path: str, folder: Path | None) -> str:
    """The difference to what is there; of several files, each under its path in the folder."""
    diffs = [
        diff_text(_before(trial, file), content, path if folder is None else _inside(file, folder))
        for file, content in trial.written.items()
    ]
    return "\n".join(filter(None, diffs)) or f"No changes to {path}"


async def _read_originals(trial: TrialFolder, base: Workspace) -> None:
    """What was there before, of files that the change did not read."""
    for path in trial.written:
        if path not in trial.originals:
            try:
                trial.originals[path] = await base.read_bytes(path)
            except (OSError, WorkspaceError):
                trial.originals[path] = None


def _inside(file: str, folder: Path) -> str:
    return os.path.relpath(os.path.realpath(file), os.path.realpath(folder))


def _before(trial: TrialFolder, path: str) -> bytes | None:
    if path in trial.originals:
        return trial.originals[path]
    file = Path(path)
    return (file.read_bytes() if file.is_file() else b"") if file.exists() else None


def new_file_diff(path: str, content: bytes) -> str:
    """The diff of a file that does not exist yet."""
    return diff_text(None, content, path) or "\n".join(header(NEW_FILE, path))
