"""Another host that is connected: what it said about itself, and what a session needs there."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.agent.permissions.sandbox import unusable_sandbox_text
from co_tui.agent.permissions.verdict import VERDICT
from co_tui.inert import one_line
from co_tui.paths import Paths
from co_tui.session.host.address import HostAddress, HostUnreachable
from co_tui.session.host.connection import Connection
from co_tui.session.host.host_snapshots import HostSnapshots
from co_tui.session.host.link import HostLink, SessionLink
from co_tui.session.snapshots.journal import folder_name
from co_tui.settings.rules import SANDBOX_OFF

NAME_CHARS: Final = 200
MOST_INSTRUCTIONS: Final = 20


class RemoteHost:
    """One for a process. Its connection is made again when it was lost."""

    def __init__(self, connection: Connection, link: HostLink) -> None:
        self.connection = connection
        self.link = link
        said = link.began
        self.folder = str(said["folder"])
        """Its real path there."""
        self.at_home = Path(str(said["home"])).is_relative_to(self.folder)
        """Whether it is the home folder there, or above it."""
        self._guarded = {str(name): str(value) for name, value in dict(said["guarded"]).items()}

    @property
    def repository(self) -> tuple[str, str]:
        """Its repository and branch there, as they were when the connection was made."""
        repository, branch = (
            one_line(str(self.link.began.get(name, "")), NAME_CHARS) for name in ("repository", "branch")
        )
        return f"{self.connection.address.host}:{repository}" if repository else "", branch

    @property
    def address(self) -> HostAddress:
        return HostAddress(self.connection.address.host, self.folder)

    @property
    def text(self) -> str:
        """`user@box:/srv/app`."""
        return self.address.text

    def for_reading(self, env: Mapping[str, str] | None) -> Mapping[str, str] | None:
        """The environment of a command; one judged read-only cannot run programs that the folder configures."""
        return {**(env or {}), **self._guarded} if VERDICT.get().only_reads else env

    def surroundings(self, *, with_state: bool) -> dict[str, Any]:
        """Platform, shell, branch and state of the repository. Blocks. Raises OSError."""
        said = self.link.ask("surroundings", with_state)
        return {name: one_line(value, NAME_CHARS) if isinstance(value, str) else value for name, value in said.items()}

    def session(self, session_id: str) -> "SessionHost":
        return SessionHost(self, self.link.session(session_id))

    def close(self) -> None:
        self.link.close()
        self.connection.close()


class SandboxThere(NamedTuple):
    """The sandbox on the host."""

    failure: str
    """Why it cannot be started; empty when it can."""
    hides: bool
    """Whether it can hide other processes."""
    arguments: tuple[str, ...]


class SessionHost:
    """The host as one session uses it."""

    def __init__(self, host: RemoteHost, link: SessionLink) -> None:
        self.host = host
        self.link = link
        self._sandboxes: dict[str, SandboxThere] = {}

    async def sandbox(self, kind: str) -> SandboxThere:
        """Raises `HostUnreachable`."""
        if kind not in self._sandboxes:
            said = await asyncio.to_thread(self.link.ask, "sandbox", kind)
            found = SandboxThere(
                one_line(str(said["failure"]), NAME_CHARS), bool(said["hides"]), tuple(map(str, said["arguments"]))
            )
            if found.failure:
                return found  # the user may install it meanwhile
            self._sandboxes[kind] = found
        return self._sandboxes[kind]

    async def sandbox_problem(self, kind: str) -> str:
        """A sentence on why the sandbox cannot be started there; empty when it can, or is off."""
        if kind == SANDBOX_OFF:
            return ""
        try:
            failure = (await self.sandbox(kind)).failure
        except HostUnreachable as lost:
            return str(lost)
        there = f"on {self.host.connection.address.host}: {failure}"
        return unusable_sandbox_text(kind, there) if failure else ""

    def snapshots(self, paths: Paths, folder: Path) -> HostSnapshots:
        """Its snapshots; the journal of what happened is kept here."""
        return HostSnapshots(paths.snapshots(self.link.session_id) / folder_name(folder), folder, self.link)

    def instructions(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """The instruction files of the folder and above, by path. Blocks. Raises OSError."""
        found = self.link.ask("instructions", tuple(names))
        return [(one_line(path, NAME_CHARS), text) for path, text in found[:MOST_INSTRUCTIONS]]


def connect(address: HostAddress, environ: Mapping[str, str]) -> RemoteHost:
    """Connect to a host. Blocks. Raises `HostUnreachable`: a sentence."""
    connection = Connection(address, environ)
    link = HostLink(connection)
    try:
        try:
            link.ask("begin", address.folder)
            return RemoteHost(connection, link)
        except HostUnreachable:
            raise
        except OSError as error:
            where = one_line(address.text, 300)
            raise HostUnreachable(f"{where} cannot be used as a folder: {one_line(str(error), 200)}.") from error
        except (LookupError, TypeError, ValueError) as error:
            raise HostUnreachable(f"{address.host} gave an answer that co-tui does not understand.") from error
    except BaseException:
        link.close()
        connection.close()
        raise
