"""The model fetches pages: asked about by domain, kept for the session, and never from this machine unasked."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.web.fetch import Page
from co_tui.session.approvals.questions import Approval, Unattended
from co_tui.session.session import Session
from co_tui.session.tools.page_cache import MOST_PAGES, PageCache
from co_tui.session.tools.web_tools import MOST_CHARS, UNTRUSTED, page_text
from co_tui.settings.permission_rules import RuleInForce, parse_rule
from tests.support.approving import YES, Person
from tests.support.web_pages import WebPages, page, redirect, serving
from tests.support.working import Working, working_in

HERE = "WebFetch(domain:127.0.0.1)"
PAGES = {
    "/a": page("first page", "text/plain"),
    "/away": redirect("http://other.test/secret"),
    "/long": page("0123456789" * 9_000, "text/plain"),
}


def rules(*texts: str) -> tuple[RuleInForce, ...]:
    return tuple(RuleInForce("allow", parse_rule(text), "test") for text in texts)


@pytest.fixture
async def site() -> AsyncIterator[WebPages]:
    async with serving(PAGES) as pages:
        yield pages


async def results(tmp_path: Path, person: Unattended, *calls: dict[str, Any], **settings: Any) -> list[str]:
    """What the model gets for these calls, one after the other."""
    model = Working(*(("web_fetch", call) for call in calls))
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    environment = working_in(folder, tmp_path / "home", model, person, **settings)
    session = await Session.start(environment, "scripted")
    await session.submit("look it up")
    await session.close()
    assert "web_fetch" in model.offered and "web_search" not in model.offered
    environment.store.close()
    return model.returned


async def test_a_page_is_fetched_once_in_a_session(tmp_path: Path, site: WebPages) -> None:
    url = site.url("/a")
    got = await results(
        tmp_path, Person(), {"url": url}, {"url": url}, {"url": url, "refresh": True}, permissions=rules(HERE)
    )
    assert got[0] == got[1] == got[2]
    assert got[0].startswith(f"{UNTRUSTED}\n\nAddress: {url}\nFetched: 20")
    assert got[0].endswith("first page")
    assert site.asked == ["/a", "/a"]


async def test_the_question_names_the_domain_and_its_rule_holds_for_the_session(tmp_path: Path) -> None:
    person = Person(Approval(approved=True, by="user", scope="session", rules=("WebFetch(domain:nowhere.invalid)",)))
    calls = [{"url": "http://nowhere.invalid/a"}, {"url": "http://nowhere.invalid/b"}]
    got = await results(tmp_path, person, *calls)
    (asked,) = person.asked
    assert (asked.tool, asked.what, asked.new) == ("web_fetch", "http://nowhere.invalid/a", ("nowhere.invalid",))
    assert (asked.rules, asked.danger) == (("WebFetch(domain:nowhere.invalid)",), "")
    assert got == ["There is no host nowhere.invalid."] * 2


async def test_a_page_of_this_machine_is_asked_about_with_a_warning(tmp_path: Path, site: WebPages) -> None:
    person = Person(YES, Approval(approved=False, by="user"))
    got = await results(
        tmp_path, person, {"url": site.url("/a")}, {"url": site.url("/a")}, permissions=rules("WebFetch")
    )
    assert [each.danger for each in person.asked] == ["on this machine or a private network"] * 2
    assert got[0].endswith("first page") and "first page" not in got[1]


async def test_approving_everything_does_not_include_this_machine(tmp_path: Path, site: WebPages) -> None:
    (got,) = await results(tmp_path, Unattended(yes=True), {"url": site.url("/a")})
    assert "private network, which --yes does not allow. To always allow it, add " + HERE in got
    assert site.asked == []


async def test_a_redirect_goes_only_where_a_rule_allows(tmp_path: Path, site: WebPages) -> None:
    (got,) = await results(tmp_path, Person(), {"url": site.url("/away")}, permissions=rules(HERE))
    assert got == "It redirects to http://other.test/secret. Fetch that address if you need it."


async def test_an_address_that_is_never_fetched_is_not_asked_about(tmp_path: Path) -> None:
    got = await results(tmp_path, Person(), {"url": "http://169.254.169.254/"}, {"url": "http://a:b@c.test/"})
    assert "never fetched" in got[0] and "password" in got[1]


async def test_a_long_page_is_read_in_parts(tmp_path: Path, site: WebPages) -> None:
    url = site.url("/long")
    calls = {"url": url}, {"url": url, "offset": MOST_CHARS}
    first, rest = await results(tmp_path, Person(), *calls, permissions=rules(HERE), tool_output_trim_chars=0)
    assert first.endswith("[Characters 0 to 50,000 of 90,000. Continue with offset=50000.]")
    assert rest.endswith("6789") and len(rest) < len(first)
    assert site.asked == ["/long"]


async def test_pages_are_deleted_with_their_session(tmp_path: Path, site: WebPages) -> None:
    model = Working(("web_fetch", {"url": site.url("/a")}))
    environment = working_in(tmp_path, tmp_path / "home", model, Person(), permissions=rules(HERE))
    session = await Session.start(environment, "scripted")
    await session.submit("look it up")
    await session.close()
    (kept,) = (environment.paths.session(session.id) / "pages").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    environment.store.delete(session.id)
    assert not kept.exists()
    environment.store.close()


def test_the_newest_pages_are_kept(tmp_path: Path) -> None:
    for cache in (PageCache(tmp_path), PageCache(None)):
        for n in range(MOST_PAGES + 2):
            cache.put(f"http://a.test/{n}", Page(url="x", text=str(n), was_cut=True))
        last = cache.get(f"http://a.test/{MOST_PAGES + 1}")
        assert last == Page(url="x", text=str(MOST_PAGES + 1), was_cut=True)
        assert sum(cache.get(f"http://a.test/{n}") is not None for n in range(MOST_PAGES + 2)) == MOST_PAGES
    for file in (tmp_path / "pages").iterdir():
        file.write_text("{damaged")
    assert PageCache(tmp_path).get("http://a.test/9") is None


def test_what_is_left_out_of_a_page_is_said() -> None:
    cut = Page(url="http://a.test/", text="abc", title="T", date="2024-01-02", fetched="2026-01-01", was_cut=True)
    assert page_text(cut).endswith("abc\n\n[The rest of the page is left out: it is too large.]")
    assert "Title: T\nAddress: http://a.test/\nPublished: 2024-01-02\nFetched: 2026-01-01" in page_text(cut)
    assert "[The page has only 3 characters.]" in page_text(cut, 10)
