"""A folder of this machine, as one session uses it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from co_tui.agent.permissions.git_guard import git_variables
from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.sandbox import Sandbox, sandbox_problem
from co_tui.agent.permissions.session_programs import SessionPrograms
from co_tui.agent.redact import without_secrets
from co_tui.folders import Folders
from co_tui.paths import path_text
from co_tui.session.approvals.created_files import CreatedFiles
from co_tui.session.history.stored_rewind import complete_restores
from co_tui.session.hooks.hook_process import HookStart, unconfined
from co_tui.session.snapshots.several_folders import local_snapshots
from co_tui.session.tools.folder.safe_texts import SafeTexts
from co_tui.session.tools.folder.session_folder import LocalFolder, WrapFolder
from co_tui.session.tools.running_commands import RunningCommands
from co_tui.session.workplace.here.local_user_process import start_locally
from co_tui.session.workplace.session_workplace import SessionParts, SessionWorkplace, UserProcess
from co_tui.settings import Settings
from co_tui.settings.rules import SANDBOX, SANDBOX_OFF
from co_tui.settings.trust_requests import added_folder_answer
from co_tui.trust import Trust


class LocalSession(SessionWorkplace):
    """Everything is done by this process, or by processes it starts."""

    def __init__(self, folder: Path, parts: SessionParts) -> None:
        self._folder, self._parts = folder, parts
        self.folder_text = path_text(folder)
        paths, session_id = parts.paths, parts.recorder.session_id
        self.commands = RunningCommands(parts.recorder.announce, paths.commands(session_id), session_id)
        self.commands.may_keep = CreatedFiles(parts.questions, folder).ask
        self.folders = Folders(folder)
        self.programs = SessionPrograms(self.folders, parts.environ)
        self.commands.programs = lambda: self.programs.paths
        self.snapshots = local_snapshots(paths, session_id, self.folders, parts.environ)

    def judge(self, is_read_only: Callable[[str], bool]) -> Judge:
        paths, environ = self._parts.paths, git_variables(self._parts.environ)
        own = (paths.config, paths.state, paths.data)
        home, folders = Path.home(), self.folders
        return Judge(
            folder=self._folder,
            home=home,
            own=own,
            environ=environ,
            is_read_only=is_read_only,
            folders=folders,
            programs=lambda: self.programs.paths,
        )

    def use(self, settings: Settings) -> None:
        self.programs.use(settings)

    @asynccontextmanager
    async def hook_command(self, line: str, kind: str, readable: Sequence[Path] = ()) -> AsyncIterator[HookStart]:
        word = await asyncio.to_thread(self.programs.runs_folder, line)
        if not word:
            async with unconfined(line, kind) as start:
                yield start
            return
        is_used = kind != SANDBOX_OFF
        folder = self.tool_folder(
            kind if is_used else SANDBOX, is_sandboxed=lambda: is_used, read_only=False, wrap=None
        )
        async with unconfined(line, kind) as start, folder.sandboxed().launching(start.words, readable) as launched:
            yield HookStart(launched, because=word if launched is not start.words else "")

    async def sandbox_problem(self, kind: str) -> str:
        return await sandbox_problem(kind, self._folder, *self.folders.added)

    def tool_folder(
        self, kind: str, *, is_sandboxed: Callable[[], bool], read_only: bool, wrap: WrapFolder | None
    ) -> LocalFolder:
        home, paths = Path.home(), self._parts.paths
        sandbox = Sandbox(kind=kind, folder=self._folder, home=home, paths=paths, folders=self.folders)
        return LocalFolder(sandbox, self.commands, is_sandboxed=is_sandboxed, read_only=read_only, wrap=wrap)

    def texts(self, own: Sequence[Path] = ()) -> SafeTexts:
        return SafeTexts(self._folder, own)

    def added_texts(self) -> list[SafeTexts]:
        trust = Trust(self._parts.paths.trust_file)
        trusted = (each for each in self.folders.added if added_folder_answer(trust, each))
        return [SafeTexts(each, is_project=True) for each in trusted]

    async def start_command(self, command: str, on_output: Callable[[bytes], None]) -> UserProcess:
        environ, commands = without_secrets(self._parts.environ), self.commands
        return await start_locally(command, self._folder, {**environ, **commands.variables}, commands.guard, on_output)

    async def complete_restores(self) -> str:
        made = self._parts
        return await complete_restores(made.store, made.paths, made.environ, self._folder)
