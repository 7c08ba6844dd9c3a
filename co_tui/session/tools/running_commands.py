"""The running commands of one session: show their output, stop them, and let none outlive the session."""

import asyncio
import os
import shutil
import signal
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast

from anyio.abc import Process

from co_tui.events import ToolOutput
from co_tui.events.storable import storable_text
from co_tui.paths import ensure_dir
from co_tui.session.call_facts import Background
from co_tui.session.processes.command_files import LOGS, STATUS, end_of, exit_code, part_of
from co_tui.session.processes.process_guard import MARK, ProcessGuard, group_exists, group_of_job, kill_sandbox_of_job
from co_tui.session.processes.tapped_process import TappedProcess
from co_tui.session.tools.command_watch import BackgroundCommand, CommandNews, Tell, WaitedText, watch
from co_tui.session.tools.folder.folder_guard import CreatedProtected, FolderGuard
from co_tui.session.tools.kept_output import KeptOutputs, KeptStream
from co_tui.session.tools.movable_command import MOVABLE, MovableCommand
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.store.store_errors import StoreError
from co_tui.terminal_text import printed

T = TypeVar("T")
SHOW_EVERY_S: Final = 0.2
MOST_SHOWN_BYTES: Final = 4_000
"""The end of each stream."""
STOPPING_S: Final = 2.0
"""How long a command may take to exit after SIGTERM."""
POLL_S: Final = 0.02
PIECE_BYTES: Final = 4 << 20
"""Read at once of what a background command printed."""
REAPED_S: Final = 1.0
"""After this, a process group whose last process exited is gone."""
WATCH_S: Final = 2.0
"""How often to check the folder while commands run in its sandbox in the background."""
CURRENT_CALL: ContextVar[str] = ContextVar("the call whose command runs", default="")
ENDS_WITH_CALL: ContextVar[bool] = ContextVar("whether all that a command starts ends with it", default=False)


class _Started(NamedTuple):
    command: str
    began: float
    group: int | None
    """Its process group at the start: what it writes later is not trusted."""
    moved: MovableCommand | None = None
    """It, if a call waited for it before."""

    @property
    def task(self) -> asyncio.Task[Any] | None:
        """Follows a moved command to its end."""
        return self.moved.task if self.moved is not None else None

    def unwritten(self) -> list[str]:
        """What it printed after its logs could not be written."""
        return [self.moved.unwritten(n) if self.moved is not None else "" for n in range(len(LOGS))]


class RunningCommands:
    """The commands that one session started and that have not ended."""

    def __init__(self, announce: Callable[[ToolOutput], None], folder: Path, session_id: str) -> None:
        """`folder` is for the output of background commands; it is removed with the session."""
        self.folder = folder
        self.guard = ProcessGuard(folder, session_id)
        self.environment = {MARK: session_id}
        """Set for each command, so that its processes can be found."""
        self.variables: Mapping[str, str] = {}
        """The setting `env`: for each command, except those that run without asking because they only read."""
        self.report: Callable[[CreatedProtected], Awaitable[None]] | None = None
        """Gets what sandboxed commands left under protected names, after it was moved away."""
        self.may_keep: Callable[[CreatedProtected], Awaitable[CreatedProtected | None]] | None = None
        """Asks whether to keep it, and moves back what is allowed; returns the rest."""
        self.report_unsandboxed: Callable[[str], Awaitable[None]] | None = None
        """Gets why a command that runs files of the project was not sandboxed; once."""
        self.tell: Tell | None = None
        """Gets what became of background commands."""
        self.outputs: KeptOutputs | None = None
        """Keeps output that is too long for a result."""
        self.programs: Callable[[], Iterable[Path]] = tuple
        """Returns what co-tui itself runs of the folders: commands must not change it."""
        self._announce = announce
        self._session_id = session_id
        self._waited_for: list[MovableCommand] = []
        """The commands that calls wait for."""
        self._moving = asyncio.Lock()
        """Held while commands are moved to the background."""
        self._started: dict[str, _Started] = {}
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._ended_by_user: set[str] = set()
        self._seen: set[str] = set()
        self._begun = 0
        """How many background commands there were."""
        self._folder_guards: dict[Path, FolderGuard] = {}
        self._watching: asyncio.Task[None] | None = None
        self._notes: list[str] = []
        self._logs: dict[str, dict[KeptStream, int]] = {}
        """The streams of background commands that were read, and how far."""

    async def output_folder(self) -> str:
        """The folder for the output of background commands, which exists now."""
        return str(ensure_dir(self.folder))

    @asynccontextmanager
    async def collecting(self, process: Process, stdout: bytearray, stderr: bytearray) -> AsyncIterator[Process]:
        """A process to read from instead: if it runs the command of a call, its output is announced, long output is
        kept, and the buffers get what the result holds."""
        call = CURRENT_CALL.get()
        with self._noting(process):
            if not call or self.outputs is None:
                yield process
                return
            streams = self.outputs.streams()
            movable = MOVABLE.get() or MovableCommand("", CURRENT_AGENT.get())
            announcing = asyncio.create_task(self._announce_output(call, movable, streams))
            try:
                async with movable.running(process, streams):
                    yield cast(Process, TappedProcess(process, partial(movable.take, 0), partial(movable.take, 1)))
            except TimeoutError:
                await self._give(streams, stdout, stderr)
                raise
            except BaseException:
                for stream in streams:
                    stream.discard("the command was stopped")
                raise
            else:
                if not movable.is_moved:
                    await self._give(streams, stdout, stderr)
            finally:
                announcing.cancel()
                movable.end(process.returncode)

    async def result_of(self, command: str, work: Coroutine[Any, Any, T]) -> T | str:
        """The result of the work that runs the command of a call, or a sentence that it was moved."""
        movable = MovableCommand(command, CURRENT_AGENT.get())
        self._waited_for.append(movable)
        try:
            return await movable.result(work)
        finally:
            self._waited_for.remove(movable)

    @property
    def movable(self) -> Sequence[MovableCommand]:
        """The running commands that calls wait for, and that can be moved to the background."""
        return [each for each in self._waited_for if each.process is not None and not each.is_moved]

    async def move(self) -> Sequence[BackgroundCommand] | None:
        """Move the commands that calls wait for to the background; logged first. Returns those that were moved, or None
        if a move is already under way. Raises `StoreError` and OSError."""
        if self._moving.locked():
            return None
        async with self._moving:
            return [moved for each in self.movable if (moved := await self._move(each)) is not None]

    async def _move(self, movable: MovableCommand) -> BackgroundCommand | None:
        command_id = uuid.uuid4().hex
        took = time.monotonic() - movable.began
        state = BackgroundCommand(command_id, movable.command, took, True, None, "")
        news = CommandNews(state, is_known=True, agent=movable.agent, is_moved=True)
        if self.tell is not None:
            await self.tell(news)
        try:
            await self.output_folder()
            process = await movable.move(self.folder / command_id)
        except OSError as error:
            await self._tell(news._replace(stays=error.strerror or str(error)))
            raise
        if process is None:
            await self._tell(news._replace(stays="it ended first"))
            return None
        started = _Started(movable.command, movable.began, process.pid, movable)
        self._watch_job(command_id, started, "", movable.agent)
        movable.moved.set_result(state := self.state(command_id))
        return state

    async def _give(self, streams: tuple[KeptStream, KeptStream], *buffers: bytearray) -> None:
        assert self.outputs is not None
        for buffer, shown in zip(buffers, await self.outputs.shown(*streams, tool="run_command"), strict=True):
            buffer += shown

    @contextmanager
    def _noting(self, process: Process) -> Iterator[None]:
        """The process ends with co-tui, even if that is killed."""
        self.guard.note(process.pid)
        try:
            yield
        finally:
            # Processes it left running stay noted: they end with the session.
            asyncio.get_running_loop().call_later(REAPED_S, self.guard.forget_ended)

    async def _announce_output(
        self, call: str, movable: MovableCommand, streams: tuple[KeptStream, KeptStream]
    ) -> None:
        announced = 0
        while not movable.is_moved:
            await asyncio.sleep(SHOW_EVERY_S)
            if (size := sum(each.size_bytes for each in streams)) != announced:
                announced = size
                text = _ends(*(each.last(MOST_SHOWN_BYTES) for each in streams))
                self._announce(ToolOutput(tool_call_id=call, text=text, agent=movable.agent))

    async def printed(self, command_id: str) -> tuple[str, str]:
        """Standard output and standard error of a background command so far, as far as a result holds them."""
        assert self.outputs is not None
        if command_id not in self._logs:
            self._logs[command_id] = dict.fromkeys(self.outputs.streams(command_id), 0)
        read = self._logs[command_id]
        has_ended = command_id not in self._started or not self.state(command_id).running
        for stream, log in zip(read, LOGS, strict=True):
            while True:
                piece, read[stream] = await self._log_after(command_id, log, read[stream])
                if not piece:
                    break
                await stream.take(piece)
            if has_ended:
                await stream.end()
        stdout, stderr = await self.outputs.shown(*read)
        started = self._started.get(command_id)
        rest = [self.outputs.keys.removed_from(each) for each in started.unwritten()] if started else ("", "")
        return stdout.decode(errors="replace") + rest[0], stderr.decode(errors="replace") + rest[1]

    async def _log_after(self, command_id: str, log: str, at: int) -> tuple[bytes, int]:
        return await asyncio.to_thread(part_of, self.folder / command_id / log, at, PIECE_BYTES)

    async def keep_printed(self, command_id: str) -> None:
        """Complete and log what was kept of the output of a background command that has ended."""
        if self.outputs is not None and (streams := self._logs.pop(command_id, None)):
            await self.outputs.store("start_command", *streams)

    def begin(self, command_id: str, command: str, wait_for: str = "") -> None:
        """A command now runs in the background; `wait_for` is a text of its output that is to be reported."""
        group = group_of_job(self.folder / command_id)
        if group is not None:
            self.guard.note(group)
        self._watch_job(command_id, _Started(command, time.monotonic(), group), wait_for, CURRENT_AGENT.get())

    def _watch_job(self, command_id: str, started: _Started, wait_for: str, agent: str) -> None:
        self._started[command_id] = started
        self._begun += 1
        waited = WaitedText(wait_for, [self.folder / command_id / log for log in LOGS])
        watching = watch(partial(self._now, command_id, started), waited, wait_for, self._tell, agent)
        self._watches[command_id] = asyncio.create_task(watching, name=f"background command {command_id}")

    async def _tell(self, news: CommandNews) -> None:
        if self.tell is not None:
            with suppress(StoreError):  # what cannot be logged now is reported by what is logged next
                command_id = news.state.id
                by_user, is_known = command_id in self._ended_by_user, news.is_known or command_id in self._seen
                await self.tell(news._replace(by_user=by_user, is_known=is_known))

    def note_seen(self, command_id: str) -> None:
        """The model has seen that it ended."""
        self._seen.add(command_id)

    def forget(self, command_id: str) -> None:
        """The model stopped it, and has its output."""
        self._started.pop(command_id, None)
        if (watching := self._watches.pop(command_id, None)) is not None:
            watching.cancel()

    def background(self) -> list[BackgroundCommand]:
        """The background commands, newest last."""
        return list(map(self.state, self._started))

    def state(self, command_id: str) -> BackgroundCommand:
        """One of them, as it is now."""
        return self._now(command_id, self._started[command_id])

    def running(self) -> list[BackgroundCommand]:
        """Those that run, newest last. Costs nothing for those that have ended."""
        watched = (command_id for command_id, watching in self._watches.items() if not watching.done())
        return [each for each in map(self.state, watched) if each.running]

    def in_background(self) -> Background:
        """Costs nothing; one that ended a moment ago may still count as running."""
        return Background(self._begun, any(not watching.done() for watching in self._watches.values()))

    async def end(self, command_id: str, *, by_user: bool = True) -> None:
        """Stop one of them and all it started, from outside of its sandbox; the model can still read its output."""
        if (started := self._started.get(command_id)) is None:
            return
        if started.group is not None:
            self._ended_by_user |= {command_id} if by_user else set()
            await _end(started.group, self.folder / command_id / STATUS)
        if started.task is not None:
            await asyncio.wait({started.task}, timeout=STOPPING_S)
        await asyncio.to_thread(kill_sandbox_of_job, self.folder / command_id)

    def folder_guard(self, folder: Path, aside: Path, home: Path) -> FolderGuard:
        """The guard of a folder in which sandboxed commands run; `aside` is for what they must not leave there."""
        return self._folder_guards.setdefault(
            folder, FolderGuard(folder, aside / self._session_id, home, self.programs)
        )

    @property
    def has_running(self) -> bool:
        """Whether sandboxed commands were still running at the last check."""
        return self._watching is not None and not self._watching.done()

    def watch(self) -> None:
        """Check the folders as long as a started command runs."""
        if not self.has_running:
            self._watching = asyncio.create_task(self._watch())

    async def found(self, created: CreatedProtected | None, *, asks: bool = False) -> None:
        """Report what was moved away to the model and the user, after asking whether to keep it."""
        movable = MOVABLE.get()
        asks = asks and (movable is None or not movable.is_moved)  # nothing waits for the answer then
        if created is not None and asks and self.may_keep is not None:
            created = await self.may_keep(created)
        if created is not None:
            self._notes.append(created.sentence())
            if self.report is not None:
                await self.report(created)

    async def runs_unsandboxed(self, why: str) -> None:
        """A command runs files of the project outside of a sandbox: report that once."""
        report, self.report_unsandboxed = self.report_unsandboxed, None
        if report is not None:
            await report(why)

    def take_notes(self) -> str:
        """Notes that the model has not got yet."""
        notes, self._notes = "\n".join(self._notes), []
        return notes

    async def close(self) -> None:
        """Stop all commands, and remove their output."""
        some_ran_on = self.has_running
        if self._watching is not None:
            self._watching.cancel()
        for watching in self._watches.values():
            watching.cancel()
        await asyncio.gather(*(self.end(each.id) for each in self.background() if each.running))
        self._started.clear()
        await self.guard.close()
        with suppress(StoreError):
            for command_id in list(self._logs):
                await self.keep_printed(command_id)
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

    def without_keys(self, output: bytes) -> bytes:
        """Output without known keys."""
        keys = self.outputs.keys.filter() if self.outputs is not None else None
        return keys.take(output) + keys.end() if keys is not None else output

    def _now(self, command_id: str, started: _Started) -> BackgroundCommand:
        job = self.folder / command_id
        code = exit_code(job / STATUS)
        exists = started.group is not None and group_exists(started.group)
        # The task writes the exit code once the process is gone.
        running = code is None and (exists or (started.task is not None and not started.task.done()))
        rest = started.unwritten()
        # Twice as much as is shown: of a key that is cut at its start, nothing is left.
        ends = (end_of(job / log, 2 * MOST_SHOWN_BYTES) + rest[n].encode() for n, log in enumerate(LOGS))
        output = _ends(*map(self.without_keys, ends))
        return BackgroundCommand(command_id, started.command, time.monotonic() - started.began, running, code, output)


async def _end(group: int, status: Path) -> None:
    """Terminate a process group, and kill what is left once the command itself has exited."""
    latest = time.monotonic() + STOPPING_S
    _signal(group, signal.SIGTERM)
    # There is no notification, and an unreaped process may be listed for a while after its exit.
    while group_exists(group) and exit_code(status) is None and time.monotonic() < latest:  # noqa: ASYNC110
        await asyncio.sleep(POLL_S)
    _signal(group, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _ends(*streams: bytes | bytearray) -> str:
    """The end of both streams."""
    return "\n".join(filter(None, map(_end_as_text, streams)))


def _end_as_text(data: bytes | bytearray) -> str:
    """As a terminal would show it: overwritten text is gone."""
    return printed(storable_text(bytes(data[-MOST_SHOWN_BYTES:]).decode(errors="replace"))).text.rstrip()
