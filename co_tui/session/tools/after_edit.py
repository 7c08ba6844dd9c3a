"""Check changed files with the user's own commands; the model sees what is new in their output."""

import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.messages import ToolCallPart, ToolReturn
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.workspaces import Workspace, WorkspaceError, WorkspaceTimeoutError

from co_tui.agent.permissions.sandbox import running_project
from co_tui.events.file_diff import CHECKED
from co_tui.events.storable import storable_text
from co_tui.inert import inert, one_line
from co_tui.session.state.history_edits import is_rewound
from co_tui.session.state.session_state import SessionState
from co_tui.session.tools.folder.globs import globs
from co_tui.session.tools.running_commands import ENDS_WITH_CALL
from co_tui.settings.after_edit import check_words

LONGEST_S: Final = 30.0
"""For one command."""
LONGEST_TOGETHER_S: Final = 60.0
"""For all commands after one call."""
MOST_OUTPUT_BYTES: Final = 64_000
"""Read from one command; the rest is dropped."""
MOST_NEW_CHARS: Final = 4_000
"""Added to the result of one call."""
MOST_FILES: Final = 10
"""Checked after one call."""
NOT_FOUND: Final = 127
_BOUNDED: Final = (
    'exec 4>&1; code=$({ { "$@" 2>&1 3>&- 4>&-; echo "$?" >&3; } '
    f'| head -c {MOST_OUTPUT_BYTES} >&4; }} 3>&1); exit "$code"'
)
"""Runs its arguments, none of which is shell text, and passes on the beginning of their output."""
CHANGED: ContextVar[list[str] | None] = ContextVar("the files that the current call has written", default=None)


def note_written(path: str) -> None:
    """A tool has written a file of the session's folder; every workspace of a session calls this."""
    written = CHANGED.get()
    if written is not None and path not in written:
        written.append(path)


class Checking(NamedTuple):
    """What the checks of a session share."""

    outputs: dict[tuple[str, str], tuple[str, int]]
    """The latest output of each command for each file, and the seq at which the model saw it."""
    around: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Entered around checks, which may change files."""


class AfterEdit(AbstractCapability[Any]):
    """Runs after every call that wrote files, whichever tool it was."""

    def __init__(
        self, checks: Mapping[str, Sequence[str]], checking: Checking, state: Callable[[], SessionState]
    ) -> None:
        """`state` returns the session's."""
        self._checks = [(globs(pattern), command) for pattern, several in checks.items() for command in several]
        self._outputs, self._around = checking
        self._state = state

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        written: list[str] = []
        token = CHANGED.set(written)
        try:
            result = await handler(args)
        finally:
            CHANGED.reset(token)
        due = list(self._due(await _inside(ctx.workspace, written))) if written else []
        if not due:
            return result
        async with self._around():
            return _with_text(result, await self._report(ctx.workspace, due))

    async def _report(self, workspace: Workspace, due: Sequence[tuple[str, str]]) -> str:
        """What is new in the output of these checks."""
        found = []
        token = ENDS_WITH_CALL.set(True)
        until = time.monotonic() + LONGEST_TOGETHER_S
        try:
            for name, command in due:
                if (left_s := until - time.monotonic()) <= 0:
                    found.append("(The other checks were not run: no time left.)")
                    break
                output = await _output(workspace, check_words(command, name), min(left_s, LONGEST_S))
                before = self._known(command, name)
                self._outputs[command, name] = output, self._state().seq
                if new := new_lines(before, output):
                    shown = one_line(command.replace("{file}", name), 200)
                    found.append(f"{shown}{', new' if before else ''}:\n{new}")
        finally:
            ENDS_WITH_CALL.reset(token)
        return _cut("\n".join(found))

    def _known(self, command: str, name: str) -> str:
        """The output that the model knows."""
        output, seq = self._outputs.get((command, name), ("", 0))
        return "" if is_rewound(self._state(), seq) else output

    def _due(self, inside: Sequence[str]) -> Iterator[tuple[str, str]]:
        for name in inside[:MOST_FILES]:
            yield from ((name, command) for matches, command in self._checks if matches(name))


async def _inside(workspace: Workspace, written: Sequence[str]) -> list[str]:
    """Those of the written files that are in the folder, relative to it."""
    try:
        folder = PurePosixPath(await workspace.realpath(await workspace.working_dir()))
        paths = [PurePosixPath(await workspace.realpath(path)) for path in written]
    except (WorkspaceError, OSError):
        return []
    return [str(path.relative_to(folder)) for path in paths if path.is_relative_to(folder)]


async def _output(workspace: Workspace, words: Sequence[str], longest_s: float) -> str:
    """What a command prints, and how it ended unless it succeeded."""
    try:
        with running_project(shlex.join(words)):
            done = await workspace.run(["/bin/sh", "-c", _BOUNDED, "check", *words], timeout=longest_s)
    except WorkspaceTimeoutError as late:
        return f"{_plain(late.stdout)}\n(stopped after {longest_s:.2g} s)".strip()
    except (WorkspaceError, OSError) as error:
        return f"(could not run: {one_line(str(error), 200)})"
    if done.exit_code == NOT_FOUND:
        return f"({one_line(words[0], 80)}, or a program it runs, was not found)"
    ended = f"(exit code {done.exit_code})" if done.exit_code else ""
    return "\n".join(filter(None, (_plain(done.stdout), ended)))


def new_lines(before: str, after: str) -> str:
    """The lines that were not there before, whatever line numbers they name."""
    known = Counter(map(_without_numbers, before.splitlines()))
    new = []
    for line in after.splitlines():
        key = _without_numbers(line)
        if known[key]:
            known[key] -= 1
        else:
            new.append(line)
    return "\n".join(new).strip("\n")


def _without_numbers(line: str) -> str:
    """An edit moves what is below it, and changes counts."""
    return re.sub(r"\d+", "0", line.strip())


def _plain(text: str) -> str:
    return inert(storable_text(text)).strip()


def _cut(text: str) -> str:
    left = len(text) - MOST_NEW_CHARS
    return text if left <= 0 else f"{text[:MOST_NEW_CHARS]}\n[… {left:,} more characters]"


def _with_text(result: Any, text: str) -> Any:
    if not text:
        return result
    if isinstance(result, ToolReturn):
        return replace(result, return_value=_with_text(result.return_value, text))
    return f"{result}{CHECKED}{text}" if isinstance(result, str) else result
