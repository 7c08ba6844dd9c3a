"""Clocks count from the machine's start: what never happened lies before any time they show."""

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponseStreamEvent, PartDeltaEvent, TextPartDelta

from co_tui.agent.wire.joined_events import joined_events
from co_tui.events import StreamDelta
from co_tui.events.partial_reply import DraftPiece
from co_tui.session.turns.reply_draft import Draft
from co_tui.ui.gauge.gauge_widget import StreamedReply
from co_tui.ui.transcript.stream_pace import StreamPace

JUST_STARTED_S = 0.001
DELTA = StreamDelta(turn=1, part=0, kind="text", text="Hel")


@pytest.fixture(autouse=True)
def just_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: JUST_STARTED_S)


async def test_the_first_piece_of_a_stream_comes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: JUST_STARTED_S)
    piece = PartDeltaEvent(index=0, delta=TextPartDelta(content_delta="Hel"))
    is_over = asyncio.Event()

    async def stream() -> AsyncIterator[ModelResponseStreamEvent]:
        yield piece
        await is_over.wait()

    async with aclosing(joined_events(stream(), silence_s=3600.0)) as events:
        first = asyncio.ensure_future(anext(events))
        for _ in range(5):
            await asyncio.sleep(0)
        assert first.done() and first.result() == piece


def test_the_first_frame_is_drawn_at_once_with_its_bar() -> None:
    pace = StreamPace()
    assert pace.wait_s == 0
    with pace.frame():
        assert not pace.holds_bar


def test_the_first_piece_moves_the_gauge() -> None:
    assert StreamedReply().apply(DELTA, JUST_STARTED_S)


def test_the_first_piece_is_saved() -> None:
    saved: list[Any] = []
    writer: Any = SimpleNamespace(save_reply=lambda *row: saved.append(row) or Future())
    Draft("s", 1, "m", writer).add(DraftPiece(0, "text", "Hel", "", ""))
    assert saved
