"""Whether commands can run in a sandbox on this machine, found out once."""

import asyncio

from co_tui.settings.rules import SANDBOX


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
            self._checking = asyncio.create_task(_trouble())
        return self._checking


async def _trouble() -> str:
    from co_tui.agent.sandbox import sandbox_trouble, told_unusable

    # Only the cause: what it means for `command_sandbox` does not concern a mode.
    before, after = told_unusable(SANDBOX, "\0").split("\0")
    return (await sandbox_trouble(SANDBOX)).removeprefix(before).removesuffix(after)
