"""The log and what is known of it stay in step, whatever happens to who waits for it."""

import asyncio
from concurrent.futures import Future
from typing import Any

import pytest

from co_tui.events import Event, Fact, SessionRename
from co_tui.session import recorder as recorders
from co_tui.session.recorder import Recorder
from co_tui.session.state.session_state import SessionState
from co_tui.store.store_errors import StoreError


class Writer:
    """Takes its time, or refuses."""

    def __init__(self) -> None:
        self.log: list[Event] = []
        self.waiting: list[tuple[Future[tuple[Event, ...]], tuple[Fact, ...]]] = []

    def append(self, session_id: str, facts: tuple[Fact, ...], **_: Any) -> "Future[tuple[Event, ...]]":
        self.waiting.append((Future(), facts))
        return self.waiting[-1][0]

    def refuse(self) -> None:
        self.waiting.pop()[0].set_exception(StoreError("The disk is full."))

    def commit(self) -> None:
        future, facts = self.waiting.pop()
        first = len(self.log) + 1
        events = tuple(Event(session_id="s", seq=n, timestamp="", fact=fact) for n, fact in enumerate(facts, first))
        self.log += events
        future.set_result(events)

    async def asked(self) -> None:
        while not self.waiting:
            await asyncio.sleep(0)


async def test_who_is_cancelled_twice_writes_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorders, "SAVE_AGAIN_S", 1e9)
    writer = Writer()
    recorder = Recorder("s", writer, SessionState())  # type: ignore[arg-type]  # as much of one as is asked for
    listener = recorder.listen()
    said = asyncio.create_task(recorder.record_said(SessionRename(title="A")))
    await writer.asked()
    writer.refuse()
    with pytest.raises(StoreError):
        await said
    waiting = asyncio.create_task(recorder.record(SessionRename(title="B")))
    await writer.asked()
    for _ in range(2):
        waiting.cancel()
        await asyncio.sleep(0)
    assert waiting.done() and recorder.has_unsaved
    next_one = asyncio.create_task(recorder.record(SessionRename(title="C")))
    await asyncio.sleep(0)
    for _ in range(2):
        await writer.asked()
        writer.commit()
        await asyncio.sleep(0)
    await next_one
    assert [event.fact.title for event in writer.log] == ["A", "B", "C"]  # type: ignore[union-attr]  # all are renames
    assert recorder.state.title == "C" and not recorder.has_unsaved
    heard = [event for _ in range(4) if (event := await anext(listener)).seq]
    assert heard == writer.log
    recorder.close()
