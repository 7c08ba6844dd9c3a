"""A folder on another host, as one session uses it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from co_tui.agent.permissions.judge import Judge
from co_tui.inert import inert
from co_tui.session.snapshots.session_snapshots import kept_snapshots
from co_tui.session.tools.folder.safe_texts import LARGEST_TEXT_BYTES, FoundText, SafeTexts, TextEntry
from co_tui.session.tools.folder.session_folder import WrapFolder
from co_tui.session.workplace.host.host_commands import HostCommands
from co_tui.session.workplace.host.host_file_tools import HostFileTools
from co_tui.session.workplace.host.host_folder import HostBackend, HostFolder
from co_tui.session.workplace.host.host_judge import HostJudge
from co_tui.session.workplace.host.host_snapshots import HostSnapshots
from co_tui.session.workplace.host.host_user_process import HostUserProcess
from co_tui.session.workplace.host.link import SessionLink
from co_tui.session.workplace.host.remote_host import RemoteHost
from co_tui.session.workplace.host.remote_sandbox import RemoteSandboxes
from co_tui.session.workplace.session_workplace import SessionParts, SessionWorkplace
from co_tui.session.workplace.user_process import UserProcess


class HostSession(SessionWorkplace):
    """Everything is asked of the program there. What a command left under a protected name is only reported."""

    commands: HostCommands
    file_tools = HostFileTools

    def __init__(self, host: RemoteHost, folder: Path, parts: SessionParts) -> None:
        """`folder` is the empty one of this machine."""
        self._host, self._folder = host, folder
        recorder, paths = parts.recorder, parts.paths
        session_id = recorder.session_id
        self._link = link = host.link.session(session_id)
        self.folder_text = f"{host.folder} on the host {host.address.host}"
        self.commands = HostCommands(recorder.announce, paths.commands(session_id), session_id, link=link)
        self.snapshots = HostSnapshots(kept_snapshots(paths, session_id, folder), link)
        self._own = (paths.config, paths.state, paths.data)
        self._sandboxes = RemoteSandboxes(link, host.address.host)

    def judge(self, is_read_only: Callable[[str], bool]) -> Judge:
        return HostJudge(
            folder=self._folder,
            home=Path.home(),
            own=self._own,
            is_read_only=is_read_only,
            link=self._link,
            shown=self._host.address.text,
            remote_folder=Path(self._host.folder),
            remote_home=self._host.home,
        )

    async def sandbox_problem(self, kind: str) -> str:
        return await self._sandboxes.problem(kind)

    def tool_folder(
        self, kind: str, *, is_sandboxed: Callable[[], bool], read_only: bool, wrap: WrapFolder | None
    ) -> HostFolder:
        there = HostBackend(self._host, self._link, self.commands)
        given: dict[str, Any] = {"is_sandboxed": is_sandboxed, "read_only": read_only, "wrap": wrap}
        return HostFolder(self._folder, there, self._sandboxes, kind, **given)

    def texts(self, own: Path | None = None) -> "HostTexts":
        return HostTexts(self._host.folder, self._link, own)

    async def start_command(self, command: str, on_output: Callable[[bytes], None]) -> UserProcess:
        return HostUserProcess(self._link, command, on_output)

    async def complete_restores(self) -> str:
        """None: what other sessions restore there is theirs to complete."""
        return ""


class HostTexts:
    """The texts of a project there; those of the user's own folder are of this machine."""

    def __init__(self, folder: str, link: SessionLink, own: Path | None) -> None:
        self.folder = folder
        self._link = link
        self._own, self._own_texts = own, SafeTexts(own or Path(), own)

    def _is_own(self, path: str) -> bool:
        return self._own is not None and Path(path).is_relative_to(self._own)

    def project(self) -> str:
        return str(self._link.ask("texts.project"))

    def stat(self, path: str) -> TextEntry:
        found: TextEntry = self._own_texts.stat(path) if self._is_own(path) else self._link.ask("texts.stat", path)
        return found

    def list(self, path: str) -> Sequence[TextEntry]:
        found: Sequence[TextEntry] = (
            self._own_texts.list(path) if self._is_own(path) else self._link.ask("texts.list", path)
        )
        return found

    def read(self, path: str) -> bytes:
        """What comes from a host is made harmless to show, as its commands' output is."""
        if self._is_own(path):
            return self._own_texts.read(path)
        data: bytes = self._link.ask("texts.read", path)[:LARGEST_TEXT_BYTES]
        return data if b"\0" in data else inert(data.decode(errors="replace")).encode()

    def find(self, path: str) -> FoundText:
        return self._own_texts.find(path) if self._is_own(path) else FoundText(*self._link.ask("texts.find", path))
