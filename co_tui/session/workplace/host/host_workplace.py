"""A folder on another host, reached by the user's own ssh."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from co_tui.events import Surroundings
from co_tui.folders import ON_A_HOST, Folders
from co_tui.inert import one_line
from co_tui.paths import Paths, current_folder, ensure_dir
from co_tui.session.file_references import NOT_MEANT, NamedFile, NamedFiles, remote_files
from co_tui.session.workplace.branch_changes import BranchChanges, ReviewRefused
from co_tui.session.workplace.here.local_workplace import state_text, today
from co_tui.session.workplace.host.address import HostAddress, HostUnreachable, stand_in
from co_tui.session.workplace.host.remote_host import NAME_CHARS, RemoteHost, connected
from co_tui.session.workplace.workplace import Workplace
from co_tui.settings.permission_rules import RuleInForce

if TYPE_CHECKING:
    from co_tui.session.workplace.session_workplace import SessionParts, SessionWorkplace


class HostWorkplace(Workplace):
    """One for a process; an empty folder of this machine takes its place for what works here."""

    def __init__(self, host: RemoteHost, paths: Paths) -> None:
        self.host = host
        self._listed: list[str] = []
        self.folder = ensure_dir(stand_in(paths.state, host.address))
        self.folders = Folders(self.folder, problem=ON_A_HOST)

    @property
    def text(self) -> str:
        return self.host.address.text

    @property
    def host_text(self) -> str:
        return self.text

    @property
    def at_home(self) -> bool:
        return self.host.home.is_relative_to(self.host.folder)

    @property
    def repository(self) -> tuple[str, str]:
        return self.host.repository

    @property
    def saves_in(self) -> Path:
        return current_folder()

    def in_folder(self, folder: Path) -> Workplace:
        return self

    def can_move_to(self, recorded: str) -> bool:
        return False

    def resume_hint(self, recorded: str, session_id: str) -> str:
        return ""

    async def surroundings(self, environ: Mapping[str, str], *, with_state: bool = False) -> Surroundings:
        """As the host said last if it does not answer."""
        try:
            said = await asyncio.to_thread(self.host.link.ask, "surroundings", with_state)
        except OSError:
            said = {"platform": "", "shell": "", "branch": self.repository[1], "changed": None}
        return Surroundings(
            date=today(),
            platform=f"{one_line(said['platform'], NAME_CHARS)} on {self.host.address.host}",
            shell=one_line(said["shell"], NAME_CHARS),
            folder=self.host.folder,
            branch=one_line(said["branch"], NAME_CHARS),
            state=state_text(said["changed"]),
        )

    def list_files(self) -> list[str]:
        """As they were if the host does not answer."""
        try:
            listed = self.host.link.ask("list_files")
        except OSError:
            return self._listed
        self._listed = [path for path in listed.split("\n") if path.isprintable() and path]
        return self._listed

    def named_files(self, text: str, servers: Collection[str] = ()) -> NamedFiles:
        """Relative names are the host's, and read when the prompt is sent; others are of this machine."""
        return remote_files(text, self.folder, servers, known=self._listed)

    async def attached(self, file: NamedFile) -> NamedFile:
        if not file.is_remote:
            return file
        try:
            data = await asyncio.to_thread(self.host.link.ask, "attached_file", file.name)
        except HostUnreachable as lost:
            raise OSError(f"Cannot read {one_line(file.name, NAME_CHARS)}. {lost}") from lost
        except OSError as error:
            name, why = (one_line(each, NAME_CHARS) for each in (file.name, str(error).rstrip(".")))
            sentence = f"Cannot read {name} on {self.host.address.host}: {why}."
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(f"{sentence} {NOT_MEANT}") from error
            raise OSError(sentence) from error
        return file._replace(data=data, is_remote=False)

    def holds(self, file: NamedFile) -> bool:
        """The host reads only what is in its folder."""
        return file.is_remote

    def branch_changes(self, environ: Mapping[str, str], hides: Sequence[RuleInForce]) -> BranchChanges:
        try:
            since, text = self.host.link.ask("branch_changes", tuple(hides))
        except HostUnreachable as lost:
            raise ReviewRefused(str(lost)) from lost
        return BranchChanges(one_line(since, NAME_CHARS), text.decode(errors="replace"))

    def for_session(self, parts: "SessionParts") -> "SessionWorkplace":
        from co_tui.session.workplace.host.host_session import HostSession

        return HostSession(self.host, self.folder, parts)

    def close(self) -> None:
        """Disconnect."""
        self.host.close()


def connect(address: HostAddress, environ: Mapping[str, str], paths: Paths) -> HostWorkplace:
    """Connect to a host. Blocks. Raises `HostUnreachable`: a sentence."""
    return HostWorkplace(connected(address, environ), paths)
