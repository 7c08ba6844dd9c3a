"""The file tools on another host."""

from typing import Any

from pydantic_ai.tools import RunContext
from pydantic_ai_harness.filesystem._toolset import FileSystemToolset, _Scope

from co_tui.agent.permissions.verdict import reading_only
from co_tui.session.tools.folder.folder_tools import FolderToolset


class HostFileTools(FolderToolset):
    """Lists, finds and searches with the harness's commands, which run there. Rules allow no file outside."""

    async def _scope_of(self, scope: _Scope, path: str) -> tuple[_Scope, str]:
        return scope, path

    async def _list_directory(self, scope: _Scope, ctx: RunContext[Any] | None, path: str = ".") -> str:
        return await FileSystemToolset._list_directory(self, scope, ctx, path)

    async def _search_files(
        self,
        scope: _Scope,
        ctx: RunContext[Any] | None,
        pattern: str,
        *,
        path: str = ".",
        include_glob: str | None = None,
    ) -> str:
        with reading_only():
            return await FileSystemToolset._search_files(
                self, scope, ctx, pattern, path=path, include_glob=include_glob
            )

    async def _find_files(
        self, scope: _Scope, ctx: RunContext[Any] | None, pattern: str, *, path: str = ".", files_only: bool = False
    ) -> str:
        with reading_only():
            return await FileSystemToolset._find_files(self, scope, ctx, pattern, path=path, files_only=files_only)
