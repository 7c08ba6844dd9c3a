"""`co-tui serve` in a real browser: the app, reloads, a cut network, two tabs, a phone; and an exported page."""

import base64
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_serve import Served
from tests.exchange.test_exporters import STORY, called, logged, returned, said, text_in
from tests.support.browser import Browser, Page, needs_browser
from tests.support.command import CliCommand
from tests.support.network import network
from tests.support.provider import Provider, Reply
from tests.support.terminal import wait_for_end
from tests.ui.chat.test_images import red_above_blue

pytestmark = needs_browser

FIRST, SECOND = "One two three four.", "Five six seven eight."
PROMPT = "Write a message"
SENTENCE = "document.querySelector('{}').innerText"
SHOWN = "document.querySelector('{}').checkVisibility()"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def page_server(served: CliCommand, program: Path) -> Iterator[Served]:
    """Its apps begin with their libraries loaded; those of `test_serve.py` begin from nothing."""
    running = Served(served, program=program)
    yield running
    running.stop()


async def test_the_app_in_a_browser(
    page_server: Served, served: CliCommand, provider: Provider, browser: Browser, tmp_path: Path
) -> None:
    provider.script = [Reply(text="The answer is **42**, as ever.")]
    async with browser.showing() as page:
        await page.open(page_server.url)
        await page.wait("Write a message", "F1 Help")
        await page.type("What is it?")
        await page.press("Enter", 13)
        await page.wait("▌ What is it?", "The answer is 42, as ever.", "turn 1")
        await page.press("F3", 114)
        await page.wait("kept", "What is it?", "next request")
        await page.press("Escape", 27)
        await page.wait("turn 1", "Write a message")
        await what_is_copied_arrives(page)
        (app,) = page_server.apps
        assert page_server.stop(signal.SIGINT) == 0
        wait_for_end(app)
        await page.wait("--resume")
        assert "Everything is saved" in await page.evaluate("document.querySelector('#ended').innerText")
        await an_exported_page_shows_all_and_obeys_nothing(page, tmp_path)
    (row,) = served("sessions", "--json").objects
    assert row["title"] == "What is it?" and row["cwd"] == str(served.cwd)
    kinds = [event["type"] for event in served("show", row["id"], "--json").objects if "type" in event]
    assert "session.error" not in kinds


async def what_is_copied_arrives(page: Page) -> None:
    await page.press("Tab", 9)
    await page.wait("Shift selects")
    await page.type("c")
    await page.until_copied("The answer is **42**, as ever.")
    assert not await page.evaluate(SHOWN.format("#copying"))
    await page.evaluate("navigator.clipboard.writeText('')")
    await page.refuse_to_copy()
    await page.type("c")
    await page.until(SHOWN.format("#copying"))
    await page.click("#copy")
    await page.until(f"!{SHOWN.format('#copying')}")
    await page.until_copied("The answer is **42**, as ever.")
    assert await page.evaluate("navigator.clipboard.readText()") == "", "nothing on the screen asks for it"
    await page.press("Escape", 27)


async def an_exported_page_shows_all_and_obeys_nothing(page: Page, folder: Path) -> None:
    image = {"kind": "binary", "media_type": "image/svg+xml", "data": base64.b64encode(red_above_blue(40, 20)).decode()}
    script = {
        **image,
        "data": base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(3)'/>").decode(),
    }
    made = said("file", image)
    seen = logged(called("shot", "{}", "d"), returned("shot", ["a shot", image, script], "d"), made)
    (folder / "page.html").write_text(text_in("html", [*STORY, *seen]), encoding="utf-8")
    await page.call("Page.addScriptToEvaluateOnNewDocument", source="window.alert = () => { window.obeyed = true; };")
    await page.open((folder / "page.html").as_uri())
    await page.until("document.readyState == 'complete' && document.querySelector('main') !== null")
    text = await page.evaluate("document.querySelector('main').innerText")
    for words in ("<script>alert(1)</script>", "Conversation Compacted · 900 → 90 tokens", "read_file", "Bold code"):
        assert words in text, words
    assert "the second" not in text and "In short." not in text, "folded"
    assert "image/svg" not in text, "what is seen is not also described"
    assert await page.evaluate(
        "[...document.images].map(i => [i.complete, i.naturalWidth, i.naturalHeight, i.checkVisibility()])"
    ) == [[True, 40, 20, False], [True, 40, 20, True]]
    await page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    text = await page.evaluate("document.querySelector('main').innerText")
    assert "the second" in text and "In short." in text and "a shot" in text and "hm, a thought" in text
    assert await page.evaluate("[...document.images].every(each => each.checkVisibility())")
    assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing sticks out"
    assert not await page.evaluate("window.obeyed || document.scripts.length")
    assert await page.evaluate("[...document.links].every(each => each.protocol == 'https:')")
    fetched = "performance.getEntriesByType('resource').filter(each => !each.name.startsWith('data:')).length"
    assert await page.evaluate(fetched) == 0


async def test_a_reload_in_the_middle_of_a_reply_loses_nothing_and_two_tabs_share_one_app(
    page_server: Served, served: CliCommand, provider: Provider, browser: Browser
) -> None:
    halfway = threading.Event()
    provider.script = [Reply(text=f"{FIRST} {SECOND}", halfway=halfway)]
    async with browser.showing() as page:
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


async def test_a_cut_network_is_noticed_and_every_key_arrives_once(page_server: Served, browser: Browser) -> None:
    async with network(page_server.host) as between, browser.showing() as page:
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
        notice_end = await page.evaluate("document.querySelector('#lost').getBoundingClientRect().bottom")
        assert notice_end < await page.evaluate("innerHeight / 2"), "the prompt below stays in sight"
        await page.type("three")
        between.mend()
        await page.until(f"!{lost}")
        seen = await page.wait("one two three")
        assert seen.count("one") == seen.count("two") == seen.count("three") == 1
        assert page_server.apps == [app]


async def test_after_a_restart_of_the_server_the_page_says_so_and_resumes_its_session(
    page_server: Served, served: CliCommand, program: Path, browser: Browser
) -> None:
    port = page_server.host.rpartition(":")[2]
    async with browser.showing() as page:
        await page.open(page_server.url)
        await page.wait(PROMPT)
        page_server.stop(signal.SIGKILL)
        running = Served(served, "--port", port, program=program)
        await page.until(f"(appSocket.hurry(), {SHOWN.format('#moved')})")
        await page.open(running.url)
        await page.wait(PROMPT)
        await page.type("Hello.")
        await page.press("Enter", 13)
        await page.wait("▌ Hello.", "Hello from the provider.")
        running.stop(signal.SIGKILL)
        again = Served(served, "--port", port, program=program)
        assert again.url == running.url
        await page.until(f"(appSocket.hurry(), {SHOWN.format('#ended')})")
        await page.click("#again")
        await page.wait("▌ Hello.", "Hello from the provider.")
        assert again.stop() == 0


async def test_a_phone_shows_the_app_and_its_prompt_above_the_keyboard(
    page_server: Served, provider: Provider, browser: Browser
) -> None:
    provider.script = [Reply(text="A list of lines:\n\n" + "\n".join(f"{n}. line" for n in range(1, 61)))]
    async with browser.showing(390, 844, is_phone=True) as page:
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
