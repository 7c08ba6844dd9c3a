"""Files outside of the session's folder that rules let the model read. Links out of what a rule allows are refused."""

import asyncio
import os
import posixpath
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from co_tui.agent.library_internals import Scope
from co_tui.paths import read_small_bytes

MOST_BYTES: Final = 64 << 20
"""As for files in the folder."""
Allows = Callable[[Path], bool]
"""Whether a rule lets a resolved path be read."""
OutsideReader = Callable[[], Allows]
"""Returns what the rules allow now."""


@dataclass
class OutsideScope(Scope):
    """A folder that is read by a rule; its root is the folder itself."""

    allows: Allows

    async def read(self, path: str) -> bytes:
        """The content of a file. A link that took its place is refused. Raises `PermissionError`."""
        root = Path(self.bounds.root)
        try:
            return await asyncio.to_thread(read_small_bytes, path, MOST_BYTES, inside=root)
        except OSError as error:
            raise PermissionError(f"{path} cannot be read: {error.strerror or error}.") from error


async def scope_for(scope: Scope, path: str, outside: OutsideReader) -> tuple[Scope, str]:
    """Where a path is read, and the path there: the session's folder, unless a rule allows a path outside of it."""
    named = str(Path.home() / path[2:]) if path.startswith("~/") else path
    resolved = await scope.workspace.resolve(named, base=scope.bounds.cwd)
    real = await asyncio.to_thread(os.path.realpath, resolved)
    if Path(real).is_relative_to(scope.bounds.root):
        return scope, path
    allows = await asyncio.to_thread(outside)
    if not await asyncio.to_thread(allows, Path(real)):
        return scope, named
    root = real if await asyncio.to_thread(os.path.isdir, real) else posixpath.dirname(real)
    return OutsideScope(scope.workspace, replace(scope.bounds, root=root, cwd=root), scope.given, allows), real
