"""A listener that shows frames gets the pieces of a stream joined: in order, whole, the first at once."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.events import Event, Fact, StreamDelta, StreamReset, ToolActivity
from co_tui.session.recorder import Listener

LONG_S = 3600.0


def delta(text: str, part: int = 0, kind: Any = "text", **more: str) -> StreamDelta:
    return StreamDelta(turn=1, part=part, kind=kind, text=text, **more)


def event(fact: Fact) -> Event:
    return Event(session_id="s", seq=None, timestamp="2026-01-01T00:00:00", fact=fact)


async def heard(facts: list[Fact], join_s: float = LONG_S) -> list[Fact]:
    listener = Listener(join_s)
    for fact in facts:
        listener.put(event(fact))
    listener.put(None)
    return [each.fact async for each in listener]


async def test_the_first_piece_comes_at_once() -> None:
    listener = Listener(LONG_S)
    listener.put(event(delta("Hel")))
    assert (await anext(listener)).fact == delta("Hel")


async def test_pieces_of_one_part_are_one_event_and_nothing_overtakes_them() -> None:
    done = ToolActivity(turn=1, tool_name="shell", tool_call_id="c", stage="finished", text="")
    assert await heard([delta("a"), delta("b"), delta("c"), done, delta("d")]) == [
        delta("a"), delta("bc"), done, delta("d"),
    ]  # fmt: skip


async def test_what_waits_comes_by_itself_when_its_time_is_over() -> None:
    listener = Listener(0.01)
    for text in "abc":
        listener.put(event(delta(text)))
    assert [(await anext(listener)).fact for _ in range(2)] == [delta("a"), delta("bc")]


async def test_calls_delegates_and_kinds_stay_apart() -> None:
    facts: list[Fact] = [
        delta("x"),
        delta("{", 1, "tool_call", tool_name="shell", tool_call_id="c1"),
        delta("}", 1, "tool_call"),
        delta("{", 1, "tool_call", tool_name="shell", tool_call_id="c2"),
        delta("y", agent="explorer"),
        delta("z", 1, "thinking"),
    ]
    joined = delta("{}", 1, "tool_call", tool_name="shell", tool_call_id="c1")
    assert await heard(facts) == [facts[0], joined, *facts[3:]]


async def test_without_a_time_every_piece_is_its_own_event() -> None:
    facts: list[Fact] = [delta("a"), delta("b"), delta("c")]
    assert await heard(facts, 0.0) == facts


PIECES = st.builds(delta, st.text(max_size=3), st.integers(0, 2), st.sampled_from(["text", "thinking"]))


@given(st.lists(st.one_of(PIECES, st.just(StreamReset(turn=1))), max_size=30))
@settings(max_examples=60, deadline=None)
def test_no_text_is_lost_or_changes_its_place(facts: list[Fact]) -> None:
    def characters(heard: list[Fact]) -> list[object]:
        pieces = (each for each in heard if isinstance(each, StreamDelta | StreamReset))
        return [
            (each.part, each.kind, character) if isinstance(each, StreamDelta) else "reset"
            for each in pieces
            for character in (each.text if isinstance(each, StreamDelta) else "r")
        ]

    assert characters(asyncio.run(heard(facts))) == characters(facts)
