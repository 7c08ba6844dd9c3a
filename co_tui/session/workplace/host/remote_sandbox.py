"""The sandbox on another host."""

import asyncio
from typing import NamedTuple

from co_tui.agent.permissions.sandbox import unusable_sandbox_text
from co_tui.inert import one_line
from co_tui.session.workplace.host.address import HostUnreachable
from co_tui.session.workplace.host.link import SessionLink
from co_tui.session.workplace.host.remote_host import NAME_CHARS
from co_tui.settings.rules import SANDBOX_OFF


class RemoteSandbox(NamedTuple):
    """The sandbox on the host."""

    failure: str
    """Why it cannot be started; empty when it can."""
    hides: bool
    """Whether it can hide other processes."""
    arguments: tuple[str, ...]


class RemoteSandboxes:
    """Asked once for each kind that works."""

    def __init__(self, link: SessionLink, host: str) -> None:
        self._link, self._host = link, host
        self._known: dict[str, RemoteSandbox] = {}

    async def find(self, kind: str) -> RemoteSandbox:
        """Raises `HostUnreachable`."""
        if kind not in self._known:
            said = await asyncio.to_thread(self._link.ask, "sandbox", kind)
            found = RemoteSandbox(
                one_line(str(said["failure"]), NAME_CHARS), bool(said["hides"]), tuple(map(str, said["arguments"]))
            )
            if found.failure:
                return found  # the user may install it
            self._known[kind] = found
        return self._known[kind]

    async def problem(self, kind: str) -> str:
        """A sentence on why the sandbox cannot be started there; empty when it can, or is off."""
        if kind == SANDBOX_OFF:
            return ""
        try:
            failure = (await self.find(kind)).failure
        except HostUnreachable as lost:
            return str(lost)
        there = f"on {self._host}: {failure}"
        return unusable_sandbox_text(kind, there) if failure else ""
