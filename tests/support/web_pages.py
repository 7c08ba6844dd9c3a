"""A web server on this machine that answers with the bytes of a test, however odd."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Answer = bytes | Callable[[], AsyncIterator[bytes]]


def page(body: str | bytes, kind: str = "text/html; charset=utf-8", *headers: str, status: str = "200 OK") -> bytes:
    """A whole answer."""
    data = body.encode() if isinstance(body, str) else body
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Length: {len(data)}",
        *([f"Content-Type: {kind}"] if kind else []),
        *headers,
    ]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + data


def redirect(to: str) -> bytes:
    return page("", "", f"Location: {to}", status="302 Found")


@dataclass
class WebPages:
    """What is served, and what was asked for."""

    answers: Mapping[str, Answer]
    port: int = 0
    asked: list[str] = field(default_factory=list)
    """The paths, in order."""
    hosts: list[str] = field(default_factory=list)
    """The `Host` of each request."""
    written_bytes: int = 0

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    answering: set[asyncio.Task[None]] = field(default_factory=set)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.answering.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self.answer(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self.answering.discard(task)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split(" ", 2)[1]
        self.asked.append(path)
        self.hosts += [line[6:] for line in head.splitlines() if line.lower().startswith("host: ")]
        answer = self.answers.get(path, page("no such page", status="404 Not Found"))
        if isinstance(answer, bytes):
            writer.write(answer)
        else:
            async for piece in answer():
                writer.write(piece)
                await writer.drain()
                self.written_bytes += len(piece)
        await writer.drain()


@asynccontextmanager
async def serving(answers: Mapping[str, Answer]) -> AsyncIterator[WebPages]:
    pages = WebPages(answers)
    server = await asyncio.start_server(pages.accept, "127.0.0.1", 0)
    pages.port = server.sockets[0].getsockname()[1]
    try:
        yield pages
    finally:
        server.close()
        for task in pages.answering:
            task.cancel()
        await asyncio.gather(*pages.answering, return_exceptions=True)
