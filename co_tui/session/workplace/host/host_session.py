"""A folder on another host, as one session uses it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from co_tui.agent.permissions.judge import Judge
from co_tui.folders import ON_A_HOST, Folders
from co_tui.session.snapshots.session_snapshots import kept_snapshots
from co_tui.session.tools.folder.session_folder import WrapFolder
from co_tui.session.workplace.host.host_commands import HostCommands
from co_tui.session.workplace.host.host_files import HostFileTools, HostTexts
from co_tui.session.workplace.host.host_folder import HostBackend, HostFolder, RemoteSandboxes
from co_tui.session.workplace.host.host_judge import HostJudge
from co_tui.session.workplace.host.host_process import HostUserProcess
from co_tui.session.workplace.host.host_snapshots import HostSnapshots
from co_tui.session.workplace.host.remote_host import RemoteHost
from co_tui.session.workplace.session_workplace import SessionParts, SessionWorkplace, UserProcess


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
        self.folders = Folders(folder, problem=ON_A_HOST)
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

    def texts(self, own: Sequence[Path] = ()) -> HostTexts:
        return HostTexts(self._host.folder, self._link, own)

    async def start_command(self, command: str, on_output: Callable[[bytes], None]) -> UserProcess:
        return HostUserProcess(self._link, command, on_output)

    async def complete_restores(self) -> str:
        """None: what other sessions restore there is theirs to complete."""
        return ""
