"""A process whose output is read by someone else than its caller, piece by piece."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

from anyio.abc import ByteReceiveStream, Process

Sink: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Gets each piece; no more is read until it returns."""


class TappedProcess:
    """Behaves like the process; what it prints goes to the sinks, and the caller reads nothing of it."""

    def __init__(self, process: Process, stdout: Sink, stderr: Sink) -> None:
        assert process.stdout is not None and process.stderr is not None
        self._process = process
        self.stdout = _into(stdout, process.stdout)
        self.stderr = _into(stderr, process.stderr)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._process, name)


async def _into(sink: Sink, pipe: ByteReceiveStream) -> AsyncIterator[bytes]:
    async for piece in pipe:
        await sink(piece)
        yield b""
