"""Sessions that other machines and other users have: listed, fetched when they are opened, and what is not pushed."""

from pathlib import Path

import pytest

from co_tui.events import Event, Message, SessionStart
from co_tui.session.launch import Launch
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.sync.sync import Unpushed
from tests.support.fake_sync import FakeSync, list_shared, synced_store
from tests.support.provider import Provider
from tests.support.screen import answer, launch_for, running, screen_text, transcript_text, type_text, until

AWAY = "The server is away: what is new elsewhere is not here."


@pytest.fixture
def sync() -> FakeSync:
    return FakeSync()


@pytest.fixture
def launch(home: Path, provider: Provider, sync: FakeSync) -> Launch:
    return launch_for(home, provider).but(store=synced_store(home, sync))


def store_of(launch: Launch) -> SqliteStore:
    assert isinstance(launch.store, SqliteStore)
    return launch.store


def log_of(launch: Launch, session_id: str, *prompts: str) -> list[Event]:
    start = SessionStart(model="openai-chat:scripted", policy="balanced", cwd=str(launch.cwd))
    said = [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": each}]} for each in prompts]
    facts = [start, *(Message(turn=turn, message=message) for turn, message in enumerate(said, 1))]
    when = "2026-01-01T10:00:00Z"
    return [Event(session_id=session_id, seq=seq, timestamp=when, fact=fact) for seq, fact in enumerate(facts, 1)]


async def test_the_list_is_shown_at_once_and_again_with_what_other_machines_added(
    launch: Launch, sync: FakeSync
) -> None:
    store = store_of(launch)
    store.writing().import_log(log_of(launch, "s-1", "here all along")).result()
    async with running(launch) as (app, pilot):
        sync.pull = lambda _: store.writing().import_log(log_of(launch, "s-2", "from the laptop")).result()
        sync.trouble = AWAY
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 2 · server not reached" in screen_text(app))
        assert "here all along" in screen_text(app) and "from the laptop" in screen_text(app)
        assert not app._notifications
        await pilot.press("escape")


async def test_a_shared_session_is_fetched_when_it_is_read_and_no_search_covers_it_before(
    launch: Launch, sync: FakeSync
) -> None:
    store = store_of(launch)
    list_shared(store, "s-1", "about birds")
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "not downloaded yet: open it to download it" in screen_text(app))
        await type_text(pilot, "heron")
        await until(pilot, lambda: "Not searched: 1 shared session" in screen_text(app))
        await pilot.press("escape")
        await type_text(pilot, "birds")
        await until(
            pilot, lambda: "Not searched: 1 shared session" in screen_text(app) and "alice:" in screen_text(app)
        )
        await pilot.press("enter")

        def fetch(session_id: str) -> None:
            store.writing().replace_tail(session_id, 0, log_of(launch, "s-1", "the heron of alice")).result()

        sync.pull = fetch
        await answer(app, pilot, "r")
        await until(pilot, lambda: "Read-only" in transcript_text(app))
        assert "the heron of alice" in transcript_text(app) and sync.refreshed[-1] == "s-1"


async def test_a_shared_session_that_cannot_be_fetched_says_why(launch: Launch, sync: FakeSync) -> None:
    list_shared(store_of(launch), "s-1", "about birds")
    async with running(launch.but(session_id="s-1")) as (app, pilot):
        sync.trouble = AWAY
        await answer(app, pilot, "r")
        await until(pilot, lambda: "The server is away" in transcript_text(app))


async def test_resuming_shows_what_the_server_has_in_place_of_what_was_here(launch: Launch, sync: FakeSync) -> None:
    store = store_of(launch)
    store.writing().import_log(log_of(launch, "s-1", "one", "two as said here")).result()
    theirs = [
        event.but(timestamp="2026-01-02T10:00:00Z") for event in log_of(launch, "s-1", "one", "two as said there")
    ]
    sync.pull = lambda _: store.writing().replace_tail("s-1", 2, theirs[2:]).result()
    async with running(launch.but(session_id="s-1")) as (app, pilot):
        await until(pilot, lambda: app.controller.session is not None)
        assert "two as said there" in transcript_text(app) and "two as said here" not in transcript_text(app)


async def test_a_session_of_another_machine_is_pulled_when_it_is_named(launch: Launch, sync: FakeSync) -> None:
    store = store_of(launch)
    async with running(launch) as (app, pilot):
        sync.trouble = AWAY
        await type_text(pilot, "/resume s-1\n")
        await until(pilot, lambda: "The server is away" in transcript_text(app))
        sync.trouble = ""
        sync.pull = lambda _: store.writing().import_log(log_of(launch, "s-1", "from the laptop")).result()
        await type_text(pilot, "/resume s-1\n")
        await until(pilot, lambda: app.controller.session is not None and app.controller.session.id == "s-1")
        assert "from the laptop" in transcript_text(app)


async def test_the_title_says_what_is_not_pushed_until_all_is(launch: Launch, sync: FakeSync) -> None:
    sync.now = Unpushed(sessions=2)
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: "2 sessions not pushed yet" in screen_text(app).splitlines()[0])
        sync.change_unpushed(Unpushed())
        await until(pilot, lambda: "not pushed" not in screen_text(app))
