"""The user's own command on another host."""

import asyncio
from collections.abc import Callable

from co_tui.session.workplace.host.host_process import followed, started
from co_tui.session.workplace.host.link import SessionLink
from co_tui.session.workplace.user_process import UserProcess


class HostUserProcess(UserProcess):
    """Ends with the connection."""

    def __init__(self, link: SessionLink, command: str, on_output: Callable[[bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self.exited, self.closed = loop.create_future(), loop.create_future()
        self._outcome = ""
        self._task = asyncio.create_task(self._run(link, command, on_output), name="the user's command on a host")

    @property
    def outcome(self) -> str:
        return self._outcome

    async def _run(self, link: SessionLink, command: str, on_output: Callable[[bytes], None]) -> None:
        failed = "could not be started"
        try:
            async with started(link, ("/bin/sh", "-c", command), {}, joined=True) as process:
                failed = "was cut off"
                self._outcome = f"ended with exit code {await followed(process, process, on_output, on_output)}"
        except OSError as error:
            self._outcome = f"{failed} ({str(error).rstrip('.')})"
        finally:
            for each in (self.exited, self.closed):
                each.set_result(None)

    def kill(self) -> None:
        self._task.cancel()

    def leave(self) -> None:
        """Nothing is left to read: the host has forgotten it."""
