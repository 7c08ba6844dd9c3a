"""Pieces of a streamed reply are joined by time: in order, whole, and none is held for long."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPartDelta,
    ToolCallPartDelta,
)

from co_tui.agent.wire import joined_events as module
from co_tui.agent.wire.joined_events import joined_events

LONG_S = 3600.0
Events = list[ModelResponseStreamEvent]


def text(content: str, part: int = 0) -> PartDeltaEvent:
    return PartDeltaEvent(index=part, delta=TextPartDelta(content_delta=content))


def thought(content: str, part: int = 0, signature: str | None = None) -> PartDeltaEvent:
    return PartDeltaEvent(index=part, delta=ThinkingPartDelta(content_delta=content, signature_delta=signature))


def arguments(content: str, name: str | None = None) -> PartDeltaEvent:
    return PartDeltaEvent(index=0, delta=ToolCallPartDelta(args_delta=content, tool_name_delta=name))


START = PartStartEvent(index=0, part=TextPart(content="x"))


async def stream(events: Sequence[ModelResponseStreamEvent]) -> AsyncIterator[ModelResponseStreamEvent]:
    for event in events:
        yield event


async def joined(events: Sequence[ModelResponseStreamEvent]) -> Events:
    return [event async for event in joined_events(stream(events), LONG_S)]


async def test_pieces_of_one_part_are_one_event_and_nothing_overtakes_them() -> None:
    assert await joined([START, text("a"), text("b"), START, text("c")]) == [START, text("ab"), START, text("c")]


async def test_parts_kinds_and_what_is_more_than_text_stay_apart() -> None:
    events: Events = [text("a"), text("b", 1), thought("c", 1), thought("d", 1, "signed"), arguments("{", "sh")]
    assert await joined([*events, arguments("1"), arguments("}")]) == [*events, arguments("1}")]


async def test_what_waits_comes_by_itself_although_nothing_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "JOIN_S", 0.001)
    is_over = asyncio.Event()

    async def pausing() -> AsyncIterator[ModelResponseStreamEvent]:
        for event in (START, text("a"), text("b")):
            yield event
        await is_over.wait()

    events = joined_events(pausing(), LONG_S)
    assert [await anext(events) for _ in range(2)] == [START, text("ab")]
    is_over.set()
    assert [event async for event in events] == []


async def test_an_error_comes_after_all_that_arrived_before_it() -> None:
    async def breaking() -> AsyncIterator[ModelResponseStreamEvent]:
        yield text("a")
        yield text("b")
        raise ConnectionError("gone")

    heard: Events = []
    with pytest.raises(ConnectionError, match="gone"):
        async for event in joined_events(breaking(), LONG_S):
            heard.append(event)
    assert heard == [text("ab")]


async def test_silence_ends_it() -> None:
    async def silent() -> AsyncIterator[ModelResponseStreamEvent]:
        yield START
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        [event async for event in joined_events(silent(), 0.01)]


async def test_one_that_is_left_early_is_no_longer_read() -> None:
    has_ended = asyncio.Event()

    async def endless() -> AsyncIterator[ModelResponseStreamEvent]:
        try:
            yield START
            await asyncio.Event().wait()
        finally:
            has_ended.set()

    events = joined_events(endless(), LONG_S)
    assert await anext(events) == START
    await events.aclose()
    assert has_ended.is_set()


PIECES = st.builds(text, st.text(max_size=3), st.integers(0, 2)) | st.builds(thought, st.text(max_size=3))


@given(st.lists(PIECES | st.just(START), max_size=30))
@settings(max_examples=60, deadline=None)
def test_no_text_is_lost_or_changes_its_place(events: Events) -> None:
    def characters(heard: Events) -> list[object]:
        return [
            (each.index, type(each.delta), character) if isinstance(each, PartDeltaEvent) else "start"
            for each in heard
            for character in (getattr(each.delta, "content_delta", "") if isinstance(each, PartDeltaEvent) else "s")
        ]

    assert characters(asyncio.run(joined(events))) == characters(events)
