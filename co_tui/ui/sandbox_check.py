"""Whether commands can run in a sandbox on this machine, found out once."""

import asyncio

from co_tui.settings.rules import SANDBOX


class SandboxCheck:
    """Starts a sandbox the first time somebody asks, and remembers what came of it."""

    def __init__(self) -> None:
        self._checking: asyncio.Task[str] | None = None

    async def trouble(self) -> str:
        """Why no sandbox works here, in a few words; empty when one does."""
        if self._checking is None:
            self._checking = asyncio.create_task(_trouble())
        return await asyncio.shield(self._checking)


async def _trouble() -> str:
    from co_tui.agent.sandbox import sandbox_trouble, told_unusable

    # Only the cause: what it means for `command_sandbox` does not concern a mode.
    before, after = told_unusable(SANDBOX, "\0").split("\0")
    return (await sandbox_trouble(SANDBOX)).removeprefix(before).removesuffix(after)
