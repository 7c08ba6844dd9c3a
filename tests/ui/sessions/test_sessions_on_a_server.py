"""The app on a database over a network: no screen waits for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input

from co_tui.events import Message, ModelChange, SessionStart
from co_tui.session.launch import Launch
from co_tui.store.cached_list import CachedList
from co_tui.store.postgres import change_listener
from co_tui.store.postgres.store import PostgresStore
from co_tui.store.stored_values import SessionRow
from co_tui.ui.sessions.session_finder import FIRST_PAGE
from tests.support.delayed_connections import DelayedConnections, delayed_connections
from tests.support.network_waits import recorded_network_waits
from tests.support.postgres import PostgresServer, postgres_server, postgres_store
from tests.support.provider import Provider
from tests.support.screen import answer, ask, launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.waiting import HANGING_S


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
    return launch.but(store=PostgresStore(launch.paths, way.url(name)))


@pytest.fixture
def elsewhere(url: str, tmp_path: Path) -> Iterator[PostgresStore]:
    """The same database from another machine."""
    with postgres_store(tmp_path / "another home", url) as store:
        yield store


def keep(store: PostgresStore, launch: Launch, session_id: str, prompt: str, turns: int = 1) -> None:
    facts: list[Message] = []
    for turn in range(1, turns + 1):
        request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"{prompt} {turn}"}]}
        reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"Answer to {prompt} {turn}"}]}
        facts += [Message(turn=turn, message=request), Message(turn=turn, message=reply)]
    start = SessionStart(model="openai-chat:scripted", policy="balanced", cwd=str(launch.cwd))
    store.writing().append(session_id, [start, *facts]).result()


async def test_nothing_in_the_app_waits_for_the_server_in_the_thread_that_answers_keys(
    launch: Launch, elsewhere: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(elsewhere, launch, "s-1", "fix flaky login", turns=200)
    keep(elsewhere, launch, "s-2", "payment webhooks")
    keep(elsewhere, launch, "s-3", "add a heron")
    waits = recorded_network_waits(monkeypatch)
    async with running(launch.but(session_id="s-1")) as (app, pilot):
        await until(pilot, lambda: app.controller.session is not None)
        assert "Answer to fix flaky login 200" in screen_text(app)
        for _ in range(12):
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


async def test_while_the_server_is_silent_the_cached_list_is_shown_and_keys_are_answered(
    launch: Launch, elsewhere: PostgresStore, way: DelayedConnections
) -> None:
    keep(elsewhere, launch, "s-1", "fix flaky login")
    keep(elsewhere, launch, "s-2", "payment webhooks")
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 2 ─" in screen_text(app))
        await pilot.press("escape")
        keep(elsewhere, launch, "s-3", "add a heron")
        with way.held():
            await type_text(pilot, "typed meanwhile")
            assert app.chat.prompt.text == "typed meanwhile"
            await pilot.press("f2")
            await until(pilot, lambda: "Sessions · 2 · as of " in screen_text(app))
            await type_text(pilot, "login")
            await until(pilot, lambda: "Sessions · 1 of 2 · as of " in screen_text(app))
            assert "payment" not in screen_text(app)
            await pilot.press("escape")
            await until(pilot, lambda: not app.screen.query_one("#filter", Input).value)
            assert way.is_held
        await until(pilot, lambda: "Sessions · 3 ─" in screen_text(app))
        assert "add a heron" in screen_text(app)
        await pilot.press("escape")


async def test_enter_after_a_filter_that_only_the_server_can_answer_resumes_what_it_answers(
    launch: Launch, elsewhere: PostgresStore, way: DelayedConnections
) -> None:
    keep(elsewhere, launch, "s-1", "fix flaky login")
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 1 ─" in screen_text(app))
        keep(elsewhere, launch, "s-2", "add a heron")
        with way.held():
            await type_text(pilot, "heron")
            await until(pilot, lambda: "Sessions · 0 of 1 · as of " in screen_text(app))
            await pilot.press("enter")
        await until(pilot, lambda: app.controller.session is not None and app.controller.session.id == "s-2")


async def test_a_session_that_is_only_read_here_is_followed_live(
    launch: Launch, elsewhere: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("POLL_S", "POLL_LISTENING_S"):
        monkeypatch.setattr(change_listener, name, HANGING_S)  # reports alone bring the new messages
    keep(elsewhere, launch, "s-1", "shared")
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


async def test_a_server_that_is_away_is_named_and_the_cached_list_stays(
    launch: Launch, elsewhere: PostgresStore, way: DelayedConnections
) -> None:
    keep(elsewhere, launch, "s-1", "fix flaky login")
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 1 ─" in screen_text(app))
        await pilot.press("escape")
        way.refuse()
        await pilot.press("f2")
        await until(pilot, lambda: "server not reached" in screen_text(app))
        assert "Sessions · 1 · as of " in screen_text(app) and "fix flaky login" in screen_text(app)
        way.refuse(False)
        await pilot.press("escape")


def test_a_cached_list_is_for_its_owner_alone_and_one_of_another_version_is_ignored(tmp_path: Path) -> None:
    cached = CachedList(tmp_path / "lists" / "a.json")
    row = SessionRow(
        "s-1", "t", "2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z", "m", "", "/", "", "", *range(4), None, None, 0.5
    )
    assert cached.read() is None
    assert cached.write([row], 7) == cached.read()
    file = tmp_path / "lists" / "a.json"
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    for was, odd in (('"t"', "7"), ('"title"', '"name"'), ("2026-01-01T", "x"), ("[", "[[")):
        cached.write([row], FIRST_PAGE)
        file.write_text(file.read_text().replace(was, odd))
        assert cached.read() is None, odd
