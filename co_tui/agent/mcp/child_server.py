"""Transport to an MCP server in a child process: bounded messages, captured standard error, and a certain end.

The library's own transport reads messages of any length and lets the child write to our standard error.
"""

import asyncio
import contextlib
import os
import re
import signal
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final, TypeAlias

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from typing_extensions import Unpack

from co_tui.agent.mcp.confined_server import StartedServer

MOST_MESSAGE_BYTES: Final = 8 * 1024 * 1024
MOST_DEPTH: Final = 100
"""Of nested values in a message. The library reads about 200, and drops the whole message beyond that."""
MOST_NESTED_BYTES: Final = 1_000_000
"""A longer message is read as it is: to look for deep values in 8 MB would stop the screen for seconds."""
_NESTING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
"""A text that does not end is taken whole: trying each quote in it again would take hours."""
MOST_STRAY_LINES: Final = 100
"""Lines that are not messages; some servers print a greeting."""
MOST_UNSOLICITED: Final = 10_000
"""Messages within `FLOOD_S` while we request nothing; progress reports are a few hundred. Our answers to a server's own
requests do not count: it could keep us busy with these for ever."""
FLOOD_S: Final = 600.0
KEPT_BYTES: Final = 2_000
"""Of standard error: the end, which says why it failed."""
GRACE_S: Final = 0.5
"""How long a server may take to exit by itself, and again after SIGTERM."""
KILLED_S: Final = 10.0
"""The longest wait for the exit of a killed server; without its exit status it would stay in the process table."""

Received: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]


def without_depth(line: bytes) -> bytes:
    """The message with null in place of what is nested too deep, so that the rest of it can be used."""
    if len(line) > MOST_NESTED_BYTES or line.count(b"[") + line.count(b"{") <= MOST_DEPTH:
        return line
    pieces: list[bytes] = []
    depth = done = 0
    for found in _NESTING.finditer(line):
        if found[0] in (b"[", b"{"):
            depth += 1
            if depth == MOST_DEPTH + 1:
                pieces.append(line[done : found.start()])
        elif found[0] in (b"]", b"}"):
            if depth == MOST_DEPTH + 1:
                pieces.append(b"null")
                done = found.end()
            depth -= 1
    return b"".join((*pieces, line[done:])) if pieces else line


class _Shallow:
    """Reads messages as the library does, without what is nested too deep."""

    def validate_json(self, message: str | bytes, **options: Any) -> Any:
        data = message.encode() if isinstance(message, str) else message
        return mcp_types.jsonrpc_message_adapter.validate_json(without_depth(data), **options)


SHALLOW: Final = _Shallow()


class _Process(SubprocessStreamProtocol):
    """Reports the exit of the process itself: its own children may keep its output open."""

    def __init__(self) -> None:
        super().__init__(limit=MOST_MESSAGE_BYTES, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()

    async def has_exited(self, within_s: float = GRACE_S) -> bool:
        """Whether it exits within that time."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.exited.wait(), within_s)
        return self.exited.is_set()


class ChildServer(ClientTransport):
    """Starts the program for one connection, in a process group of its own."""

    def __init__(self, start: Callable[[], Awaitable[StartedServer]], cwd: str) -> None:
        """`start` returns how to start it, just before it is started."""
        self._start = start
        self._cwd = cwd
        self.unsandboxed = ""
        """Why it runs files of the folder outside of a sandbox; empty if it does not."""
        self.because = ""
        """The word of its command for which it runs in the sandbox; empty if it does not."""
        self._stderr = bytearray()
        self._unsolicited, self._counted_since = 0, 0.0
        self.ended = asyncio.Event()
        """Set when it sends nothing more."""
        self.trouble = ""
        """Why we stopped listening to it, if we did."""
        self.exit_code: int | None = None

    @property
    def last_error_line(self) -> str:
        """The last line of its standard error."""
        lines = self._stderr.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    @contextlib.asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession, None]:
        options = transport_options or TransportOptions()
        started = await self._start()
        self.unsandboxed, self.because = started.unsandboxed, started.because
        process, streams = await asyncio.get_running_loop().subprocess_exec(
            _Process,
            *started.words,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=self._cwd,
            env=dict(started.environ),
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
                        message = SHALLOW.validate_json(line, by_name=False)
                    except ValueError:
                        stray += 1
                    else:
                        await came.send(SessionMessage(message))
                        self._count()
                    if self._exceeds_limits(stray):
                        break
        except ValueError:  # raised for a line beyond the limit
            self.trouble = f"it sent a message over {MOST_MESSAGE_BYTES // 1024**2} MB"
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            pass  # the session is over
        finally:
            self.ended.set()

    def _count(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._counted_since > FLOOD_S:
            self._unsolicited, self._counted_since = 0, now
        self._unsolicited += 1

    def _exceeds_limits(self, stray: int) -> bool:
        if stray > MOST_STRAY_LINES:
            self.trouble = "its output is not MCP"
        elif self._unsolicited > MOST_UNSOLICITED:
            self.trouble = f"it sent {MOST_UNSOLICITED:,} unsolicited messages"
        return bool(self.trouble)

    async def _send(self, streams: _Process, to_send: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert streams.stdin is not None
        with contextlib.suppress(ConnectionError, anyio.ClosedResourceError):  # its output ends as well
            async with to_send:
                async for each in to_send:
                    if isinstance(each.message, mcp_types.JSONRPCRequest):
                        self._unsolicited = 0
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    streams.stdin.write(text.encode() + b"\n")
                    await streams.stdin.drain()

    async def _listen(self, streams: _Process) -> None:
        assert streams.stderr is not None
        with contextlib.suppress(ConnectionError):
            while text := await streams.stderr.read(KEPT_BYTES):
                self._stderr = (self._stderr + text)[-KEPT_BYTES:]

    async def _end(self, process: asyncio.SubprocessTransport, streams: _Process) -> None:
        """End the process and its children: close its input, then SIGTERM, then SIGKILL."""
        try:
            if streams.stdin is not None:
                streams.stdin.close()
            if not await streams.has_exited():
                _signal(process, signal.SIGTERM)
                await streams.has_exited()
        finally:
            _signal(process, signal.SIGKILL)
            self.exit_code = process.get_returncode()
            try:
                await streams.has_exited(KILLED_S)
            finally:
                process.close()
                self.ended.set()


def _signal(process: asyncio.SubprocessTransport, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.get_pid(), number)
