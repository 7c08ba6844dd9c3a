"""What a command of the model printed, each stream by itself; its result has both with labels."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final, NamedTuple

from pydantic_ai.workspaces import CommandResult, WorkspaceTimeoutError, WrapperWorkspace
from pydantic_ai.workspaces.protocol import WorkspaceCommand

from co_tui.session.call_facts import CALL_FACTS, CallFacts


class PrintedOutput(NamedTuple):
    """The output of a command."""

    stdout: str = ""
    stderr: str = ""
    was_stopped: bool = False
    """Whether it was stopped at its timeout."""


NOTHING_PRINTED: Final = PrintedOutput()
PRINTED: ContextVar[PrintedOutput] = ContextVar("what the command of a call printed", default=NOTHING_PRINTED)


class KeepsPrinted(WrapperWorkspace):
    """Keeps what its command prints in `PRINTED`, for the user's hooks, and how it ended for the log."""

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 (the name is the workspace's)
    ) -> CommandResult:
        facts = CALL_FACTS.get() or CallFacts()
        try:
            result = await self.wrapped.run(command, shell=shell, env=env, timeout=timeout)
        except WorkspaceTimeoutError as late:
            PRINTED.set(PrintedOutput(late.stdout, late.stderr, was_stopped=True))
            facts.is_late = True
            raise
        PRINTED.set(PrintedOutput(result.stdout, result.stderr))
        facts.exit_code = result.exit_code
        return result
