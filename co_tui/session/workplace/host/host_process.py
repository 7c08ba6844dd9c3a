"""Commands that run on the other host, started and followed by questions to the program there."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Final

from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.workplace.host.address import HostUnreachable
from co_tui.session.workplace.host.link import SessionLink
from co_tui.session.workplace.session_workplace import UserProcess

STOPPING_S: Final = 2.0
"""The longest wait for a host that does not answer when a command is to be stopped."""


class HostProcess:
    """Has the streams of a process of this machine. They are read as fast as they are taken."""

    def __init__(self, link: SessionLink, name: str) -> None:
        self._link, self._name = link, name
        self._pieces: tuple[asyncio.Queue[bytes], asyncio.Queue[bytes]] = (asyncio.Queue(1), asyncio.Queue(1))
        self.stdout, self.stderr = map(_taken, self._pieces)
        self.returncode: int | None = None

    async def wait(self) -> int:
        """Pass on what it prints until it has ended; returns its exit code. Raises `HostUnreachable`."""
        thread = ThreadPoolExecutor(1)  # shared threads would be busy with commands that print nothing
        try:
            while self.returncode is None:
                asked = asyncio.get_running_loop().run_in_executor(thread, self._read)
                *printed, self.returncode = await asked
                for queue, piece in zip(self._pieces, printed, strict=True):
                    if piece:
                        await queue.put(piece)
            for queue in self._pieces:
                await queue.put(b"")
            return self.returncode
        finally:
            thread.shutdown(wait=False)

    def _read(self) -> tuple[bytes, bytes, int | None]:
        try:
            said = self._link.ask("processes.read", self._name, again=False)
        except HostUnreachable:
            raise
        except OSError as unknown:  # another question has renewed the connection
            raise HostUnreachable("It ended with the connection.") from unknown
        return said["stdout"], said["stderr"], said["code"]

    async def kill(self) -> None:
        """Kill it and all of its group, unless it has ended."""
        if self.returncode is None:
            with suppress(OSError, TimeoutError):
                asked = asyncio.to_thread(self._link.ask, "processes.kill", self._name, again=False)
                await asyncio.wait_for(asked, STOPPING_S)


@asynccontextmanager
async def started(
    link: SessionLink, words: Sequence[str], env: Mapping[str, str], *, joined: bool = False
) -> AsyncIterator[HostProcess]:
    """A command in the session's folder, which is killed when this is left before it has ended.

    Raises `HostUnreachable`, and OSError if the folder is gone."""
    process = HostProcess(link, name := uuid.uuid4().hex)
    asking = asyncio.to_thread(link.ask, "processes.start", name, tuple(words), dict(env), joined, again=False)
    try:
        await run_to_completion(asking)
        yield process
    finally:
        await run_to_completion(process.kill())


async def _taken(pieces: "asyncio.Queue[bytes]") -> AsyncIterator[bytes]:
    while piece := await pieces.get():
        yield piece


async def followed(
    process: HostProcess, source: HostProcess, on_stdout: Callable[[bytes], None], on_stderr: Callable[[bytes], None]
) -> int:
    """The exit code, once all that it printed was passed on; `source` has the streams to read."""

    async def pass_on(pieces: AsyncIterator[bytes], take: Callable[[bytes], None]) -> None:
        async for piece in pieces:
            take(piece)

    waiting = asyncio.create_task(process.wait())
    streams = ((source.stdout, on_stdout), (source.stderr, on_stderr))
    reading = [asyncio.create_task(pass_on(pieces, take)) for pieces, take in streams]
    try:
        await asyncio.gather(waiting, *reading)
        return waiting.result()
    finally:
        for task in (waiting, *reading):
            task.cancel()


class HostUserProcess(UserProcess):
    """Ends with the connection."""

    def __init__(self, link: SessionLink, command: str, on_output: Callable[[bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self.exited, self.closed = loop.create_future(), loop.create_future()
        self._outcome = ""
        self._exit_code: int | None = None
        self._task = asyncio.create_task(self._run(link, command, on_output), name="the user's command on a host")

    @property
    def outcome(self) -> str:
        return self._outcome

    @property
    def exit_code(self) -> int | None:
        return self._exit_code

    async def _run(self, link: SessionLink, command: str, on_output: Callable[[bytes], None]) -> None:
        failed = "could not be started"
        try:
            async with started(link, ("/bin/sh", "-c", command), {}, joined=True) as process:
                failed = "was cut off"
                self._exit_code = await followed(process, process, on_output, on_output)
                self._outcome = f"ended with exit code {self._exit_code}"
        except OSError as error:
            self._outcome = f"{failed} ({str(error).rstrip('.')})"
        finally:
            for each in (self.exited, self.closed):
                each.set_result(None)

    def kill(self) -> None:
        self._task.cancel()

    def leave(self) -> None:
        """Nothing is left to read: the host has forgotten it."""
