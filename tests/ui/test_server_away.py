"""The app on a PostgreSQL server that is away when it starts, and comes back."""

import asyncio
from pathlib import Path

import pytest

from tests.support.cut_connections import cut_connections
from tests.support.machines import Machine, hurry
from tests.support.postgres import postgres_server
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, until


async def test_the_app_starts_without_its_server_and_pushes_what_was_said(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    server = postgres_server()
    database = server.new_database().split("?")[0].rpartition("/")[2]
    with cut_connections(server.socket) as way, Machine(home, way.url(database)) as store:
        way.take_down()
        async with running(launch_for(home, provider).but(store=store)) as (app, pilot):
            await ask(app, pilot, "Remember the heron.")
            await until(pilot, lambda: "Keep working" in " ".join(transcript_text(app).split()))
            await until(pilot, lambda: "not pushed" in screen_text(app))
            assert provider.default.text in transcript_text(app)
            way.bring_back()
            await until(pilot, lambda: "is back." in " ".join(transcript_text(app).split()))
            await until(pilot, lambda: "not pushed" not in screen_text(app))
        with Machine(home / "elsewhere", server.url(database)) as elsewhere, elsewhere.reading() as reading:
            await asyncio.to_thread(elsewhere.settle)
            assert [row.title for row in reading.sessions()] == ["Remember the heron."]
            assert elsewhere.claimed() == frozenset()
