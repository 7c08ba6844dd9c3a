"""Start MCP servers that run files of the folder in the sandbox of commands, with the network."""

import asyncio
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_guard import safe_path
from co_tui.agent.permissions.protected_files import ProtectedFiles, mounts
from co_tui.agent.permissions.sandbox import (
    ENDS_WITH_PARENT,
    HIDE_PROCESSES,
    Sandbox,
    can_hide_processes,
    sandbox_failure,
)
from co_tui.agent.permissions.session_programs import SessionPrograms, named_paths, runs_folder
from co_tui.folders import Folders
from co_tui.paths import Paths, locate
from co_tui.settings import Settings
from co_tui.settings.mcp_servers import McpServer
from co_tui.settings.rules import SANDBOX_WITH_NETWORK

_NAME_SERVICE: Final = ("/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf")
"""Where the system keeps the addresses of its name servers."""
_ALONE: Final = (
    ENDS_WITH_PARENT, "--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL",
    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
    *(argument for each in _NAME_SERVICE for argument in ("--ro-bind-try", each, each)),
)  # fmt: skip
_LIBRARIES: Final = "LD_"
"""How the names of variables begin that name libraries to load: only the server may get them."""


class StartedServer(NamedTuple):
    """How a server's program is started."""

    words: Sequence[str]
    environ: Mapping[str, str]
    unsandboxed: str = ""
    """Why it runs files of the folder outside of a sandbox; empty if it does not."""
    because: str = ""
    """The word of its command that names something of the folder, for which it runs in the sandbox; empty if it does
    not."""


class ServerSandbox:
    """What the sandbox of servers is for."""

    def __init__(self, folders: Callable[[], Folders], paths: Paths, programs: Callable[[], Iterable[Path]]) -> None:
        """`folders` returns those of the session; `programs` the paths of what co-tui itself runs of them."""
        self._folders, self._paths, self._programs = folders, paths, programs

    async def started(self, words: Sequence[str], chdir: str, environ: Mapping[str, str]) -> StartedServer:
        """The words and the environment to start a server with: in the sandbox if it runs files of the folders."""
        folders = await asyncio.to_thread(self._real_folders)
        named_word = await asyncio.to_thread(runs_folder, shlex.join(words), Path(chdir), folders, environ)
        if not named_word:
            return StartedServer(words, environ)
        if failure := await sandbox_failure(SANDBOX_WITH_NETWORK, *folders):
            return StartedServer(words, environ, failure)
        hides = (HIDE_PROCESSES,) if await can_hide_processes(*folders) else ()
        named = list(named_paths(shlex.join(words), Path(chdir), environ))
        inside = await asyncio.to_thread(self._arguments, named, *folders)
        libraries = {name: value for name, value in environ.items() if name.startswith(_LIBRARIES)}
        given = (argument for name, value in libraries.items() for argument in ("--setenv", name, value))
        bwrap = shutil.which("bwrap", path=safe_path(os.pathsep.join(os.get_exec_path()), *folders)) or "bwrap"
        outside = {name: value for name, value in environ.items() if name not in libraries}
        launched = (bwrap, *hides, *_ALONE, *inside, *given, "--chdir", chdir, "--", *words)
        return StartedServer(launched, outside, because=named_word)

    def _real_folders(self) -> tuple[Path, ...]:
        folders = self._folders()
        return (Path(os.path.realpath(folders.first)), *folders.added)

    def _arguments(self, named: Sequence[Path], folder: Path, *added: Path) -> tuple[str, ...]:
        home = Path.home()
        sandbox = Sandbox(kind=SANDBOX_WITH_NETWORK, folder=folder, home=home, paths=self._paths)
        hidden, others = sandbox.home_arguments(named), {each: self._mounted(each, home) for each in added}
        return (*hidden, *self._mounted(folder, home), *sandbox.arguments(mounts=others, home_hidden=bool(hidden)))

    def _mounted(self, folder: Path, home: Path) -> tuple[str, ...]:
        return "--bind", str(folder), str(folder), *mounts(ProtectedFiles(folder, home, self._programs).find(), folder)


def sandbox_of(folder: Path, environ: Mapping[str, str], configured: Mapping[str, McpServer]) -> ServerSandbox:
    """For servers that are started outside of a session."""
    folders = Folders(folder)
    programs = SessionPrograms(folders, environ)
    programs.use(Settings(mcp_servers=configured))
    return ServerSandbox(lambda: folders, locate(environ), lambda: programs.paths)
