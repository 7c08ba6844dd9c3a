"""Files outside of the session's first folder: in those the user added, and those that rules let the model read.

Links out of an added folder, or out of what a rule allows, are refused.
"""

import asyncio
import os
import posixpath
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from co_tui.agent.library_internals import Scope
from co_tui.folders import Folders
from co_tui.paths import read_small_bytes

MOST_BYTES: Final = 64 << 20
"""As for files in the folder."""
Allows = Callable[[Path], bool]
"""Whether a rule lets a resolved path be read."""
OutsideReader = Callable[[], Allows]
"""Returns what the rules allow now."""


class FurtherScope(Scope):
    """A folder other than the first, such as one the user added; paths in it are shown whole."""


@dataclass
class OutsideScope(FurtherScope):
    """A folder that is read by a rule; its root is the folder itself."""

    allows: Allows

    async def read(self, path: str) -> bytes:
        """The content of a file. A link that took its place is refused. Raises `PermissionError`."""
        root = Path(self.bounds.root)
        try:
            return await asyncio.to_thread(read_small_bytes, path, MOST_BYTES, inside=root)
        except OSError as error:
            raise PermissionError(f"{path} cannot be read: {error.strerror or error}.") from error


def shown_in(scope: Scope, path: str) -> str:
    """A resolved path as the model reads it: relative to the first folder, and whole elsewhere."""
    start = scope.bounds.cwd
    is_first = not isinstance(scope, FurtherScope) and Path(path).is_relative_to(scope.bounds.root)
    return posixpath.relpath(path, start) if is_first else path


async def scope_for(
    scope: Scope, path: str, folders: Folders | None, outside: OutsideReader | None = None
) -> tuple[Scope, str]:
    """Where a path is, and the path there: in the first folder, an added one, or, to be read, where a rule allows."""
    if isinstance(scope, FurtherScope):
        return scope, path
    named = str(Path.home() / path[2:]) if path.startswith("~/") else path
    resolved = await scope.workspace.resolve(named, base=scope.bounds.cwd)
    real = await asyncio.to_thread(os.path.realpath, resolved)
    if Path(real).is_relative_to(scope.bounds.root):
        return scope, path if Path(resolved).is_relative_to(scope.bounds.root) else real
    if folders is not None and (added := await asyncio.to_thread(folders.holder, real)) is not None:
        bounds = replace(scope.bounds, root=str(added), cwd=str(added))
        return FurtherScope(scope.workspace, bounds, scope.given), real
    if outside is None:
        return scope, path
    allows = await asyncio.to_thread(outside)
    if not await asyncio.to_thread(allows, Path(real)):
        return scope, named
    root = real if await asyncio.to_thread(os.path.isdir, real) else posixpath.dirname(real)
    return OutsideScope(scope.workspace, replace(scope.bounds, root=root, cwd=root), scope.given, allows), real
