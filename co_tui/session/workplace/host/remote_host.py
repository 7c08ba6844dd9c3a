"""Another host that is connected, and what it said about itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.agent.permissions.verdict import VERDICT
from co_tui.inert import one_line
from co_tui.session.workplace.host.address import HostAddress, HostUnreachable
from co_tui.session.workplace.host.connection import Connection
from co_tui.session.workplace.host.link import HostLink

NAME_CHARS: Final = 200


class RemoteHost:
    """One for a process. Its connection is made again when it was lost."""

    def __init__(self, connection: Connection, link: HostLink) -> None:
        self.connection = connection
        self.link = link
        said = link.began
        self.folder = str(said["folder"])
        """Its real path there."""
        self.home = Path(str(said["home"]))
        self._guarded = {str(name): str(value) for name, value in dict(said["guarded"]).items()}

    @property
    def address(self) -> HostAddress:
        return HostAddress(self.connection.address.host, self.folder)

    @property
    def repository(self) -> tuple[str, str]:
        """Its repository and branch there, as they were when the connection was made."""
        repository, branch = (
            one_line(str(self.link.began.get(name, "")), NAME_CHARS) for name in ("repository", "branch")
        )
        return f"{self.connection.address.host}:{repository}" if repository else "", branch

    def for_reading(self, env: Mapping[str, str] | None) -> Mapping[str, str] | None:
        """The environment of a command; one judged read-only cannot run programs that the folder configures."""
        return {**(env or {}), **self._guarded} if VERDICT.get().only_reads else env

    def close(self) -> None:
        self.link.close()
        self.connection.close()


def connected(address: HostAddress, environ: Mapping[str, str]) -> RemoteHost:
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
