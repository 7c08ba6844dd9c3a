"""A process whose output is read by someone else than its caller, piece by piece."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

from anyio.abc import ByteReceiveStream, Process

Sink: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Gets each piece; no more is read until it returns."""


class TappedProcess:
    """Behaves like the process; what it prints goes to the sinks, and the caller reads nothing of it.

    With `after`, the caller still reads what comes before that text, and the text itself."""

    def __init__(self, process: Process, stdout: Sink, stderr: Sink, after: bytes = b"") -> None:
        assert process.stdout is not None and process.stderr is not None
        self._process = process
        self.stdout = _into(stdout, process.stdout, after)
        self.stderr = _into(stderr, process.stderr, after)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._process, name)


async def _into(sink: Sink, pipe: ByteReceiveStream, after: bytes) -> AsyncIterator[bytes]:
    before, is_past = b"", not after
    async for piece in pipe:
        if not is_past:
            known = len(before)
            before += piece
            at = before.find(after)
            is_past = at >= 0
            rest = at + len(after) if is_past else len(before)
            yield before[known:rest]
            piece = before[rest:]
        if piece:
            await sink(piece)
