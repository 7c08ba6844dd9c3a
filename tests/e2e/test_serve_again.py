"""`co-tui serve` in a real browser: reloads, a cut network, two tabs, a phone."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_serve import SHOWN, Served
from tests.support.browser import Page, browsing, needs_browser
from tests.support.command import CliCommand
from tests.support.network import network
from tests.support.provider import Provider, Reply

FIRST, SECOND = "One two three four.", "Five six seven eight."
PROMPT = "Write a message"
SENTENCE = "document.querySelector('{}').innerText"


@pytest.fixture
def page_server(served: CliCommand) -> Iterator[Served]:
    running = Served(served)
    yield running
    running.stop()


@needs_browser
async def test_a_reload_in_the_middle_of_a_reply_loses_nothing_and_two_tabs_share_one_app(
    page_server: Served, served: CliCommand, provider: Provider, tmp_path: Path
) -> None:
    halfway = threading.Event()
    provider.script = [Reply(text=f"{FIRST} {SECOND}", halfway=halfway)]
    async with browsing(tmp_path / "profile") as page:
        await page.open(page_server.url)
        await page.wait(PROMPT)
        (app,) = page_server.apps
        await page.type("Count.")
        await page.wait("Count.")
        await page.reload()  # before there is a session
        await page.wait("Count.")
        await page.press("Enter", 13)
        await page.wait(FIRST)
        await page.type("and a draft")
        await page.wait("and a draft")
        session = await page.evaluate("window.location.pathname.split('/').pop()")
        assert session and await page.evaluate("document.cookie") == "", "scripts cannot read it"
        await page.reload()
        await page.wait(FIRST, "and a draft", "▌ Count.")
        halfway.set()
        await page.wait(FIRST, SECOND, "and a draft", "turn 1")
        await two_tabs_show_one_app(page, page_server.url + session)
        assert page_server.apps == [app]
        assert page_server.stop() == 0
        await page.until(SHOWN.format("#ended"))
    (row,) = served("sessions", "--json").objects
    assert row["id"] == session and row["title"] == "Count."
    assert f"{FIRST} {SECOND}" in served("show", session).out


async def two_tabs_show_one_app(first: Page, address: str) -> None:
    second = await first.open_tab(address)
    await second.wait(SECOND, "and a draft")
    await first.until(SHOWN.format("#elsewhere"))
    assert (await first.evaluate(SENTENCE.format("#elsewhere"))).startswith("Opened in another tab.")
    await first.evaluate("appSocket.hurry()")
    await first.type("lost")
    await second.type(", typed here")
    await second.wait("and a draft, typed here")
    await first.click("#back")
    await first.wait("and a draft, typed here")
    await second.until(SHOWN.format("#elsewhere"))
    assert not await first.evaluate(SHOWN.format("#elsewhere"))


@needs_browser
async def test_a_cut_network_is_noticed_and_every_key_arrives_once(page_server: Served, tmp_path: Path) -> None:
    async with network(page_server.host) as between, browsing(tmp_path / "profile") as page:
        await page.open(page_server.url.replace(page_server.host, between.host))
        await page.wait(PROMPT)
        (app,) = page_server.apps
        await page.type("one ")
        await page.wait("one")
        between.cut()
        await page.type("two ")
        lost = SHOWN.format("#lost")
        await page.until(f"(appSocket.beat(), {lost})")  # as when the time of each has come
        assert await page.evaluate(SENTENCE.format("#lost")) == "Connection lost. Reconnecting …"
        await page.type("three")
        between.mend()
        await page.until(f"!{lost}")
        seen = await page.wait("one two three")
        assert seen.count("one") == seen.count("two") == seen.count("three") == 1
        assert page_server.apps == [app]


@needs_browser
async def test_after_a_restart_of_the_server_the_page_says_so_and_resumes_its_session(
    page_server: Served, served: CliCommand, tmp_path: Path
) -> None:
    port = page_server.host.rpartition(":")[2]
    async with browsing(tmp_path / "profile") as page:
        await page.open(page_server.url)
        await page.wait(PROMPT)
        page_server.stop(signal.SIGKILL)
        running = Served(served, "--port", port)
        await page.until(f"(appSocket.hurry(), {SHOWN.format('#moved')})")
        await page.open(running.url)
        await page.wait(PROMPT)
        await page.type("Hello.")
        await page.press("Enter", 13)
        await page.wait("▌ Hello.", "Hello from the provider.")
        running.stop(signal.SIGKILL)
        again = Served(served, "--port", port)
        assert again.url == running.url
        await page.until(f"(appSocket.hurry(), {SHOWN.format('#ended')})")
        await page.click("#again")
        await page.wait("▌ Hello.", "Hello from the provider.")
        assert again.stop() == 0


@needs_browser
async def test_a_phone_shows_the_app_and_its_prompt_above_the_keyboard(
    page_server: Served, provider: Provider, tmp_path: Path
) -> None:
    provider.script = [Reply(text="A list of lines:\n\n" + "\n".join(f"{n}. line" for n in range(1, 61)))]
    async with browsing(tmp_path / "profile", 390, 844, is_phone=True) as page:
        await page.open(page_server.url)
        await page.wait("/ commands")
        assert 40 <= await page.evaluate("appSocket.size.width") <= 60
        await page.type("Many lines, please.")
        await page.press("Enter", 13)
        await page.wait("60. line")
        await page.until("document.documentElement.scrollWidth <= window.innerWidth")
        await page.show_as(390, 460, is_phone=True)  # the soft keyboard is open
        await page.wait("60. line", "/ commands")
        await page.until("appSocket.size.height < 25")
        await page.type("/settings")
        await page.press("Enter", 13)
        await page.wait("Settings · answering", "Esc Back")  # from its title to its keys
