"""Joins the pieces of a streamed reply by time: handling one costs far more than reading it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import (
    ModelResponseStreamEvent,
    PartDeltaEvent,
    TextPartDelta,
    ThinkingPartDelta,
    ToolCallPartDelta,
)

JOIN_S: Final = 0.05
"""Pieces that arrive within this time become one."""


class _Run(NamedTuple):
    """Pieces with the same one are joined: they continue one text."""

    part: int
    kind: type[Any]
    field: str


async def joined_events(
    events: AsyncIterator[ModelResponseStreamEvent], silence_s: float
) -> AsyncGenerator[ModelResponseStreamEvent]:
    """The events in order, none held longer than `JOIN_S`. Raises `TimeoutError` if none comes for `silence_s`."""
    loop = asyncio.get_running_loop()
    arrived: list[ModelResponseStreamEvent] = []
    is_due = asyncio.Event()
    timer: asyncio.TimerHandle | None = None
    passed_s = float("-inf")

    async def read() -> None:
        nonlocal timer
        async for event in events:
            arrived.append(event)
            if type(event) is not PartDeltaEvent:
                is_due.set()
            elif timer is None:
                timer = loop.call_at(max(passed_s + JOIN_S, loop.time()), is_due.set)

    reading = asyncio.create_task(read())
    reading.add_done_callback(lambda _: is_due.set())
    try:
        while arrived or not reading.done():
            async with asyncio.timeout(silence_s):
                await is_due.wait()
            if timer is not None:
                timer.cancel()
                timer = None
            is_due.clear()
            passed_s = loop.time()
            taken, arrived = arrived, []
            for event in _joined(taken):
                yield event
        await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def _joined(events: Iterable[ModelResponseStreamEvent]) -> Iterator[ModelResponseStreamEvent]:
    for run, group in groupby(events, _run):
        if run is None:
            yield from group
            continue
        first, *others = group
        assert isinstance(first, PartDeltaEvent)
        if others:
            text = "".join(getattr(each.delta, run.field) for each in (first, *others))  # type: ignore[union-attr]
            changed: dict[str, Any] = {run.field: text}
            first = replace(first, delta=replace(first.delta, **changed))
        yield first


def _run(event: ModelResponseStreamEvent) -> _Run | None:
    """None for what is more than a piece of text."""
    if not isinstance(event, PartDeltaEvent):
        return None
    match event.delta:
        case TextPartDelta(content_delta=str(), provider_details=None, citations_delta=None):
            return _Run(event.index, TextPartDelta, "content_delta")
        case ThinkingPartDelta(content_delta=str(), signature_delta=None, provider_details=None):
            return _Run(event.index, ThinkingPartDelta, "content_delta")
        case ToolCallPartDelta(args_delta=str(), tool_name_delta=None, provider_details=None):
            return _Run(event.index, ToolCallPartDelta, "args_delta")
        case _:
            return None
