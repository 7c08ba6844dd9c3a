"""A server that is our child process: what it says is bounded, its words for people are kept, and it ends with us.

The library's own transport reads a message of any length, and lets the child write to our standard error.
"""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final, TypeAlias

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from typing_extensions import Unpack

MOST_MESSAGE_BYTES: Final = 8 * 1024 * 1024
MOST_STRAY_LINES: Final = 100
"""Lines that are no messages: some servers greet. One that says nothing else is no MCP server."""
MOST_UNASKED: Final = 10_000
"""Messages in a row that come while nothing is sent: reports on progress are a few hundred."""
KEPT_BYTES: Final = 2_000
"""Of what it says to people: the end, which tells why it failed."""
GRACE_S: Final = 0.5
"""So long a server may take to end by itself, and once more after it was told to."""

Received: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]


class _Process(SubprocessStreamProtocol):
    """The end of the process is not the end of its output: children may hold that open for ever."""

    def __init__(self) -> None:
        super().__init__(limit=MOST_MESSAGE_BYTES, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()

    async def has_ended(self) -> bool:
        """Within a moment."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.exited.wait(), GRACE_S)
        return self.exited.is_set()


class ChildServer(ClientTransport):
    """Starts the program for one connection, in a process group of its own."""

    def __init__(self, command: str, args: Sequence[str], environ: Mapping[str, str], cwd: str) -> None:
        self._argv = (command, *args)
        self._environ = dict(environ)
        self._cwd = cwd
        self._said = bytearray()
        self._unasked = 0
        self.ended = asyncio.Event()
        """Nothing comes from it any more."""
        self.trouble = ""
        """What it did wrong, when that was the end of it."""
        self.exit_code: int | None = None

    @property
    def last_words(self) -> str:
        """The last line it wrote for people."""
        lines = self._said.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    @contextlib.asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession, None]:
        options = transport_options or TransportOptions()
        process, streams = await asyncio.get_running_loop().subprocess_exec(
            _Process,
            *self._argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=self._cwd,
            env=self._environ,
            start_new_session=True,
        )
        try:
            came, coming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            going, to_send = anyio.create_memory_object_stream[SessionMessage](0)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._receive, streams, came)
                tasks.start_soon(self._send, streams, to_send)
                tasks.start_soon(self._listen, streams)
                async with options.session_class(coming, going, **session_kwargs) as session:
                    yield session
                tasks.cancel_scope.cancel()
        finally:
            await self._end(process, streams)

    async def _receive(self, streams: _Process, came: Received) -> None:
        assert streams.stdout is not None
        stray = 0
        try:
            async with came:
                while line := await streams.stdout.readline():
                    try:
                        message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        stray += 1
                    else:
                        await came.send(SessionMessage(message))
                        self._unasked += 1
                    if self._is_too_much(stray):
                        break
        except ValueError:  # the reader's word for a line beyond the limit
            self.trouble = f"it sent a message of more than {MOST_MESSAGE_BYTES // 1024**2} MB"
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            pass  # the session is over
        finally:
            self.ended.set()

    def _is_too_much(self, stray: int) -> bool:
        if stray > MOST_STRAY_LINES:
            self.trouble = "what it says are no MCP messages"
        elif self._unasked > MOST_UNASKED:
            self.trouble = f"it sent {MOST_UNASKED:,} messages that nobody asked for"
        return bool(self.trouble)

    async def _send(self, streams: _Process, to_send: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert streams.stdin is not None
        with contextlib.suppress(ConnectionError, anyio.ClosedResourceError):  # its output ends, too
            async with to_send:
                async for each in to_send:
                    self._unasked = 0
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    streams.stdin.write(text.encode() + b"\n")
                    await streams.stdin.drain()

    async def _listen(self, streams: _Process) -> None:
        assert streams.stderr is not None
        with contextlib.suppress(ConnectionError):
            while said := await streams.stderr.read(KEPT_BYTES):
                self._said = (self._said + said)[-KEPT_BYTES:]

    async def _end(self, process: asyncio.SubprocessTransport, streams: _Process) -> None:
        """By itself, else told to, else by force; with all that it started."""
        try:
            if streams.stdin is not None:
                streams.stdin.close()
            if not await streams.has_ended():
                _signal(process, signal.SIGTERM)
                await streams.has_ended()
        finally:
            _signal(process, signal.SIGKILL)
            self.exit_code = process.get_returncode()
            process.close()
            self.ended.set()


def _signal(process: asyncio.SubprocessTransport, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.get_pid(), number)
