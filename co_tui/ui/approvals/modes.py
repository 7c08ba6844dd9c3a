"""The permission modes: their wording, and whether this machine can sandbox, which mode auto needs."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from textual.content import Content

from co_tui.events.wording import mode_name as mode_name
from co_tui.settings.rules import ASK, AUTO, EDITS, PLAN, SANDBOX
from co_tui.ui.background import start_awaited

_COLOURS: Final[Mapping[str, str]] = {ASK: "$muted", EDITS: "$secondary", PLAN: "$accent", AUTO: "$warning"}


def mode_label(mode: str) -> Content:
    """The name in the mode's colour."""
    return Content.styled(mode_name(mode), f"bold {_COLOURS[mode]}" if mode in _COLOURS else "")


class SandboxCheck:
    """Tries to start a sandbox once, in the background, and keeps the result."""

    def __init__(self, folders: Callable[[], Sequence[Path]] = lambda: ()) -> None:
        """`folders` returns those to work in."""
        self._folders = folders
        self._checking: asyncio.Task[str] | None = None

    def begin(self) -> None:
        """Start the check, unless it was started before."""
        self._started()

    async def trouble(self) -> str:
        """Why no sandbox works here, in a few words; empty if one does."""
        return await asyncio.shield(self._started())

    def _started(self) -> "asyncio.Task[str]":
        if self._checking is None:
            self._checking = start_awaited(_failure(self._folders()))
        return self._checking


async def _failure(folders: Sequence[Path]) -> str:
    from co_tui.agent.permissions.sandbox import sandbox_failure

    return await sandbox_failure(SANDBOX, *folders)
