"""The protocol's messages: one line of JSON each, on streams that nothing else uses."""

import asyncio
import contextlib
import json
import os
import stat
from typing import Any, Final

MOST_MESSAGE_BYTES: Final = 64_000_000
MOST_WAITING_BYTES: Final = 64_000
"""What may wait for an editor that does not read; then senders wait."""
FLUSH_S: Final = 2.0
"""How long an editor may take to read the rest at the end."""
PARSE_ERROR, INVALID_REQUEST, INTERNAL = -32700, -32600, -32603
NOT_AN_OBJECT: Final = "A message is one JSON object on one line."
TOO_LONG: Final = f"A message has at most {MOST_MESSAGE_BYTES // 1_000_000} MB."


async def protocol_streams() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Standard input and output, for the protocol alone: what else is printed goes to standard error, and commands
    read nothing. Raises `OSError` or `ValueError` if they are not pipes."""
    if stat.S_ISCHR(os.fstat(0).st_mode) and not os.isatty(0):
        raise ValueError("The event loop cannot read a device such as /dev/null.")
    given, taken = _taken_streams()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MOST_MESSAGE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(given, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(taken, "wb", 0)
    )
    transport.set_write_buffer_limits(high=MOST_WAITING_BYTES)
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


def _taken_streams() -> tuple[int, int]:
    given, taken = os.dup(0), os.dup(1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return given, taken


class _Unreadable(Exception):
    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


class MessageLines:
    """Reads and writes messages. What cannot be read is answered with an error; it ends nothing."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._leaving = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        """Raises `ConnectionError` once the editor is gone."""
        transport = self._writer.transport
        if transport.is_closing():
            raise ConnectionResetError("The editor is gone.")
        line = json.dumps(message, separators=(",", ":"), default=str) + "\n"
        self._writer.write(line.encode())
        if transport.get_write_buffer_size() > MOST_WAITING_BYTES and not self._leaving.is_set():
            await self._until_read()

    async def _until_read(self) -> None:
        """Wait for an editor that is behind, unless we leave."""
        waits = [asyncio.ensure_future(each) for each in (self._writer.drain(), self._leaving.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if waits[0].done():
                waits[0].result()
        finally:
            for each in waits:
                each.cancel()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while (line := await self._line()) is not None:
            if not line.strip():
                continue
            try:
                return _message(line)
            except _Unreadable as wrong:
                await self._refuse(wrong.code, str(wrong))
        return None

    async def _line(self) -> bytes | None:
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            return end.partial or None
        except asyncio.LimitOverrunError as long:
            await self._skip(long.consumed)
            await self._refuse(INVALID_REQUEST, TOO_LONG)
            return b"\n"

    async def _skip(self, count: int) -> None:
        """Drop the rest of a line."""
        while True:
            try:
                await self._reader.readexactly(count)
                await self._reader.readuntil(b"\n")
                return
            except asyncio.LimitOverrunError as long:
                count = long.consumed
            except asyncio.IncompleteReadError:
                return

    async def _refuse(self, code: int, why: str) -> None:
        with contextlib.suppress(ConnectionError):
            await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}})

    def leave(self) -> None:
        """From now on, wait for no editor that does not read."""
        self._leaving.set()

    async def close(self) -> None:
        self._leaving.set()
        self._writer.close()
        try:
            await asyncio.wait_for(self._writer.wait_closed(), FLUSH_S)
        except TimeoutError:
            self._writer.transport.abort()
        except OSError:
            pass  # the editor was gone before


def _message(line: bytes) -> dict[str, Any]:
    """The message of a line, in a form that the protocol's library can handle. Raises `_Unreadable`."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise _Unreadable(PARSE_ERROR, "This line is not JSON.") from None
    if not isinstance(message, dict):
        raise _Unreadable(INVALID_REQUEST, NOT_AN_OBJECT)
    if not isinstance(message.get("id"), int | str | None):
        raise _Unreadable(INVALID_REQUEST, "The id of a message is a number or a text.")
    if not isinstance(message.get("method"), str | None):
        raise _Unreadable(INVALID_REQUEST, "The method of a message is a text.")
    if "error" in message and not isinstance(message["error"], dict):
        message["error"] = {"code": INTERNAL, "message": str(message["error"])}
    return message
