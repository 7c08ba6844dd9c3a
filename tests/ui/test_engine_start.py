"""Starting the engine, and upkeep while the app is idle: old sessions are cleaned up, and the chat says so."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from co_tui.events import Event, SessionPinned
from co_tui.store.store_errors import StoreError
from co_tui.store.timestamps import written
from co_tui.ui.control import engine_start
from co_tui.ui.control.backend import Backend
from tests.store.test_contract import said
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, transcript_text, type_text, until
from tests.support.stores import keep_since_then, listed, store_in


async def test_old_sessions_go_into_the_trash_in_the_background(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_start, "FIRST_UPKEEP_S", 0.0)
    long_ago = written(datetime.now(UTC) - timedelta(days=20))
    with store_in(home) as store:
        for name, *more in (("old",), ("pinned", SessionPinned()), ("shown",)):
            facts = [said(f"about {name}"), *more]
            log = [Event(session_id=name, seq=n, timestamp=long_ago, fact=fact) for n, fact in enumerate(facts, 1)]
            keep_since_then(store, log)
    launch = launch_for(home, provider, session_id="shown", environ={"CO_TUI_RETENTION_DAYS": "10"})
    async with running(launch) as (app, pilot):
        told = "1 session unused for 10 days moved to the trash."
        await until(pilot, lambda: told in " ".join(transcript_text(app).split()))
        assert {row.id for row in listed(home)} == {"pinned", "shown"}


async def test_a_note_made_while_a_session_opens_stays(home: Path, provider: Provider) -> None:
    with store_in(home) as store:
        log = [Event(session_id="shown", seq=1, timestamp=written(datetime.now(UTC)), fact=said("about it"))]
        keep_since_then(store, log)
    async with running(launch_for(home, provider, session_id="shown")) as (app, pilot):
        app.chat.feed.note("A word of the app.")
        for _ in range(2):  # as when the log has newer events than what was shown
            app.chat.feed.show_again(lambda: app.controller.show_stored("shown"))
        await until(pilot, lambda: "about it" in transcript_text(app))
        assert transcript_text(app).count("A word of the app.") == 1
        app.controller.show_stored("")
        assert "A word of the app." not in transcript_text(app)


async def test_without_an_engine_every_prompt_comes_back_with_the_reason(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise StoreError("The database is damaged.")

    monkeypatch.setattr(Backend, "load", fails)
    async with running(launch_for(home, provider), ready=False) as (app, pilot):
        await until(pilot, lambda: "The database is damaged." in transcript_text(app))
        await type_text(pilot, "a long thought\n")
        await until(pilot, lambda: transcript_text(app).count("The database is damaged.") == 2)
        assert app.chat.prompt.text == "a long thought"
