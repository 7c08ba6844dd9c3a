"""Run one hook: input as JSON, output within limits, its children killed with it, no keys in its environment."""

import asyncio
import contextlib
import json
import os
import re
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from co_tui.agent.redact import redact, without_secrets
from co_tui.inert import one_line
from co_tui.paths import is_inside
from co_tui.session.processes.child_process import LINGER_S, ChildProcess
from co_tui.session.run_to_completion import run_to_completion
from co_tui.settings.hook_entries import PROJECT_VARIABLE
from co_tui.settings.markdown.agent_files import project_folder
from co_tui.settings.rules import SANDBOX_OFF

OUTPUT_BYTES = 64 * 1024
REASON_CHARS = 300
TRANSCRIPT = "transcript_path"
_LIBRARIES = "LD_"
"""How the names of variables begin that name libraries to load."""
COMMAND_CHARS = 200
_HIDDEN = re.compile(
    r"read-only file system|cannot (create|open)|no such file|nonexistent|permission denied", re.IGNORECASE
)
"""What programs say of files that the sandbox hides."""


class HookStart(NamedTuple):
    """What starts a hook."""

    words: Sequence[str]
    because: str = ""
    """The word of its command for which it runs in the sandbox; empty if it does not."""


class HookCommand(Protocol):
    """What starts a hook: entered for as long as it runs."""

    def __call__(
        self, line: str, kind: str, readable: Sequence[Path] = ()
    ) -> AbstractAsyncContextManager[HookStart]: ...


@contextlib.asynccontextmanager
async def unconfined(line: str, kind: str, readable: Sequence[Path] = ()) -> AsyncIterator[HookStart]:
    """For hooks of folders that no model works in."""
    yield HookStart(("/bin/sh", "-c", line))


class HookPlace(NamedTuple):
    """Where hooks run, for how long at most, and what must not be shown of them."""

    cwd: Path
    timeout_s: float
    secrets: Sequence[str] = ()
    environ: Mapping[str, str] = MappingProxyType({})
    variables: Mapping[str, str] = MappingProxyType({})
    """The setting `env`."""
    command: HookCommand = unconfined
    sandbox: str = SANDBOX_OFF
    """The sandbox of commands."""


class HookEnded(NamedTuple):
    """The exit of a hook; outputs are cut one byte above the limit."""

    code: int
    stdout: bytes
    stderr: bytes
    because: str = ""
    """The word of its command for which it ran in the sandbox; empty if it did not."""

    @property
    def sandboxed_text(self) -> str:
        """A sentence to add to its failure, if it ran in the sandbox."""
        named = one_line(self.because, COMMAND_CHARS)
        return f" (It ran in the sandbox because its command names {named} of the project.)" if named else ""

    @property
    def refusal(self) -> str:
        """Why it refused, if it did, in its own words; also that it ran in the sandbox, if that may be the cause."""
        words = self.stderr[:OUTPUT_BYTES].decode(errors="replace").strip()
        return words + self.sandboxed_text if not words or _HIDDEN.search(words) else words


_Started = tuple[asyncio.SubprocessTransport, ChildProcess]


async def run_hook(command: str, payload: Mapping[str, object], place: HookPlace) -> HookEnded | str:
    """Run a command with the payload as JSON on its standard input; a sentence if it did not start or end in time.

    Never raises for what a hook does. When cancelled, it is killed with all its children.
    """
    try:
        return await _run(command, payload, place)
    except TimeoutError:
        return f"Timed out after {place.timeout_s:g} s."
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return f"Cannot start it: {shown_line(reason, place.secrets, REASON_CHARS)}."


def shown_line(text: str, secrets: Sequence[str], limit: int) -> str:
    """A text of a hook on one line, without secrets."""
    # Redact first: cutting could leave half a secret that is no longer recognised.
    return one_line(redact(text, secrets), limit)


def failure_of(ended: HookEnded, secrets: Sequence[str]) -> str:
    """The sentence about a hook that ended with an error; empty if it did not."""
    if not ended.code:
        return ""
    complaint = shown_line(first_line(ended.stderr), secrets, REASON_CHARS)
    how = f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}"
    return f"Failed with {how}" + (f": {complaint}" if complaint else ".") + ended.sandboxed_text


def first_line(output: bytes) -> str:
    lines = output[:OUTPUT_BYTES].decode(errors="replace").strip().splitlines()
    return lines[0] if lines else ""


async def _run(command: str, payload: Mapping[str, object], place: HookPlace) -> HookEnded:
    """Run the command; raises TimeoutError if it does not exit in time."""
    transcript = payload.get(TRANSCRIPT)
    readable = [Path(str(transcript))] if transcript else []
    async with place.command(command, place.sandbox, readable) as start:
        ended = await _run_words(start.words, json.dumps(payload, default=str), place)
        return ended._replace(because=start.because)


async def _run_words(words: Sequence[str], text: str, place: HookPlace) -> HookEnded:
    output = {1: bytearray(), 2: bytearray()}

    def receive(stream: int, data: bytes) -> None:
        """Keep output up to a limit; the rest is dropped, so that the hook is not blocked."""
        output[stream] += data[: OUTPUT_BYTES + 1 - len(output[stream])]

    started: list[_Started] = []
    try:
        # A start cancelled halfway would leave the hook's children running, or wait for them.
        await run_to_completion(_start(words, text, place, receive, started))
        ((transport, process),) = started
        ended, _ = await asyncio.wait({process.exited}, timeout=place.timeout_s)
        if not ended:
            raise TimeoutError
        # Children that the hook left running may stay, but are not waited for.
        await asyncio.wait({process.closed}, timeout=LINGER_S)
        return HookEnded(transport.get_returncode() or 0, bytes(output[1]), bytes(output[2]))
    except BaseException:
        for transport, process in started:
            await _kill(transport.get_pid(), process)
        raise
    finally:
        for transport, _ in started:
            transport.close()


async def _start(
    words: Sequence[str], text: str, place: HookPlace, receive: Callable[[int, bytes], None], started: list[_Started]
) -> None:
    """Start the command with the text as its input, and add it to `started`."""
    loop = asyncio.get_running_loop()
    project = str(project_folder(place.cwd))
    environ = {**without_secrets(place.environ), **place.variables, PROJECT_VARIABLE: project}
    environ = {name: value for name, value in environ.items() if not _loads_from(place.cwd, name, value)}
    # From a file, not a pipe: a hook that never reads its input cannot block us.
    with tempfile.TemporaryFile() as stdin:
        stdin.write(text.encode() + b"\n")
        stdin.seek(0)
        started.append(
            await loop.subprocess_exec(
                lambda: ChildProcess(loop, receive),
                *words,
                stdin=stdin,
                cwd=place.cwd,
                env=environ,
                start_new_session=True,
            )
        )


def _loads_from(folder: Path, name: str, value: str) -> bool:
    """Whether a variable makes programs load libraries of a folder: the model may have written them."""
    real = Path(os.path.realpath(folder))
    return name.startswith(_LIBRARIES) and any(is_inside(folder / each, real) for each in re.split("[: ]", value))


async def _kill(group: int, process: ChildProcess) -> None:
    """Kill a hook and its whole process group."""
    if process.closed.done():
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    await asyncio.wait({process.exited}, timeout=LINGER_S)
