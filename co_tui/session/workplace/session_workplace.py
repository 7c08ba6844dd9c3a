"""A workplace as one session uses it: files, commands, judging, snapshots, sandbox, instructions."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import ClassVar, NamedTuple

from co_tui.agent.permissions.judge import Judge
from co_tui.folders import Folders
from co_tui.paths import Paths
from co_tui.session.approvals.questions import Questions
from co_tui.session.hooks.hook_process import HookStart, unconfined
from co_tui.session.recorder import Recorder
from co_tui.session.snapshots.session_snapshots import SessionSnapshots
from co_tui.session.tools.folder.folder_tools import FolderToolset
from co_tui.session.tools.folder.project_texts import Texts
from co_tui.session.tools.folder.session_folder import SessionFolder, WrapFolder
from co_tui.session.tools.running_commands import RunningCommands
from co_tui.settings import Settings
from co_tui.store.port import Store


class UserProcess(ABC):
    """Reports its end and the end of its output separately: what it left running may keep the output open."""

    exited: asyncio.Future[None]
    closed: asyncio.Future[None]

    @property
    @abstractmethod
    def outcome(self) -> str:
        """How it ended, as part of a sentence; once it has."""

    @property
    @abstractmethod
    def exit_code(self) -> int | None:
        """None if it was ended otherwise."""

    @abstractmethod
    def kill(self) -> None:
        """Kill it and everything it started, unless it has ended."""

    @abstractmethod
    def leave(self) -> None:
        """Read no more of it, and let a service that it started stay."""


class SessionParts(NamedTuple):
    """What a workplace needs of a session."""

    recorder: Recorder
    paths: Paths
    environ: Mapping[str, str]
    store: Store
    questions: Questions


class SessionWorkplace(ABC):
    """One for a session, shared by its runtimes."""

    commands: RunningCommands
    """The model's running commands."""
    folders: Folders
    """The one it works in, and those its user added."""
    snapshots: SessionSnapshots
    """Takes snapshots of the folder, and brings files back."""
    folder_text: str
    """The folder, for the model."""
    file_tools: ClassVar[type[FolderToolset]] = FolderToolset
    """Reads, lists, searches and changes files."""

    @abstractmethod
    def judge(self, is_read_only: Callable[[str], bool]) -> Judge:
        """Judges calls; `is_read_only` says whether the server of an MCP tool marks it so."""

    def use(self, settings: Settings) -> None:  # noqa: B027 (a host runs no hook or server)
        """Use these settings: what they name and run, commands must not change unasked."""

    def hook_command(
        self, line: str, kind: str, readable: Sequence[Path] = ()
    ) -> AbstractAsyncContextManager[HookStart]:
        """What to start for a hook's command line; in the sandbox if it runs files of the folder. `kind` is the
        sandbox of commands; `readable` are further files that it may read."""
        return unconfined(line, kind, readable)

    @abstractmethod
    async def sandbox_problem(self, kind: str) -> str:
        """A sentence on why the sandbox cannot be started; empty when it can, or is off."""

    @abstractmethod
    def tool_folder(
        self, kind: str, *, is_sandboxed: Callable[[], bool], read_only: bool, wrap: WrapFolder | None
    ) -> SessionFolder:
        """The folder for the tools, with this kind of sandbox; `is_sandboxed` says whether it is used now."""

    @abstractmethod
    def texts(self, own: Sequence[Path] = ()) -> Texts:
        """Its instruction files and skills; `own` are folders of the user's on this machine."""

    def added_texts(self) -> Sequence[Texts]:
        """The instruction files of added folders that the user trusts."""
        return ()

    @abstractmethod
    async def start_command(self, command: str, on_output: Callable[[bytes], None]) -> UserProcess:
        """Start the user's own command. Raises OSError and ValueError."""

    @abstractmethod
    async def complete_restores(self) -> str:
        """Complete what killed sessions were restoring in the folder; returns what became of it, or nothing."""
