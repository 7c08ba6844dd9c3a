"""Fetch a web page as Markdown, with its title and date, within a time limit for everything."""

import asyncio
import codecs
import contextlib
import json
import sys
from datetime import UTC, datetime
from typing import Final

from co_tui.agent.web.download import Downloaded, Downloader, MayGoTo, PageUnavailable
from co_tui.agent.web.page_address import AddressRefused, PageAddress
from co_tui.agent.web.page_process import decoded, is_charset, plain_text
from co_tui.events.storable import storable_text
from co_tui.record import Record

MOST_S: Final = 30.0
CONVERT_S: Final = 15.0
"""For the Markdown of a page; ordinary ones take a second, the largest ten. Then its plain text has to do."""
MOST_TEXT_CHARS: Final = 4_000_000
_HTML: Final = ("text/html", "application/xhtml+xml")


class Page(Record):
    """The text of a page."""

    url: str
    """After redirects."""
    title: str = ""
    date: str = ""
    """When it was published, if it says so: year, month, day."""
    text: str = ""
    fetched: str = ""
    was_cut: bool = False
    """Whether it was too large to read whole."""


class PageFetcher:
    """Fetches pages within `most_s` seconds, whatever the server does."""

    def __init__(self, downloader: Downloader, most_s: float = MOST_S, convert_s: float = CONVERT_S) -> None:
        self._downloader = downloader
        self._most_s = most_s
        self._convert_s = convert_s

    async def fetch(self, address: PageAddress, may_go_to: MayGoTo) -> Page:
        """Raises `PageUnavailable`."""
        try:
            async with asyncio.timeout(self._most_s):
                found = await self._downloader.download(address, may_go_to)
                return await _page(found, self._convert_s)
        except TimeoutError:
            raise PageUnavailable(f"It took longer than {self._most_s:g} s.") from None
        except AddressRefused as refused:
            raise PageUnavailable(f"It redirects to an address that is not fetched: {refused}") from None


async def _page(found: Downloaded, convert_s: float) -> Page:
    if b"\0" in found.content[:4096] and not found.content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise PageUnavailable("It is not text.")
    if found.media_type in _HTML or (not found.media_type and found.content.lstrip()[:1] == b"<"):
        read = await _converted(found, convert_s)
    else:
        read = {"text": _decoded(found)}
    text = storable_text(read.get("text", "").strip())[:MOST_TEXT_CHARS]
    if not text:
        raise PageUnavailable("It has no readable text. It may need a browser that runs scripts.")
    return Page(
        url=found.address.url,
        title=storable_text(read.get("title", "")),
        date=storable_text(read.get("date", "")),
        text=text,
        fetched=f"{datetime.now(UTC):%Y-%m-%d}",
        was_cut=found.was_cut,
    )


def _decoded(found: Downloaded) -> str:
    try:
        return found.content.decode(found.charset if is_charset(found.charset) else "utf-8", errors="replace")
    except (LookupError, ValueError):  # no charset, or one that is not for text
        return found.content.decode(errors="replace")


async def _converted(found: Downloaded, convert_s: float) -> dict[str, str]:
    """The page as Markdown; if that takes too long or fails, its plain text."""
    try:
        async with asyncio.timeout(convert_s):
            return await _markdown(found)
    except (TimeoutError, ValueError, KeyError, TypeError, OSError):
        return {"text": await asyncio.to_thread(plain_text, decoded(found.content, found.charset))}


async def _markdown(found: Downloaded) -> dict[str, str]:
    """Converted in another process: some pages make the parsers slow, or take much memory."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # do not import modules from the current folder, which is untrusted
        "-m",
        "co_tui.agent.web.page_process",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )
    try:
        # Not as arguments, which every user of the machine can read: an address may hold a key.
        about = json.dumps([found.address.url, found.charset]).encode()
        written, _ = await process.communicate(about + b"\n" + found.content)
        read = json.loads(written)
        return {name: str(read[name]) for name in ("title", "date", "text")}
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
