"""Preview a file change: run the tool itself on a workspace that writes nothing to disk."""

import asyncio
import posixpath
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Final

from pydantic_ai.workspaces import Workspace, WorkspaceError
from pydantic_ai_harness.filesystem import FileSystem

from co_tui.events.file_diff import NEW_FILE, header
from co_tui.events.tool_calls import changed_paths
from co_tui.session.tools.folder.diff_text import diff_text
from co_tui.session.tools.folder.seen_files import SeenFiles
from co_tui.session.tools.folder.several_files import try_edits
from co_tui.session.tools.folder.trial_folder import TrialFolder

MOST_BYTES: Final = 20_000_000
"""Of a file that is checked for changes before a question about it."""


class FileChanges:
    """Previews changes as diffs. A change that its tool would refuse raises the same error here."""

    def __init__(self, files: FileSystem[Any], folder: Callable[[], Workspace], seen: SeenFiles | None = None) -> None:
        """`folder` returns where the files are; `seen` is what the model has seen of them: a change of a stale one is
        refused."""
        self._tools = files.get_toolset()
        self._folder = folder
        self._seen = seen

    async def diff(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The change as a unified diff. Raises what the tool raises for an invalid change."""
        folder = self._folder()
        trial = TrialFolder(folder)
        paths = changed_paths(tool, arguments)
        for each in paths:
            await self._check_seen(each, folder)
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
        names = {each: await _inside(each, folder) if tool == "edit_files" else path for each in trial.written}
        before = {each: await _original(each, trial) for each in trial.written}
        return await asyncio.to_thread(_preview, trial.written, before, names) or f"No changes to {path}"

    async def _check_seen(self, path: str, folder: Workspace) -> None:
        if self._seen is None:
            return
        with suppress(OSError, ValueError, WorkspaceError):
            real = await folder.realpath(path)
            if ((await folder.stat(real)).size or 0) <= MOST_BYTES:
                self._seen.check(real, path, await folder.read_bytes(real))


def _replacements(arguments: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    several = arguments.get("replacements")
    if several:
        return [(_of(each, "old_text"), _of(each, "new_text")) for each in several]
    return [(arguments.get("old_text") or "", arguments.get("new_text") or "")]


def _of(replacement: Any, name: str) -> str:
    """Arguments are the tool's own objects, or their logged JSON."""
    return str(replacement[name] if isinstance(replacement, Mapping) else getattr(replacement, name))


def _preview(written: Mapping[str, bytes], before: Mapping[str, bytes | None], names: Mapping[str, str]) -> str:
    """The difference to what is there, each file under its name."""
    return "\n".join(filter(None, (diff_text(before[file], after, names[file]) for file, after in written.items())))


async def _original(path: str, trial: TrialFolder) -> bytes | None:
    """What is there now; None for nothing."""
    if path in trial.originals:
        return trial.originals[path]
    try:
        return await trial.wrapped.read_bytes(path) if await trial.wrapped.exists(path) else None
    except (OSError, WorkspaceError):
        return b""


async def _inside(file: str, folder: Workspace) -> str:
    real, start = await folder.realpath(file), await folder.realpath(await folder.working_dir())
    return posixpath.relpath(real, start) if PurePosixPath(real).is_relative_to(start) else real


def new_file_diff(path: str, content: bytes) -> str:
    """The diff of a file that does not exist yet."""
    return diff_text(None, content, path) or "\n".join(header(NEW_FILE, path))
