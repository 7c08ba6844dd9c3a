"""A command that a call waits for, and that the user can move to the background."""

import asyncio
import json
import math
import os
import shutil
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar, copy_context
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple, TypeVar

import anyio
from anyio.abc import Process

from co_tui.events.tool_wording import MOVED_TO_BACKGROUND
from co_tui.session.processes.child_process import BoundedOutput
from co_tui.session.processes.command_files import LOGS, STATUS
from co_tui.session.processes.printed_output import PRINTED
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.tools.command_watch import OUTPUT_CHARS, BackgroundCommand
from co_tui.session.tools.kept_output import MOST_KEPT_BYTES, KeptStream

T = TypeVar("T")
HANDLE: Final = "handle"
"""The file from which the harness's tools know a background command."""
UNWRITTEN_BYTES: Final = 4_000
"""Kept of the start and of the end of what cannot be written."""
STATUS_CHARS: Final = 60
"""Of the status file: the exit code is written over it, so that it is never half a text."""
MOVABLE: "ContextVar[MovableCommand | None]" = ContextVar("the command that a call waits for", default=None)


class _Files(NamedTuple):
    """The open files of a moved command. Opened once: a command can write to their folder, and leave links there."""

    logs: tuple[int, ...]
    status: int

    def close(self) -> None:
        for each in (*self.logs, self.status):
            os.close(each)


class MovableCommand:
    """The command of one call. Once moved it has no time limit, and what it prints goes to the files of a background
    command."""

    def __init__(self, command: str, agent: str) -> None:
        self.command, self.agent = command, agent
        self.began = monotonic()
        self.moved: asyncio.Future[BackgroundCommand] = asyncio.get_running_loop().create_future()
        """Done once it runs in the background."""
        self.process: Process | None = None
        """Set while it runs."""
        self.task: asyncio.Task[Any] | None = None
        self._streams: tuple[KeptStream, ...] = ()
        self._files: _Files | None = None
        self._unwritten: dict[int, BoundedOutput] = {}
        """By stream. A full disk is no failure of the command."""
        self._failure = ""
        self._limit: anyio.CancelScope | None = None
        self._writing = asyncio.Lock()

    @property
    def is_moved(self) -> bool:
        return self.moved.done()

    async def result(self, work: Coroutine[Any, Any, T]) -> T | str:
        """What the call returns: the result of the work that runs it; once it is moved, a sentence that says so."""
        context = copy_context()
        context.run(MOVABLE.set, self)
        self.task = task = asyncio.create_task(work, context=context)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        ends: set[asyncio.Future[Any]] = {task, self.moved}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not self.is_moved:
                task.cancel()
                await run_to_completion(_ended(task))
            raise
        if self.is_moved:
            return _sentence(self.moved.result())
        PRINTED.set(context[PRINTED] if PRINTED in context else PRINTED.get())
        return task.result()

    @asynccontextmanager
    async def running(self, process: Process, streams: tuple[KeptStream, ...]) -> AsyncIterator[None]:
        """While its process runs, it can be moved. A move that has begun is complete or given up after that."""
        self.process, self._streams = process, streams
        try:
            yield
        finally:
            self.process = None
            async with self._writing:
                pass

    @contextmanager
    def limited(self, deadline: float | None) -> Iterator[None]:
        """Raises `TimeoutError` at the deadline, unless it is moved before."""
        with anyio.fail_after(None if deadline is None else deadline - anyio.current_time()) as self._limit:
            yield

    async def take(self, stream: int, piece: bytes) -> None:
        """Keep what it printed."""
        async with self._writing:
            if self._files is None:
                await self._streams[stream].take(piece)
            elif stream not in self._unwritten:
                try:
                    await asyncio.to_thread(_append, self._files.logs[stream], piece)
                except OSError as error:
                    self._failure = error.strerror or str(error)
                    self._unwritten[stream] = BoundedOutput(UNWRITTEN_BYTES)
            if stream in self._unwritten:
                self._unwritten[stream].add(piece)

    def unwritten(self, stream: int) -> str:
        """Start and end of what it printed after its log could not be written, with the reason."""
        if (rest := self._unwritten.get(stream)) is None:
            return ""
        return f"\n[Its log could not be written: {self._failure}. After that it printed:]\n{rest.text}"

    async def move(self, job: Path) -> Process | None:
        """Write to a new folder from now on, as a background command does; None if it ended before that. Raises
        OSError."""
        async with self._writing:
            if (process := self.process) is None:
                return None
            files = await asyncio.to_thread(_begin_files, job, process.pid, self._streams)
            if self.process is None:
                await asyncio.to_thread(_remove, job, files)
                return None
            self._files = files
            for stream in self._streams:
                stream.discard("the command runs in the background")
        if self._limit is not None:
            self._limit.deadline = math.inf
        return process

    def end(self, code: int | None) -> None:
        """A moved command has ended; without a code it was killed."""
        if self._files is not None:
            with suppress(OSError):
                if code is not None:
                    os.pwrite(self._files.status, _status(128 - code if code < 0 else code), 0)
            self._files.close()


def _sentence(state: BackgroundCommand) -> str:
    """What the model gets as the result of the call."""
    output = state.output[-OUTPUT_CHARS:]
    said = f"Its output so far ends with:\n{output}" if output.strip() else "It has printed nothing yet."
    return (
        f"[{MOVED_TO_BACKGROUND} by the user after {state.seconds:,.0f} s. It still runs, without a time limit.]\n"
        f"ID: {state.id}\n"
        "check_command reads its output, stop_command stops it. You get a note when it ends.\n"
        f"{said}"
    )


async def _ended(task: asyncio.Task[Any]) -> None:
    await asyncio.wait({task})


def _begin_files(job: Path, pid: int, streams: tuple[KeptStream, ...]) -> _Files:
    """Nothing is left of them if this raises OSError."""
    job.mkdir(mode=0o700)
    with ExitStack() as unless_done, ExitStack() as finally_closed:
        unless_done.callback(shutil.rmtree, job, ignore_errors=True)
        folder = os.open(job, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        finally_closed.callback(os.close, folder)
        *logs, status = (_new(folder, name, unless_done) for name in (*LOGS, STATUS))
        for log, stream in zip(logs, streams, strict=True):
            stream.copy_to(log)
        os.write(status, _status(None))
        os.write(_new(folder, HANDLE, finally_closed), f"{pid} {pid}\n".encode())
        unless_done.pop_all()
    return _Files(tuple(logs), status)


def _new(folder: int, name: str, closed_by: ExitStack) -> int:
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    closed_by.callback(os.close, handle)
    return handle


def _remove(job: Path, files: _Files) -> None:
    files.close()
    shutil.rmtree(job, ignore_errors=True)


def _status(code: int | None) -> bytes:
    return json.dumps({"exit_code": code}).ljust(STATUS_CHARS).encode()


def _append(log: int, piece: bytes) -> None:
    """Write it, unless the log is full. Raises OSError."""
    if os.fstat(log).st_size + len(piece) <= MOST_KEPT_BYTES:
        while piece:
            piece = piece[os.write(log, piece) :]
