"""Claims that may go over a network."""

import asyncio
import threading
from pathlib import Path

import pytest

from co_tui.session.claiming import claim, claimed
from co_tui.store.port import SessionLock
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.store_errors import SessionBusy
from tests.support.stores import store_in
from tests.support.waiting import PATIENCE_S


async def test_a_claim_that_succeeds_after_its_caller_was_cancelled_is_released(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answered = threading.Event(), threading.Event()
    at_once = SqliteStore.claim

    def slow(store: SqliteStore, session_id: str, *, take_over: bool = False) -> SessionLock:
        asked.set()
        assert answered.wait(PATIENCE_S)
        return at_once(store, session_id)

    monkeypatch.setattr(SqliteStore, "claim", slow)
    with store_in(home) as store:
        task = asyncio.create_task(claim(store, "s-1"))
        assert await asyncio.to_thread(asked.wait, PATIENCE_S)
        task.cancel()
        answered.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not store.claimed()


async def test_a_session_is_held_meanwhile_and_refused_to_others(home: Path) -> None:
    with store_in(home) as store, store_in(home) as other:
        async with claimed(store, "s-1"):
            with pytest.raises(SessionBusy):
                await claim(other, "s-1")
        assert not other.claimed()
