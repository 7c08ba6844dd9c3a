"""HTTP with model servers, bounded in size, depth and time; a key is only sent to its own host."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import httpx2
from pydantic_ai.models import create_async_http_client, create_async_httpx2_client

from co_tui.agent.wire.model_errors import ReplyTooLong

MOST_REPLY_BYTES: Final = 64 * 1024 * 1024
"""Of a streamed reply, decompressed. Its text has a tighter limit."""
MOST_ERROR_BYTES: Final = 256 * 1024
"""Of an error's body; the rest is not read."""
MOST_ANSWER_BYTES: Final = 2 * 1024 * 1024
"""Of the answer to a query such as the list of models."""
MOST_REDIRECTS: Final = 3

READ_S: Final = 0.025
"""A server that sends faster is read this often: each reading costs as much as several pieces of a reply."""

_END: Final = re.compile(rb"(?:^|[\r\n])data:\s*\[DONE\]")
_TAIL_BYTES: Final = 64
_COMPACTED: Final = re.compile(rb'(?<!\\)"type"\s*:\s*"(agent\.thread_context_compacted|compact_[0-9]+)"')
"""How providers report, outside of the parts of a reply, that they compacted the conversation by themselves."""


class NoAnswer(Exception):
    """A server gave no usable answer; the text says why."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status
        """The HTTP status, if that is why."""


@dataclass(slots=True)
class Exchange:
    """What we observe of one reply that the provider's library does not report."""

    ended: bool = False
    """Whether the stream sent its end marker."""
    compacted_as: str = ""
    """The signal by which the provider reported that it compacted the conversation; empty without one."""


exchange: Final[ContextVar[Exchange | None]] = ContextVar("exchange", default=None)
"""Set by `GuardedModel` while it opens a reply."""


def new_client(address: str = "", *, most_bytes: int | None = None) -> httpx2.AsyncClient:
    """A client for a provider's library, for the server at `address` or the library's default.

    It follows no redirects, since the key may not be meant for the next host. It reads at most `most_bytes` of a
    reply, by default `MOST_REPLY_BYTES`.
    """

    client = create_async_httpx2_client(transport=_direct() if _is_local(address) else None)
    bounded: httpx2.AsyncClient = _bounded(client, httpx2, _Bounded, most_bytes)
    return bounded


def new_httpx_client() -> Any:
    """The same for a provider's library that takes a client of `httpx` only."""
    import httpx

    return _bounded(create_async_http_client(), httpx, type("_", (_Bounded, httpx.AsyncByteStream), {}))


def _bounded(client: Any, library: Any, stream: "type[_Bounded]", most_bytes: int | None = None) -> Any:
    """Limit the bodies that a client of `library` reads."""

    async def bound(response: Any) -> None:
        """Limit the body; decompressed here, since a small body can expand to any size."""
        body = library.Response(response.status_code, headers=response.headers, stream=response.stream)
        response.headers.pop("content-encoding", None)
        response.stream = stream(body, exchange.get(), most_bytes, library.DecodingError)

    client.event_hooks = {**client.event_hooks, "response": [bound]}
    return client


def _is_local(address: str) -> bool:
    """Whether an address is on this machine, where no proxy is used."""
    try:
        host = httpx2.URL(address).host
    except (httpx2.InvalidURL, UnicodeError):
        return False
    return host in ("localhost", "::1") or host.startswith("127.")


def _direct() -> httpx2.AsyncHTTPTransport:
    return httpx2.AsyncHTTPTransport(verify=_ssl_context())


class _Bounded(httpx2.AsyncByteStream):
    """A body with a limit: beyond it, an error's body ends and a reply raises. It is read at a calm pace."""

    def __init__(
        self, body: httpx2.Response, seen: Exchange | None, most_bytes: int | None, not_decoded: type[Exception]
    ) -> None:
        self._body = body
        self._not_decoded = not_decoded
        self._most_bytes = most_bytes
        self._seen = seen or Exchange()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        most = self._most_bytes if self._most_bytes is not None else MOST_REPLY_BYTES
        left = most if self._body.is_success else MOST_ERROR_BYTES
        tail = b""
        async for chunk in self._decompressed():
            both = tail + chunk
            if b"compact" in both and (found := _COMPACTED.search(both)):
                self._seen.compacted_as = found[1].decode()
            tail = both[-_TAIL_BYTES:]
            self._seen.ended = self._seen.ended or _END.search(tail) is not None
            yield chunk[:left]
            left -= len(chunk)
            if left < 0 and self._body.is_success:
                raise ReplyTooLong(f"{most // 1024**2} MB")
            if left < 0:
                return

    async def _decompressed(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in paced(self._body.aiter_bytes()):
                yield chunk
        except self._not_decoded:
            if self._body.is_success:
                raise  # for an error, the status is enough

    async def aclose(self) -> None:
        await self._body.aclose()


async def paced(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks, with a pause after those that came at once, so that the next reading finds several."""
    loop = asyncio.get_running_loop()
    has_waited = asyncio.Event()
    read_at = float("-inf")
    while True:
        waiting = loop.call_soon(has_waited.set)  # not before a chunk that was read with the one before it
        chunk = await anext(chunks, None)
        if chunk is None:
            return
        waiting.cancel()
        if has_waited.is_set():
            has_waited.clear()
            await asyncio.sleep(max(0.0, read_at + READ_S - loop.time()))
            read_at = loop.time()
        yield chunk


async def ask(
    url: str,
    key: str = "",
    body: Mapping[str, Any] | None = None,
    *,
    timeout_s: float,
    most: int = MOST_ANSWER_BYTES,
    headers: Mapping[str, str] | None = None,
) -> Any:
    """A server's JSON answer; posts if there is a body. `headers` replace the one made of the key. Raises only
    `NoAnswer`."""
    headers = headers or ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        async with asyncio.timeout(timeout_s), _asking(url, timeout_s, headers) as client:
            return json.loads(await _read(client, httpx2.URL(url), body, most))
    except NoAnswer:
        raise
    except TimeoutError:
        raise NoAnswer(f"it took longer than {timeout_s:g} s") from None
    except RecursionError:
        raise NoAnswer("its reply is nested too deeply") from None
    except UnicodeEncodeError:
        raise NoAnswer("the key or address contains characters that cannot be sent") from None
    except ValueError:  # including invalid UTF-8
        raise NoAnswer("its reply is not JSON") from None
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise NoAnswer(_plainly(error)) from None


def _plainly(error: Exception) -> str:
    """What went wrong, without the system's number for it."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__


def _asking(url: str, timeout_s: float, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=timeout_s, headers=headers, verify=_ssl_context(), trust_env=not _is_local(url))


def page_client(*, uses_proxy: bool, connect_s: float) -> httpx2.AsyncClient:
    """A client for a web page, which follows no redirects. Its user limits size and time."""
    timeout = httpx2.Timeout(None, connect=connect_s)
    return httpx2.AsyncClient(timeout=timeout, verify=_ssl_context(), trust_env=uses_proxy, follow_redirects=False)


@cache
def _ssl_context() -> ssl.SSLContext:
    """The trusted certificates; loading them takes longer than a request."""
    return httpx2.create_ssl_context()


async def _read(client: httpx2.AsyncClient, url: httpx2.URL, body: Mapping[str, Any] | None, most: int) -> bytes:
    method = "GET" if body is None else "POST"
    for _ in range(MOST_REDIRECTS + 1):
        async with client.stream(method, url, json=body) as response:
            if response.has_redirect_location:
                url = _followed(url, response)
                continue
            if not response.is_success:
                raise NoAnswer(f"HTTP {response.status_code}", response.status_code)
            read = bytearray()
            async for chunk in response.aiter_bytes():
                read += chunk
                if len(read) > most:
                    raise NoAnswer(f"its reply is over {most // 1024**2} MB")
            return bytes(read)
    raise NoAnswer("it redirects in a loop")


def _followed(url: httpx2.URL, response: httpx2.Response) -> httpx2.URL:
    """The target of a redirect on the same server. Raises `NoAnswer` for another, which must not get the key."""
    there = url.join(response.headers["location"])
    secured = url.scheme == "http" and there.scheme == "https" and url.port is None and there.port is None
    if there.host != url.host or not (secured or (there.scheme, there.port) == (url.scheme, url.port)):
        raise NoAnswer(f"it redirects to another server, {there.scheme}://{there.netloc.decode(errors='replace')}")
    return there
