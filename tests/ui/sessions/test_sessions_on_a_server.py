"""The app on a database over a network: no screen waits for it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input

from co_tui.events import Message, ModelChange, SessionStart
from co_tui.session.launch import Launch
from co_tui.store.sqlite.store import SqliteStore
from tests.support.cut_connections import cut_connections
from tests.support.delayed_connections import DelayedConnections, delayed_connections
from tests.support.long_run import only_in_a_long_run
from tests.support.network_waits import recorded_network_waits
from tests.support.postgres import PostgresServer, postgres_server, synced_store
from tests.support.provider import Provider
from tests.support.screen import answer, ask, launch_for, running, screen_text, transcript_text, type_text, until


@pytest.fixture
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_database()


@pytest.fixture
def way(server: PostgresServer) -> Iterator[DelayedConnections]:
    with delayed_connections(server.socket) as way:
        yield way


@pytest.fixture
def launch(home: Path, provider: Provider, way: DelayedConnections, url: str) -> Launch:
    launch = launch_for(home, provider)
    name = url.split("?")[0].rpartition("/")[2]
    return launch.but(store=synced_store(home, way.url(name)))


@pytest.fixture
def elsewhere(url: str, tmp_path: Path) -> Iterator[SqliteStore]:
    """The same database from another machine."""
    with synced_store(tmp_path / "another home", url) as store:
        yield store


def keep(store: SqliteStore, launch: Launch, session_id: str, prompt: str, turns: int = 1) -> None:
    facts: list[Message] = []
    for turn in range(1, turns + 1):
        request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"{prompt} {turn}"}]}
        reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"Answer to {prompt} {turn}"}]}
        facts += [Message(turn=turn, message=request), Message(turn=turn, message=reply)]
    start = SessionStart(model="openai-chat:scripted", policy="balanced", cwd=str(launch.cwd))
    store.writing().append(session_id, [start, *facts]).result()
    store.sync.complete()


async def test_nothing_in_the_app_waits_for_the_server_in_the_thread_that_answers_keys(
    launch: Launch, elsewhere: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(elsewhere, launch, "s-1", "fix flaky login", turns=40)
    keep(elsewhere, launch, "s-2", "payment webhooks")
    keep(elsewhere, launch, "s-3", "add a heron")
    await asyncio.to_thread(launch.store.sync.complete)
    waits = recorded_network_waits(monkeypatch)
    async with running(launch.but(session_id="s-1")) as (app, pilot):
        await until(pilot, lambda: app.controller.session is not None)
        assert "Answer to fix flaky login 40" in screen_text(app)
        for _ in range(5):
            app.chat.action_page(-1)
            await pilot.pause()
        await ask(app, pilot, "still flaky")
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 3" in screen_text(app))
        await type_text(pilot, "webhooks")
        await until(pilot, lambda: "Answer to payment webhooks" in screen_text(app))
        await pilot.press("ctrl+k")
        await until(pilot, lambda: "Pinned" in screen_text(app))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "Rename" in screen_text(app))
        await type_text(pilot, "webhooks again\n")
        await until(pilot, lambda: "webhooks again" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.session is not None and app.controller.session.id == "s-2")
        app.run_command("fork", "")
        await until(
            pilot, lambda: app.controller.session is not None and app.controller.session.id not in ("s-1", "s-2")
        )
        app.run_command("resume", "s-3")
        await until(pilot, lambda: app.controller.session is not None and app.controller.session.id == "s-3")
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 4" in screen_text(app))
        await type_text(pilot, "login")
        await until(pilot, lambda: "Answer to fix flaky" in screen_text(app))
        await pilot.press("ctrl+d", "y")
        await until(pilot, lambda: "Sessions · 0 of 3" in screen_text(app))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "Trash · 1" in screen_text(app))
        await pilot.press("escape", "escape", "escape")
    assert not waits, waits[0]


@only_in_a_long_run
async def test_while_the_server_is_silent_the_list_is_what_is_here_and_keys_are_answered(
    launch: Launch, elsewhere: SqliteStore, way: DelayedConnections
) -> None:
    keep(elsewhere, launch, "s-1", "fix flaky login")
    keep(elsewhere, launch, "s-2", "payment webhooks")
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 2 ─" in screen_text(app))
        await pilot.press("escape")
        with way.held():
            await type_text(pilot, "typed")
            assert app.chat.prompt.text == "typed"
            await pilot.press("f2")
            await until(pilot, lambda: "Sessions · 2 ─" in screen_text(app))
            await type_text(pilot, "login")
            await until(pilot, lambda: "Sessions · 1 of 2" in screen_text(app))
            await pilot.press("escape")
            await until(pilot, lambda: not app.screen.query_one("#filter", Input).value)
            await pilot.press("escape")
        await asyncio.to_thread(keep, elsewhere, launch, "s-3", "add a heron")
        await pilot.press("f2")
        await until(pilot, lambda: "add a heron" in screen_text(app))
        await pilot.press("escape")


async def test_a_session_that_is_only_read_here_is_followed_live(launch: Launch, elsewhere: SqliteStore) -> None:
    keep(elsewhere, launch, "s-1", "shared")
    await asyncio.to_thread(launch.store.sync.complete)
    with elsewhere.claim("s-1"):
        async with running(launch.but(session_id="s-1")) as (app, pilot):
            await answer(app, pilot, "r")
            await until(pilot, lambda: "Read-only" in transcript_text(app))
            for said in ("Said over there", "And once more"):
                reply = {"kind": "response", "parts": [{"part_kind": "text", "content": said}]}
                elsewhere.writing().append("s-1", [Message(turn=2, message=reply)]).result()
                await until(pilot, lambda said=said: said in transcript_text(app))
            usual = app.controller.launch.choice.model
            elsewhere.writing().append(
                "s-1", [ModelChange(from_="m", to="openai-chat:x@http://evil.example/v1")]
            ).result()
            await until(pilot, lambda: "evil.example" in app.controller.state.model)
            await app.controller.begin_session()
            assert app.controller.launch.choice.model == usual, "what is only read chooses no model"


async def test_a_server_that_is_away_is_named_and_the_list_stays(
    home: Path, provider: Provider, url: str, server: PostgresServer, elsewhere: SqliteStore
) -> None:
    launch = launch_for(home, provider)
    with cut_connections(server.socket) as way:
        launch = launch.but(store=synced_store(home, way.url(url.split("?")[0].rpartition("/")[2])))
        keep(elsewhere, launch, "s-1", "fix flaky login")
        async with running(launch) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: "Sessions · 1 ─" in screen_text(app))
            await pilot.press("escape")
            way.take_down()
            await pilot.press("f2")
            await until(pilot, lambda: "Sessions · 1 · server not reached" in screen_text(app))
            assert "fix flaky login" in screen_text(app)
            await pilot.press("escape")
            await ask(app, pilot, "said while away")
            await until(pilot, lambda: "not pushed" in screen_text(app))
            way.bring_back()
            await until(pilot, lambda: "not pushed" not in screen_text(app))
