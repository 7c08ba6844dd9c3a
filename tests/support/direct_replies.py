"""Replies of a provider in this process without a connection: a third of what a turn of the tests costs is sockets.

The provider's own handler writes them. What has to be waited for or breaks off still comes over a connection.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.client import HTTPMessage
from io import BytesIO
from typing import Any
from unittest import mock

import httpx2

from tests.support.provider import Provider, Reply

_OF_THE_CONNECTION = {"content-length", "transfer-encoding"}
"""Headers that may disagree with what is sent."""
_serving: dict[tuple[str, str, int | None], Provider] = {}
"""By scheme, host and port: a request to any other address does not reach it."""
_serve = Provider.serving
_connect = httpx2.AsyncHTTPTransport.handle_async_request


@contextmanager
def replying_directly() -> Iterator[None]:
    """From here on, for providers that begin to serve."""
    with (
        mock.patch.object(Provider, "serving", _serving_here),
        mock.patch.object(httpx2.AsyncHTTPTransport, "handle_async_request", _answered),
    ):
        yield


@contextmanager
def _serving_here(provider: Provider) -> Iterator[Provider]:
    address = _address(httpx2.URL(provider.url))
    with _serve(provider):
        _serving[address] = provider
        try:
            yield provider
        finally:
            del _serving[address]


def _address(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _answered(transport: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> httpx2.Response:
    provider = _serving.get(_address(request.url))
    if provider is None or not _is_written_at_once(provider, request):
        return await _connect(transport, request)
    await asyncio.sleep(0)
    handler = _handler(provider, request, await request.aread())
    if request.method == "GET":
        handler.do_GET()
    else:
        handler.do_POST()
    head, *body = handler.wfile.pieces
    status, *headers = head.decode("latin-1").split("\r\n")
    return httpx2.Response(
        int(status.split(" ")[1]),
        headers=[tuple(line.split(": ", 1)) for line in headers if line],
        stream=_Body(body),
        extensions={"http_version": b"HTTP/1.1"},
    )


def _is_written_at_once(provider: Provider, request: httpx2.Request) -> bool:
    """Whether nothing in the reply waits, and nothing is wrong with its connection."""
    if provider.native is not None or provider.summarise is not None:
        return False  # may wait for something that this thread does
    if request.method == "GET":
        return provider.models is None
    if request.headers.get("X-Interaction-Type") == "conversation-compaction":
        reply = provider.summaries[0] if provider.summaries else provider.summary
    else:
        reply = provider.script[0] if provider.script else provider.default
    return _is_plain(reply)


def _is_plain(reply: Reply) -> bool:
    waits = reply.wait_s or reply.until or reply.halfway or reply.delay_s or reply.open_end
    is_whole = reply.reset_after is None and all(isinstance(piece, bytes) for piece in reply.raw or ())
    return not waits and is_whole and not _OF_THE_CONNECTION & {name.lower() for name in reply.headers}


def _handler(provider: Provider, request: httpx2.Request, body: bytes) -> Any:
    kind = provider._server.RequestHandlerClass
    handler: Any = kind.__new__(kind)  # type: ignore[call-overload]
    handler.headers = HTTPMessage()
    for name, value in request.headers.raw:
        handler.headers[name.decode("latin-1")] = value.decode("latin-1")
    handler.command, handler.path = request.method, request.url.raw_path.decode("ascii")
    handler.requestline, handler.request_version = "", "HTTP/1.1"
    handler.rfile, handler.wfile = BytesIO(body), _Written()
    return handler


class _Written:
    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self.pieces.append(piece)

    def flush(self) -> None:
        pass


class _Body(httpx2.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await asyncio.sleep(0)
            yield piece
