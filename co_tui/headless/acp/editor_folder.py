"""The session's folder as the editor has it: unsaved texts, and commands in its terminals."""

import asyncio
import contextlib
import os.path
from collections.abc import Callable, Mapping
from typing import Final

from acp.core import RequestError
from acp.helpers import tool_terminal_ref
from acp.schema import CreateTerminalRequest, EnvVariable, ToolCallProgress
from pydantic_ai.workspaces import (
    CommandResult,
    Workspace,
    WorkspaceCommand,
    WorkspaceError,
    WorkspaceTimeoutError,
    WrapperWorkspace,
)

from co_tui.agent.permissions.verdict import VERDICT
from co_tui.headless.acp.editor import Editor
from co_tui.headless.acp.tool_updates import call_id
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.tools.after_edit import note_written
from co_tui.session.tools.folder.session_folder import COMMAND_ENVIRONMENT
from co_tui.session.tools.running_commands import CURRENT_CALL, ENDS_WITH_CALL
from co_tui.session.turns.current_agent import CURRENT_AGENT

MOST_OUTPUT_BYTES: Final = 1_000_000
SNIFFED_BYTES: Final = 8_192
SHELL: Final = "/bin/sh"
_NO_ANSWER: Final = (RequestError, ConnectionError)


class EditorFolder(WrapperWorkspace):
    """Reads and writes texts through the editor, and runs commands in its terminals, where it offers that.

    What a sandbox must hold stays with us: an editor's terminal has none.
    """

    def __init__(
        self, here: Workspace, editor: Editor, session_id: Callable[[], str], is_sandboxed: Callable[[], bool]
    ) -> None:
        super().__init__(here)
        self._editor = editor
        self._session_id = session_id
        self._is_sandboxed = is_sandboxed

    async def read_bytes(self, path: str) -> bytes:
        saved = await self.wrapped.read_bytes(path)
        if not self._editor.reads_files or b"\0" in saved[:SNIFFED_BYTES]:
            return saved
        try:
            text = await self._editor.read_file(self._session_id(), await self.wrapped.realpath(path))
        except _NO_ANSWER:
            return saved
        return saved if saved.decode(errors="replace") == text else text.encode(errors="surrogateescape")

    async def write_bytes(self, path: str, data: bytes) -> None:
        text = _text_of(data)
        if text is None or not self._editor.writes_files or not await self._is_inside(path):
            await self.wrapped.write_bytes(path, data)
            return
        try:
            await self._editor.write_file(self._session_id(), await self.wrapped.realpath(path), text)
        except _NO_ANSWER:
            await self.wrapped.write_bytes(path, data)
            return
        note_written(path)

    async def _is_inside(self, path: str) -> bool:
        """Whether a path leads into the folder, links followed; what else there is to check was checked before."""
        folder = await self.working_dir()
        return os.path.commonpath((await self.wrapped.realpath(path), folder)) == folder

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 (the name is the workspace's)
    ) -> CommandResult:
        if not (self._editor.has_terminals and shell and isinstance(command, str)) or self._must_run_here():
            return await self.wrapped.run(command, shell=shell, env=env, timeout=timeout)
        return await self._in_terminal(command, {**COMMAND_ENVIRONMENT, **(env or {})}, timeout)

    def _must_run_here(self) -> bool:
        """Whether a sandbox, a guarded environment or the end of the call must be ours to keep."""
        sandboxed = self._is_sandboxed() and not VERDICT.get().outside_sandbox
        return sandboxed or VERDICT.get().only_reads or not (ENDS_WITH_CALL.get() and CURRENT_CALL.get())

    async def _in_terminal(self, command: str, env: Mapping[str, str], limit_s: float | None) -> CommandResult:
        session_id, editor = self._session_id(), self._editor
        asked = CreateTerminalRequest(
            session_id=session_id,
            command=SHELL,
            args=["-c", command],
            cwd=await self.working_dir(),
            env=[EnvVariable(name=name, value=value) for name, value in env.items()],
            output_byte_limit=MOST_OUTPUT_BYTES,
        )
        try:
            terminal = await editor.create_terminal(asked)
        except _NO_ANSWER as error:
            raise WorkspaceError(f"The editor cannot run the command: {error}.") from None
        try:
            await editor.update(session_id, _shown_in(terminal))
            return await self._ended(terminal, limit_s)
        except _NO_ANSWER as error:
            raise WorkspaceError(f"The editor's terminal failed: {error}.") from None
        finally:
            await run_to_completion(self._leave(terminal))

    async def _ended(self, terminal: str, limit_s: float | None) -> CommandResult:
        session_id, editor = self._session_id(), self._editor
        try:
            ended = await asyncio.wait_for(editor.terminal_exit(session_id, terminal), limit_s)
        except TimeoutError:
            await editor.kill_terminal(session_id, terminal)
            output = (await editor.terminal_output(session_id, terminal)).output
            raise WorkspaceTimeoutError(f"Command timed out after {limit_s:g} s.", stdout=output) from None
        output = (await editor.terminal_output(session_id, terminal)).output
        # As a shell reports a command that a signal ended.
        code = ended.exit_code if ended.exit_code is not None else 128 if ended.signal else 0
        return CommandResult(exit_code=code, stdout=output, stderr="")

    async def _leave(self, terminal: str) -> None:
        """Release the terminal, which also ends what still runs in it."""
        with contextlib.suppress(*_NO_ANSWER):
            await self._editor.release_terminal(self._session_id(), terminal)


def _shown_in(terminal: str) -> ToolCallProgress:
    """The call's output is the terminal's."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id(CURRENT_CALL.get(), CURRENT_AGENT.get()),
        status="in_progress",
        content=[tool_terminal_ref(terminal)],
    )


def _text_of(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
