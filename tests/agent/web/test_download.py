"""Pages from a server on this machine: what is sent, followed, cut and refused."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest

from co_tui.agent.web.download import MOST_BYTES, Downloader, PageUnavailable
from co_tui.agent.web.fetch import PageFetcher
from co_tui.agent.web.page_address import PageAddress, read_address
from tests.support.web_pages import WebPages, page, redirect, serving

NAME = "site.test"


class Names:
    """Resolves every name to this machine, and notes what it was asked."""

    def __init__(self, *ips: str) -> None:
        self.ips = ips or ("127.0.0.1",)
        self.asked: list[str] = []

    async def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        if host == "nowhere.test":
            raise ValueError(host)
        return list(self.ips)


async def nowhere_else(_: PageAddress) -> bool:
    return False


async def anywhere(_: PageAddress) -> bool:
    return True


def here(names: Names | None = None, most_bytes: int = MOST_BYTES) -> Downloader:
    """Allows one name to lead to this machine."""
    return Downloader([NAME], names or Names(), most_bytes)


async def test_a_page_is_loaded_from_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names()
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # it would ask its own machine
    async with serving({"/a?b=1": page("hello", "text/plain; charset=latin-1")}) as site:
        found = await here(names).download(read_address(site.url("/a?b=1", NAME)), nowhere_else)
    assert (found.content, found.media_type, found.charset, found.was_cut) == (b"hello", "text/plain", "latin-1", False)
    assert names.asked == [NAME], "resolved once: another answer would lead elsewhere"
    assert site.hosts == [f"{NAME}:{site.port}"]


@pytest.mark.parametrize("ips", [("127.0.0.1",), ("::1",), ("93.184.216.34", "10.0.0.1"), ("::ffff:127.0.0.1",)])
async def test_a_name_that_leads_to_a_private_address_is_refused(ips: tuple[str, ...]) -> None:
    async with serving({"/": page("secret")}) as site:
        with pytest.raises(PageUnavailable, match=r"rebound\.test leads to a private address.*web_private_hosts"):
            await here(Names(*ips)).download(read_address(site.url("/", "rebound.test")), anywhere)
    assert site.asked == []


@pytest.mark.parametrize("ips", [("169.254.169.254",), ("127.0.0.1", "169.254.169.254")])
async def test_a_name_that_leads_to_a_clouds_keys_is_refused_even_if_private_addresses_are_allowed(
    ips: tuple[str, ...],
) -> None:
    async with serving({"/": page("secret")}) as site:
        with pytest.raises(PageUnavailable, match="never fetched"):
            await here(Names(*ips)).download(read_address(site.url("/", NAME)), anywhere)
    assert site.asked == []


async def test_an_unknown_name_is_named() -> None:
    with pytest.raises(PageUnavailable, match=r"There is no host nowhere\.test\."):
        await here().download(read_address("http://nowhere.test/"), anywhere)


async def test_redirects_on_the_same_host_are_followed() -> None:
    async with serving({"/": redirect("/a"), "/a": redirect("b?c"), "/b?c": page("there")}) as site:
        found = await here().download(read_address(site.url("/", NAME)), nowhere_else)
    assert (found.content, site.asked) == (b"there", ["/", "/a", "/b?c"])
    assert found.address.url == site.url("/b?c", NAME)


async def test_a_redirect_to_another_host_is_followed_only_where_that_is_allowed() -> None:
    async with serving({"/other": page("other")}) as other, serving({"/": redirect(other.url("/other"))}) as site:
        start = read_address(site.url("/", NAME))
        with pytest.raises(PageUnavailable, match=r"redirects to http://127\.0\.0\.1:\d+/other\. Fetch that"):
            await here().download(start, nowhere_else)
        assert other.asked == []
        assert (await here().download(start, anywhere)).content == b"other"


async def test_a_redirect_to_a_name_that_leads_to_this_machine_is_refused() -> None:
    async with serving({"/": redirect("http://rebound.test/")}) as site:
        with pytest.raises(PageUnavailable, match="private address"):
            await here().download(read_address(site.url("/", NAME)), anywhere)


@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "http://u:p@site.test/", "http://0x7f.1/", "http://169.254.169.254/"]
)
async def test_a_redirect_to_an_odd_address_is_refused(to: str) -> None:
    async with serving({"/": redirect(to)}) as site:
        with pytest.raises(PageUnavailable, match="It redirects to an address that is not fetched"):
            await PageFetcher(here()).fetch(read_address(site.url("/", NAME)), anywhere)


async def test_a_redirect_loop_ends() -> None:
    async with serving({"/": redirect("/")}) as site:
        with pytest.raises(PageUnavailable, match="more than 5 times"):
            await here().download(read_address(site.url("/", NAME)), anywhere)
    assert len(site.asked) == 6


async def test_a_page_without_encryption_is_not_gone_to_from_an_encrypted_one() -> None:
    from co_tui.agent.web.download import _followed

    secure, plain = read_address("https://example.com/a"), read_address("http://example.com/a")
    assert await _followed(plain, secure, nowhere_else) == secure
    with pytest.raises(PageUnavailable, match="redirects to http://"):
        await _followed(secure, plain, anywhere)


async def test_a_gigabyte_is_cut() -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1073741824\r\n\r\n"
        for _ in range(16_384):
            yield b"x" * 65_536

    async with serving({"/": endless}) as site:
        found = await here().download(read_address(site.url("/", NAME)), anywhere)
    assert (len(found.content), found.was_cut) == (MOST_BYTES, True)
    assert site.written_bytes < 1_073_741_824


async def test_a_small_page_that_unpacks_to_a_large_one_is_cut() -> None:
    packed = gzip.compress(b"0" * 20_000_000)
    async with serving({"/": page(packed, "text/plain", "Content-Encoding: gzip")}) as site:
        found = await here(most_bytes=100_000).download(read_address(site.url("/", NAME)), anywhere)
    assert (found.content, found.was_cut) == (b"0" * 100_000, True)


async def test_a_packed_page_is_unpacked() -> None:
    async with serving({"/": page(gzip.compress(b"hello"), "text/plain", "Content-Encoding: gzip")}) as site:
        assert (await here().download(read_address(site.url("/", NAME)), anywhere)).content == b"hello"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (page("%PDF", "application/pdf"), "It is application/pdf, not text."),
        (page("x", "image/png"), "It is image/png, not text."),
        (page("x", "text/html", "Content-Encoding: br"), "Its encoding, br, is not supported."),
        (page("not packed", "text/html", "Content-Encoding: gzip"), "It cannot be decompressed."),
        (page("x", "text/html", status="503 Busy"), "answered with HTTP 503"),
        (b"\x00\xff not HTTP at all\r\n\r\n", "It cannot be loaded"),
        (b"", "It cannot be loaded"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "It cannot be loaded"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1_000_000, "It cannot be loaded"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_a_sentence(answer: bytes, sentence: str) -> None:
    async with serving({"/": answer}) as site:
        with pytest.raises(PageUnavailable, match=sentence):
            await here().download(read_address(site.url("/", NAME)), anywhere)


async def test_a_server_that_does_not_answer_is_named() -> None:
    async with serving({}) as site:
        pass
    with pytest.raises(PageUnavailable, match=r"site\.test cannot be reached"):
        await here().download(read_address(site.url("/", NAME)), anywhere)


async def test_a_server_that_sends_a_byte_at_a_time_does_not_take_longer_than_the_limit() -> None:
    closed = asyncio.Event()

    async def drops() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
        while not closed.is_set():
            yield b"x"
            await asyncio.sleep(0.01)

    async with serving({"/": drops}) as site:
        with pytest.raises(PageUnavailable, match=r"It took longer than 0\.2 s\."):
            await PageFetcher(here(), most_s=0.2).fetch(read_address(site.url("/", NAME)), anywhere)
        closed.set()


async def test_nothing_about_the_user_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []

    async def note(self: WebPages, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(page("x", "text/plain", "Set-Cookie: a=b"))
        await writer.drain()

    monkeypatch.setattr(WebPages, "answer", note)
    monkeypatch.setenv("NETRC", "/dev/null")
    async with serving({}) as site:
        await here().download(read_address(site.url("/", NAME)), anywhere)
        await here().download(read_address(site.url("/", NAME)), anywhere)
    names = {line.partition(":")[0].lower() for head in heads for line in head.splitlines()[1:] if line}
    assert names == {"host", "user-agent", "accept", "accept-encoding", "connection"}
