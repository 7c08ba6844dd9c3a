"""Preview a file change: run the tool itself on a workspace that writes nothing to disk."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.workspaces import FileEntry, LocalWorkspaceBackend
from pydantic_ai_harness.filesystem import FileSystem

from co_tui.events.file_diff import NEW_FILE, header
from co_tui.session.tools.folder.diff_text import diff_text


class FileChanges:
    """Previews changes as diffs. A change that its tool would refuse raises the same error here."""

    def __init__(self, files: FileSystem[Any], folder: Path) -> None:
        self._tools = files.get_toolset()
        self._folder = folder

    async def diff(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The change as a unified diff. Raises what the tool raises for an invalid change."""
        trial = _Trial(self._folder)
        path = str(arguments["path"])
        tools: Any = self._tools
        match tool:
            case "write_file":
                await tools.write_file(path, arguments["content"], workspace=trial)
            case "edit_file":
                for old, new in _replacements(arguments):
                    await tools.edit_file(path, old, new, workspace=trial)
            case "create_directory":
                await tools.create_directory(path, workspace=trial)
                return f"creates the folder {path}"
        return await asyncio.to_thread(_preview, trial.written, path)


class _Trial(LocalWorkspaceBackend):
    """Reads the folder, with what was written here on top; nothing reaches the disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.written: dict[str, bytes] = {}
        self._made: set[str] = set()

    async def read_bytes(self, path: str) -> bytes:
        return self.written[path] if path in self.written else await super().read_bytes(path)

    async def write_bytes(self, path: str, data: bytes) -> None:
        self.written[path] = data

    async def make_dir(self, path: str) -> None:
        self._made.add(path)

    async def stat(self, path: str) -> FileEntry:
        if path in self._made:
            return FileEntry(name=Path(path).name, path=path, is_dir=True, size=None)
        return await super().stat(path)

    async def remove(self, path: str) -> None:
        raise PermissionError(path)

    async def run(self, *_: Any, **__: Any) -> Any:
        raise PermissionError("nothing is run to see what would change")


def _replacements(arguments: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    several = arguments.get("replacements")
    if several:
        return [(_of(each, "old_text"), _of(each, "new_text")) for each in several]
    return [(arguments.get("old_text") or "", arguments.get("new_text") or "")]


def _of(replacement: Any, name: str) -> str:
    """Arguments are the tool's own objects, or their logged JSON."""
    return str(replacement[name] if isinstance(replacement, Mapping) else getattr(replacement, name))


def _preview(written: Mapping[str, bytes], path: str) -> str:
    """The difference to what is on disk."""
    diffs = [diff_text(_on_disk(Path(file)), content, path) for file, content in written.items()]
    return "\n".join(filter(None, diffs)) or f"No changes to {path}"


def _on_disk(file: Path) -> bytes | None:
    return (file.read_bytes() if file.is_file() else b"") if file.exists() else None


def new_file_diff(path: str, content: bytes) -> str:
    """The diff of a file that does not exist yet."""
    return diff_text(None, content, path) or "\n".join(header(NEW_FILE, path))
