"""The commands of one session while they run: what they say, how they are ended, and that none outlives the session."""

import asyncio
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.events import ToolOutput
from co_tui.events.storable import storable_text
from co_tui.session.processes.process_guard import MARK, ProcessGuard, group_exists
from co_tui.session.tools.folder.folder_guard import CreatedProtected, FolderGuard
from co_tui.session.turns.current_agent import CURRENT_AGENT

SHOW_EVERY_S: Final = 0.2
MOST_SHOWN_BYTES: Final = 4_000
"""Of either stream: the end of it."""
STOPPING_S: Final = 2.0
"""How long a command that is asked to end may take for it."""
POLL_S: Final = 0.02
REAPED_S: Final = 1.0
"""After so long, a group whose last process ended is gone."""
_WRITTEN_OVER: Final = re.compile(r"^.*\r(?=[^\r\n])", re.MULTILINE)
STATUS: Final = "status.json"
WATCH_S: Final = 2.0
"""How often the folder is looked at while commands run in its sandbox in the background."""
CURRENT_CALL: ContextVar[str] = ContextVar("the call whose command runs", default="")
ENDS_WITH_CALL: ContextVar[bool] = ContextVar("whether all that a command starts ends with it", default=False)


class BackgroundCommand(NamedTuple):
    """One that was started beside the conversation, as it is now."""

    id: str
    command: str
    seconds: float
    """Since it was started."""
    running: bool
    exit_code: int | None
    """None also for one that was killed."""
    output: str
    """The end of what it said."""


class _Started(NamedTuple):
    command: str
    began: float
    group: int | None
    """Of its processes, as it was when it began: what it writes later is not believed."""


class RunningCommands:
    """What one session started and has not ended yet."""

    def __init__(self, announce: Callable[[ToolOutput], None], folder: Path, session_id: str) -> None:
        """`folder` is for what background commands say; it goes with the session."""
        self.folder = folder
        self.guard = ProcessGuard(folder, session_id)
        self.environment = {MARK: session_id}
        """What each of them gets, so that it is found wherever it went."""
        self.report: Callable[[CreatedProtected], Awaitable[None]] | None = None
        """Is given what commands in the sandbox left under protected names, once it was moved away."""
        self.may_keep: Callable[[CreatedProtected], Awaitable[CreatedProtected | None]] | None = None
        """Asks whether to keep it, and puts back what may be; returns what is left."""
        self._announce = announce
        self._session_id = session_id
        self._started: dict[str, _Started] = {}
        self._folder_guards: dict[Path, FolderGuard] = {}
        self._watching: asyncio.Task[None] | None = None
        self._notes: list[str] = []

    @contextmanager
    def following(self, pid: int, stdout: bytearray, stderr: bytearray) -> Iterator[None]:
        """While a process fills these, tell what it says to who follows the call it belongs to."""
        self.guard.note(pid)
        call = CURRENT_CALL.get()
        telling = asyncio.create_task(self._tell(call, CURRENT_AGENT.get(), stdout, stderr)) if call else None
        try:
            yield
        finally:
            if telling is not None:
                telling.cancel()
            # What it left behind stays noted: it ends with the session.
            asyncio.get_running_loop().call_later(REAPED_S, self.guard.forget_ended)

    async def _tell(self, call: str, agent: str, stdout: bytearray, stderr: bytearray) -> None:
        told = 0
        while True:
            await asyncio.sleep(SHOW_EVERY_S)
            if (size := len(stdout) + len(stderr)) != told:
                told = size
                self._announce(ToolOutput(tool_call_id=call, text=_ends(stdout, stderr), agent=agent))

    def begin(self, command_id: str, command: str) -> None:
        """One runs beside the conversation from now on."""
        group = _group(self.folder / command_id / "handle")
        self._started[command_id] = _Started(command, time.monotonic(), group)
        if group is not None:
            self.guard.note(group)

    def forget(self, command_id: str) -> None:
        """The model ended it, and has seen what it said."""
        self._started.pop(command_id, None)

    def background(self) -> list[BackgroundCommand]:
        """What was started beside the conversation, the newest last."""
        return [self._now(command_id, started) for command_id, started in self._started.items()]

    async def end(self, command_id: str) -> None:
        """End one of them; the model finds it ended, with what it said."""
        started = self._started.get(command_id)
        if started is not None and started.group is not None:
            await _end(started.group, self.folder / command_id / STATUS)

    def folder_guard(self, folder: Path, aside: Path) -> FolderGuard:
        """The guard of a folder in which commands run in a sandbox; `aside` is for what they must not leave there."""
        return self._folder_guards.setdefault(folder, FolderGuard(folder, aside / self._session_id))

    @property
    def has_running(self) -> bool:
        """Whether commands in the sandbox were left running when this was last looked at."""
        return self._watching is not None and not self._watching.done()

    def watch(self) -> None:
        """Look at the folders as long as a command that was started runs on."""
        if not self.has_running:
            self._watching = asyncio.create_task(self._watch())

    async def found(self, created: CreatedProtected | None, *, asks: bool = False) -> None:
        """Report what was moved away to the model and the user, once the user was asked whether to keep it."""
        if created is not None and asks and self.may_keep is not None:
            created = await self.may_keep(created)
        if created is not None:
            self._notes.append(created.sentence())
            if self.report is not None:
                await self.report(created)

    def take_notes(self) -> str:
        """What the model has not been told yet."""
        notes, self._notes = "\n".join(self._notes), []
        return notes

    async def close(self) -> None:
        """End all that is left, and remove what it said."""
        some_ran_on = self.has_running
        if self._watching is not None:
            self._watching.cancel()
        await asyncio.gather(*(self.end(each.id) for each in self.background() if each.running))
        self._started.clear()
        await self.guard.close()
        if some_ran_on:
            await self._check()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    async def _watch(self) -> None:
        while await asyncio.to_thread(self.guard.has_processes):
            await asyncio.sleep(WATCH_S)
            await self._check()

    async def _check(self) -> None:
        for guard in list(self._folder_guards.values()):
            await self.found(await guard.check())

    def _now(self, command_id: str, started: _Started) -> BackgroundCommand:
        job = self.folder / command_id
        code = _exit_code(job / STATUS)
        running = code is None and started.group is not None and group_exists(started.group)
        output = _ends(_end_of(job / "stdout.log"), _end_of(job / "stderr.log"))
        return BackgroundCommand(command_id, started.command, time.monotonic() - started.began, running, code, output)


def _group(handle: Path) -> int | None:
    """The process group of a command, as whoever started it wrote it down; 0 and 1 would be everybody's."""
    fields = _end_of(handle).split()
    group = int(fields[1]) if len(fields) == 2 and fields[1].isdigit() else 0
    return group if group > 1 else None


async def _end(group: int, status: Path) -> None:
    """Ask all processes of a group to end, and make those that are left when the command itself has ended."""
    latest = time.monotonic() + STOPPING_S
    _signal(group, signal.SIGTERM)
    # Nobody tells when it has; and a process that nobody waits for may be listed for a while after its end.
    while group_exists(group) and _exit_code(status) is None and time.monotonic() < latest:  # noqa: ASYNC110
        await asyncio.sleep(POLL_S)
    _signal(group, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _exit_code(status: Path) -> int | None:
    try:
        code = json.loads(_end_of(status))["exit_code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return code if isinstance(code, int) else None


def _end_of(file: Path) -> bytes:
    """The last bytes of a file; a command that can write there may not lead us elsewhere."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        size = os.fstat(handle).st_size
        return os.pread(handle, MOST_SHOWN_BYTES, max(0, size - MOST_SHOWN_BYTES))
    except OSError:
        return b""
    finally:
        os.close(handle)


def _ends(*streams: bytes | bytearray) -> str:
    """What both streams say last."""
    return "\n".join(filter(None, map(_end_as_text, streams)))


def _end_as_text(data: bytes | bytearray) -> str:
    """As a terminal would leave it: what was written over is gone."""
    text = storable_text(bytes(data[-MOST_SHOWN_BYTES:]).decode(errors="replace"))
    return _WRITTEN_OVER.sub("", text).rstrip()
