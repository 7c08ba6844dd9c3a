"""Download a web page: bounded in size, from the address that was checked, redirected only where that is allowed."""

import zlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final, NamedTuple, TypeAlias

import httpx2

from co_tui.agent.library_internals import is_text_like_media_type, resolve_hostname
from co_tui.agent.web.page_address import PageAddress, is_metadata, is_public
from co_tui.agent.wire.http import page_client
from co_tui.inert import one_line

MOST_BYTES: Final = 2 * 1024 * 1024
MOST_REDIRECTS: Final = 5
MOST_TRIED: Final = 3
"""Network addresses of a host that are tried, one after the other."""
CONNECT_S: Final = 5.0
SHOWN_CHARS: Final = 300
_HEADERS: Final = {
    "User-Agent": "co-tui",
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5",
    "Accept-Encoding": "gzip, identity",  # the others can grow without limit in one step
}
Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""The network addresses of a host's name. Raises ValueError."""
MayGoTo: TypeAlias = Callable[[PageAddress], Awaitable[bool]]
"""Whether a redirect to another host is allowed."""


class PageUnavailable(Exception):
    """A page that cannot be had; the text is a sentence for the model."""


class Downloaded(NamedTuple):
    """The content of a page."""

    address: PageAddress
    """After redirects."""
    content: bytes
    media_type: str
    """Empty if the server names none."""
    charset: str
    was_cut: bool
    """Whether there was more than `most_bytes`."""


class Downloader:
    """Downloads pages. Sends no cookies, no keys, and nothing about the user."""

    def __init__(
        self,
        private_hosts: Collection[str] = (),
        resolve: Resolve = resolve_hostname,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`private_hosts` are names that may lead to private addresses."""
        self._private_hosts = frozenset(name.lower() for name in private_hosts)
        self._resolve = resolve
        self._most_bytes = most_bytes

    async def download(self, address: PageAddress, may_go_to: MayGoTo) -> Downloaded:
        """Raises `PageUnavailable`, and `AddressRefused` for a redirect that cannot be read."""
        for _ in range(MOST_REDIRECTS + 1):
            found = await self._load(address)
            if isinstance(found, Downloaded):
                return found
            address = await _followed(address, found, may_go_to)
        raise PageUnavailable(f"It redirects more than {MOST_REDIRECTS} times.")

    async def _load(self, address: PageAddress) -> Downloaded | PageAddress:
        """The page, or where it redirects to."""
        failed = ""
        for ip in (await self._ips(address))[:MOST_TRIED]:
            try:
                return await self._load_from(ip, address)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = str(error) or "no connection"
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as error:
                raise PageUnavailable(f"It cannot be loaded: {_shown(str(error) or type(error).__name__)}") from None
        raise PageUnavailable(f"{address.host} cannot be reached: {_shown(failed)}")

    async def _ips(self, address: PageAddress) -> Sequence[str]:
        """The network addresses to connect to; checked, and not asked for again."""
        if address.ip:
            ips: Sequence[str] = [address.ip]
        else:
            try:
                ips = await self._resolve(address.host)
            except (ValueError, OSError):
                raise PageUnavailable(f"There is no host {address.host}.") from None
        if any(map(is_metadata, ips)):
            raise PageUnavailable(f"{address.host} leads to a cloud metadata service, which is never fetched.")
        if not all(map(is_public, ips)) and not (address.is_private or address.host in self._private_hosts):
            raise PageUnavailable(
                f"{address.host} leads to a private address, which is not fetched. "
                f'The user can allow it with web_private_hosts = ["{address.host}"].'
            )
        return ips

    async def _load_from(self, ip: str, address: PageAddress) -> Downloaded | PageAddress:
        extensions = {"sni_hostname": address.host} if address.scheme == "https" else {}
        # A proxy would reach its own machine and network instead of ours.
        client = page_client(uses_proxy=is_public(ip), connect_s=CONNECT_S)
        headers = {**_HEADERS, "Host": address.netloc}
        async with client, client.stream("GET", address.at(ip), headers=headers, extensions=extensions) as response:
            if response.has_redirect_location:
                return address.joined(response.headers["location"])
            if not response.is_success:
                raise PageUnavailable(f"{address.host} answered with HTTP {response.status_code}.")
            media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if media_type and not is_text_like_media_type(media_type):
                raise PageUnavailable(f"It is {_shown(media_type)}, not text.")
            content, was_cut = await _body(response, self._most_bytes)
        return Downloaded(address, content, media_type, response.charset_encoding or "", was_cut)


async def _followed(address: PageAddress, to: PageAddress, may_go_to: MayGoTo) -> PageAddress:
    """Where to go on; raises `PageUnavailable`, with the address to ask for, if that needs another permission."""
    is_downgrade = (address.scheme, to.scheme) == ("https", "http")
    if is_downgrade or (to.host != address.host and not await may_go_to(to)):
        raise PageUnavailable(f"It redirects to {to.url}. Fetch that address if you need it.")
    return to


async def _body(response: httpx2.Response, most_bytes: int) -> tuple[bytes, bool]:
    """The unpacked content up to a limit, and whether there was more. Reads no more than the limit, either."""
    unpack = _unpacker(response.headers.get("content-encoding", "").strip().lower())
    content, read_bytes = bytearray(), 0
    async for piece in response.aiter_raw():
        read_bytes += len(piece)
        content += unpack(piece, most_bytes + 1 - len(content))
        if len(content) > most_bytes or read_bytes > most_bytes:
            return bytes(content[:most_bytes]), True
    return bytes(content), False


def _unpacker(coding: str) -> Callable[[bytes, int], bytes]:
    """Unpacks the next piece into at most so many bytes."""
    if coding in ("", "identity"):
        return lambda piece, most: piece[:most]
    if coding not in ("gzip", "x-gzip"):
        raise PageUnavailable(f"Its encoding, {_shown(coding)}, is not supported.")
    packed = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def unpack(piece: bytes, most: int) -> bytes:
        try:
            return packed.decompress(piece, most)
        except zlib.error:
            raise PageUnavailable("It cannot be decompressed.") from None

    return unpack


def _shown(text: str) -> str:
    return one_line(text, SHOWN_CHARS)
