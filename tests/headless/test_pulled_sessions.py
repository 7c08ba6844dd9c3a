"""The command line on a store that other machines share: what is new is pulled, what is not pushed is said."""

import pytest

from co_tui.store.sqlite import store as sqlite_store
from co_tui.store.sync.sync import Unpushed
from tests.store.test_contract import said
from tests.support.fake_sync import SERVER, FakeSync, list_shared, synced_store
from tests.support.here import Here
from tests.support.provider import Provider
from tests.support.stores import store_in

AWAY = "The server is away."
LEFT = "co-tui: 2 sessions not pushed yet."


@pytest.fixture
def sync(here: Here, monkeypatch: pytest.MonkeyPatch) -> FakeSync:
    """All that the command line opens uses it."""
    sync = FakeSync()
    monkeypatch.setattr(sqlite_store, "NO_SYNC", sync)
    return sync


def add(here: Here, name: str, text: str) -> None:
    with store_in(here.home) as store:
        store.writing().append(name, [said(text)]).result()


def test_what_is_not_pushed_is_said(here: Here, sync: FakeSync) -> None:
    add(here, "s-1", "the heron")
    assert "not pushed" not in here("sessions").err + here("show", "s-1").err
    sync.now = Unpushed(sessions=2, reason=AWAY)
    for command in (("sessions",), ("sessions", "--json"), ("show", "s-1"), ("show", "s-1", "--json")):
        result = here(*command)
        assert LEFT in result.err and "heron" in result.out and "not pushed" not in result.out, command
    assert f"{SERVER}: 2 sessions not pushed yet. The server is away." in here("doctor").out
    sync.now = Unpushed()
    assert f"{SERVER}: all pushed" in here("doctor").out


@pytest.mark.parametrize("command", [("show",), ("export",), ("lens",), ("context",)])
def test_a_session_is_read_with_what_the_server_has_of_it(here: Here, sync: FakeSync, command: tuple[str, ...]) -> None:
    sync.pull = lambda _: add(here, "s-1", "from the laptop")
    found = here(*command, "s-1")
    assert found.code == 0 and sync.refreshed == ["", "s-1"], "unknown here, so all is asked for first"
    sync.refreshed.clear()
    sync.pull, sync.trouble = lambda _: None, AWAY
    away = here(*command, "s-1")
    assert away.code == 0 and AWAY in away.err and sync.refreshed == ["s-1"]
    unknown = here(*command, "s-2")
    assert unknown.code == 1 and "No session 's-2'" in unknown.err and AWAY in unknown.err


def test_the_list_has_what_the_server_has_and_says_what_a_search_leaves_out(here: Here, sync: FakeSync) -> None:
    sync.pull = lambda _: add(here, "s-1", "from the laptop")
    assert "from the laptop" in here("sessions").out and sync.refreshed == [""]
    with synced_store(here.home, sync) as store:
        list_shared(store, "s-2", "about birds")
    found = here("sessions", "--search", "laptop")
    assert "Not searched: 1 shared session whose text is not here yet." in found.err
    assert "Not searched" not in here("sessions").err


def test_continuing_begins_with_what_the_server_has(here: Here, sync: FakeSync, provider: Provider) -> None:
    add(here, "s-1", "here all along")
    sync.pull = lambda _: None if store_has(here, "s-2") else add(here, "s-2", "from the laptop")
    here.environ |= {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test"}
    assert here("--model", "openai-chat:scripted", "run", "--continue", "-p", "Go on.").code == 0
    assert "from the laptop" in str(provider.requests[-1]) and sync.refreshed == [""]


def store_has(here: Here, name: str) -> bool:
    with store_in(here.home).reading() as reading:
        return bool(reading.last_events(name, 1))
