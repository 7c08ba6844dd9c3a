"""Whether commands can run in a sandbox on this machine, found out once."""

import asyncio

from co_tui.settings.rules import SANDBOX
from co_tui.ui.background import start_awaited


class SandboxCheck:
    """Starts a sandbox once, in the background, and remembers what came of it."""

    def __init__(self) -> None:
        self._checking: asyncio.Task[str] | None = None

    def begin(self) -> None:
        """Start finding out, unless that was begun before."""
        self._begun()

    async def trouble(self) -> str:
        """Why no sandbox works here, in a few words; empty when one does."""
        return await asyncio.shield(self._begun())

    def _begun(self) -> "asyncio.Task[str]":
        if self._checking is None:
            self._checking = start_awaited(_failure())
        return self._checking


async def _failure() -> str:
    from co_tui.agent.permissions.sandbox import sandbox_failure

    return await sandbox_failure(SANDBOX)
