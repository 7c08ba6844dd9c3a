"""Change several files in one step: all of them, or none."""

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, NotRequired

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.tools import RunContext
from pydantic_ai.workspaces import Workspace, WorkspaceError
from pydantic_ai_harness.filesystem import FileSystemToolset
from typing_extensions import TypedDict

from co_tui.session.tools.folder.outside_files import shown_in
from co_tui.session.tools.folder.trial_folder import TrialFolder

MOST_FILES: Final = 50


class TextEdit(TypedDict):
    """A replacement of a text that occurs exactly once."""

    old_text: str
    new_text: str


class FileEdit(TypedDict):
    """The change of one file: `replacements`, or its whole new `content`."""

    path: str
    replacements: NotRequired[list[TextEdit]]
    content: NotRequired[str]


class SeveralFiles:
    """The tool, next to those of a toolset for single files, which makes each change."""

    def __init__(self, tools: FileSystemToolset[Any]) -> None:
        self._tools = tools

    async def edit_files(self, ctx: RunContext[Any], files: list[FileEdit]) -> str:
        """Change several files in one step. If one of the changes is not possible, none is made.

        Args:
            ctx: The current agent run context.
            files: For each file its path, and either replacements, each of a text that occurs exactly once, in order;
                or the whole content of a new or replaced file.
        """
        scope = await self._tools._scope(ctx.workspace)
        trial = TrialFolder(scope.workspace)
        await try_edits(self._tools, files, trial)
        reals = sorted({await scope.workspace.realpath(path) for path in trial.written})
        async with AsyncExitStack() as held:
            for real in reals:
                await held.enter_async_context(self._tools._changing(scope, real))
            await _write_all(scope.workspace, trial)
        changed = [shown_in(scope, path) for path in trial.written]
        return f"Changed {len(changed)} {'file' if len(changed) == 1 else 'files'}: {', '.join(changed)}."


async def try_edits(tools: FileSystemToolset[Any], files: Sequence[Mapping[str, Any]], trial: TrialFolder) -> None:
    """Make the changes in a trial folder. Raises `ModelRetry` that names the file whose change is not possible."""
    if not 1 <= len(files) <= MOST_FILES:
        raise ModelRetry(f"Change 1 to {MOST_FILES} files in one call.")
    for each in files:
        path, content, replacements = str(each.get("path", "")), each.get("content"), each.get("replacements")
        if (content is None) == (not replacements):
            raise ModelRetry(f"{path}: give either replacements or content. No changes were written.")
        try:
            if content is not None:
                await tools.write_file(path, content, workspace=trial)
            for edit in replacements or ():
                await tools.edit_file(path, edit["old_text"], edit["new_text"], workspace=trial)
        except ModelRetry as refused:
            raise ModelRetry(f"{path}: {refused.message}\nNone of the files was changed.") from refused


async def _write_all(workspace: Workspace, trial: TrialFolder) -> None:
    """Write what was tried; what is written already is undone if a later file fails."""
    before = {path: await _content(workspace, path) for path in trial.written}
    if any(before.get(path, content) != content for path, content in trial.originals.items()):
        raise ModelRetry("A file has changed. No changes were written. Try again.")
    done: list[str] = []
    try:
        for folder in trial.made:
            await workspace.make_dir(folder)
        for path, content in trial.written.items():
            done.append(path)
            await workspace.write_bytes(path, content)
    except (OSError, WorkspaceError) as error:
        await _undo(workspace, done, before)
        raise ToolFailed(f"A file cannot be written: {error}. None of the files was changed.") from error
    except BaseException:
        await _undo(workspace, done, before)
        raise


async def _undo(workspace: Workspace, done: Sequence[str], before: Mapping[str, bytes | None]) -> None:
    for path in done:
        with contextlib.suppress(OSError, WorkspaceError):
            content = before[path]
            await (workspace.remove(path) if content is None else workspace.write_bytes(path, content))


async def _content(workspace: Workspace, path: str) -> bytes | None:
    try:
        return await workspace.read_bytes(path)
    except (OSError, WorkspaceError):
        return None
