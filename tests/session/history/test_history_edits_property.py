"""Whatever is compacted, undone, cleared, rewound, pinned or forked, in whatever order: nothing said is ever lost."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls

from co_tui.events import (
    Clear,
    CompactionComplete,
    Event,
    Fact,
    Message,
    Pin,
    Ref,
    Rewind,
    SessionFork,
    event_json,
    from_json,
)
from co_tui.events.stored_messages import SUMMARY
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.session import Session
from co_tui.session.state import history_edits
from co_tui.session.state.derive import apply, replay
from co_tui.session.state.history_edits import NothingToUndo
from co_tui.session.state.out_of_context import out_of_context
from co_tui.session.state.session_state import Entry, SessionState
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for
from tests.support.lens import lens_of
from tests.support.long_run import drawn

PLACES = st.integers(0, 99)
"""Where something is done; taken modulo what there is."""


def refs(entries: Sequence[Entry]) -> list[Ref]:
    return [entry.ref for entry in entries]


def messages(entries: Sequence[Entry]) -> list[Any]:
    return [entry.message for entry in entries]


def said_in(events: Sequence[Event]) -> list[Any]:
    return [event.fact.message for event in events if isinstance(event.fact, Message)]


def check_whole(state: SessionState, said: Sequence[Any]) -> None:
    """What holds of every state: all that was said is in the transcript, and nothing is in the history twice."""
    assert messages(state.transcript) == said
    standing = refs(state.history)
    assert len(set(standing)) == len(standing), "a message stands twice in the history"
    assert all(state.entry(entry.ref) == entry for entry in state.history)


def check_removed(state: SessionState, sent: set[Ref | None]) -> None:
    """What counts as out of the context is what a request lacks, each with an event that can be undone or opened."""
    out = out_of_context(state)
    lacking = {entry.seq: entry for entry in state.transcript if entry.ref not in sent}
    joined = {
        part["content"]
        for entry in state.history
        if (entry.message.get("metadata") or {}).get(SUMMARY)
        for part in entry.message["parts"]
    }
    shown = {seq for seq, entry in lacking.items() if entry.message["parts"][0].get("content") in joined}
    assert set(out.removals) == lacking.keys() - shown, "a prompt that a summary joined is still sent"
    rewrites = {rewrite.seq: rewrite.event.fact for rewrite in state.rewrites}
    assert {removal.seq for removal in out.removals.values()} <= rewrites.keys()
    for group in out.groups:
        fact = rewrites[group.removal.seq]
        if isinstance(fact, CompactionComplete):
            assert group.messages == sum(removal.seq == group.removal.seq for removal in out.removals.values())
        elif isinstance(fact, Clear):
            assert group.messages <= fact.messages_removed, "what was summarised before does not count again"
        assert 0 <= group.undoable <= group.messages
    if state.rewrites and isinstance(state.rewrites[-1].event.fact, CompactionComplete):
        back = {entry.seq for entry in apply_undo(state).history}
        assert sum(group.undoable for group in out.groups) == len(back & set(out.removals))


def apply_undo(state: SessionState) -> SessionState:
    fact = history_edits.undone(state, state.rewrites[-1])
    return apply(state, Event(session_id="s", seq=state.seq + 1, timestamp="t", fact=fact))


# Logs


class Log:
    """A session's log, with the state after each of its events."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events: list[Event] = []
        self.states = [SessionState()]
        for event in events:
            self._append(event)

    @property
    def state(self) -> SessionState:
        return self.states[-1]

    def add(self, *facts: Fact) -> None:
        for fact in facts:
            seq = len(self.events) + 1
            self._append(Event(session_id="s", seq=seq, timestamp=f"t{seq}", fact=fact))

    def _append(self, event: Event) -> None:
        self.events.append(event)
        self.states.append(apply(self.state, event))


def prompt(text: str) -> dict[str, Any]:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}


def turn(log: Log, calls: int, _: int) -> None:
    number, name = log.state.turn + 1, f"call-{len(log.events)}"
    parts: list[dict[str, Any]] = []
    for n in range(calls % 3):
        call = {"part_kind": "tool-call", "tool_name": "look", "args": "{}", "tool_call_id": f"{name}.{n}"}
        answer = {"part_kind": "tool-return", "tool_name": "look", "content": "seen", "tool_call_id": f"{name}.{n}"}
        parts += [{"kind": "response", "parts": [call]}, {"kind": "request", "parts": [answer]}]
    reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"answer {number}"}]}
    log.add(*(Message(turn=number, message=each) for each in (prompt(f"question {number}"), *parts, reply)))


def compact(log: Log, start: int, length: int) -> None:
    history = log.state.history
    if not history:
        return
    start %= len(history)
    gone = history[start : start + 1 + length % 8]
    stands = tuple(prompt(f"summary {n} at {len(log.events)}") for n in range(1 + length % 2))
    log.add(CompactionComplete(success=True, replaced=tuple(refs(gone)), replacement=stands))
    assert messages(log.state.history)[start : start + len(stands)] == list(stands)
    assert len(log.state.history) == len(history) - len(gone) + len(stands)


def undo(log: Log, _: int, __: int) -> None:
    if not log.state.rewrites:
        return
    last, before = log.state.rewrites[-1], log.state
    log.add(history_edits.undone(before, last))
    earlier = log.states[last.seq - 1].history
    since = [entry for entry in before.transcript if entry.seq > last.seq]
    expected = [*earlier, *since]
    later = (event.fact for event in log.events[last.seq :])
    pinned_back = {ref for fact in later if isinstance(fact, Pin) for ref in fact.history} - set(refs(expected))
    assert [entry for entry in log.state.history if entry.ref not in pinned_back] == expected
    if isinstance(last.event.fact, CompactionComplete) and set(refs(before.history)) <= {
        *refs(last.after),
        *refs(since),
    }:
        again = apply(log.state, Event(session_id="s", seq=len(log.events) + 1, timestamp="t", fact=last.event.fact))
        assert messages(again.history) == messages(before.history), "an undone compaction can be had again"


def clear(log: Log, _: int, __: int) -> None:
    log.add(Clear(messages_removed=len(log.state.history)))
    assert not log.state.history


def rewind(log: Log, number: int, _: int) -> None:
    if not log.state.turn:
        return
    first = history_edits.beginning_of(log.state, 1 + number % log.state.turn)
    then = log.states[first.seq - 1].history
    log.add(Rewind(to_seq=first.seq - 1, history=tuple(refs(then))))
    assert log.state.history == then


def pin(log: Log, place: int, on: int) -> None:
    known = log.state.transcript
    if not known:
        return
    ref = known[place % len(known)].ref
    before = refs(log.state.history)
    log.add(history_edits.pinned(log.state, [ref], bool(on % 3)))
    after = refs(log.state.history)
    assert (ref in log.state.pins) == (ref in after and bool(on % 3))
    assert [each for each in after if each in before] == before, "nothing leaves, nothing changes places"


def fork(log: Log, upto: int, _: int) -> None:
    """Go on with a copy that begins as the log was at some seq."""
    seq = len(log.events) - upto % 3 if len(log.events) > 2 else len(log.events)
    source = log.states[seq]
    copy = Log([event.but(session_id="fork") for event in log.events[:seq]])
    copy.add(SessionFork(source_session_id="s", source_seq=seq, model="", cwd=""))
    assert copy.state.history == source.history and copy.state.transcript == source.transcript
    assert copy.state.pins == source.pins
    assert [each.before for each in copy.state.rewrites] == [each.before for each in source.rewrites]
    log.events, log.states = copy.events, copy.states


LOG_STEPS = st.lists(
    st.tuples(st.sampled_from([turn, compact, compact, undo, undo, clear, rewind, pin, pin, fork]), PLACES, PLACES),
    min_size=4,
    max_size=14,
)


@settings(max_examples=drawn(40), deadline=None)
@given(LOG_STEPS)
def test_any_order_of_rewrites_keeps_all_that_was_said(steps: list[tuple[Any, int, int]]) -> None:
    log = Log()
    turn(log, 0, 0)
    turn(log, 1, 0)
    for act, first, second in steps:
        act(log, first, second)
        check_whole(log.state, said_in(log.events))
        check_removed(log.state, set(refs(log.state.history)))
    stored = [event_json(event) for event in log.events]
    for seq, state in enumerate(log.states):
        assert replay(from_json(line) for line in stored[:seq]) == state, seq


# Sessions


class Talker:
    """A model that calls the tool when asked to, sums up when asked to, and keeps what it was sent."""

    def __init__(self) -> None:
        self.requests: list[list[ModelMessage]] = []
        self.calls = 0

    async def __call__(self, sent: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if "working memory" in (info.instructions or ""):
            yield "Title: Questions\n## Decisions and outcomes\n- The question was answered."
            return
        self.requests.append(sent)
        asked = str(sent[-1].parts[-1].content)
        if asked.startswith("Look"):
            self.calls += 1
            yield {0: DeltaToolCall("look", "{}", tool_call_id=f"call-{self.calls}")}
        else:
            yield "An answer about the question. " * 12


def look() -> str:
    """See what is there."""
    return "something was seen " * 20


def orphans(sent: Sequence[ModelMessage]) -> list[str]:
    """Results without the call just before them, and calls without a result: providers refuse both."""
    found: list[str] = []
    waiting: set[str] = set()
    for message in sent:
        if isinstance(message, ModelResponse):
            found += waiting
            waiting = {call.tool_call_id for call in message.tool_calls}
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                found += [] if part.tool_call_id in waiting else [part.tool_call_id]
                waiting.discard(part.tool_call_id)
    return [*found, *waiting]


async def submits(session: Session, calls: int, words: int) -> None:
    text = ("Look: " if calls % 2 else "Say: ") + f"question {session.state.turn + 1} " + "more words " * (words % 60)
    assert await session.submit(text) is Outcome.DONE


async def compacts(session: Session, upto: int, whole: int) -> None:
    history = session.state.history
    chosen = history[upto % len(history)].ref if history and whole % 2 else None
    try:
        done = await session.compact(upto=chosen)
    except CompactionRefused:
        return
    assert done.success or done.error


async def undoes(session: Session, _: int, __: int) -> None:
    try:
        await session.edits.undo()
    except NothingToUndo:
        assert not session.state.rewrites


async def clears(session: Session, _: int, __: int) -> None:
    await session.edits.clear()
    assert not session.state.history


async def rewinds(session: Session, number: int, _: int) -> None:
    if session.state.turn:
        await session.edits.rewind(1 + number % session.state.turn)


async def pins(session: Session, place: int, on: int) -> None:
    if known := session.state.transcript:
        await session.edits.pin([known[place % len(known)].ref], pinned=bool(on % 3))


async def settles(session: Session, _: int, __: int) -> None:
    await session.settle(5)


async def forks(session: Session, back: int, whole: int) -> None:
    """A fork, opened as any other session, begins with what the model saw in this one at that moment."""
    seq = session.state.seq - (back % session.state.seq if whole % 2 else 0)
    then = replay(stored(session, seq))
    other = await Session.resume(session._environment, await session.fork(seq))
    try:
        # The result of a call that was under way at that moment comes along.
        history, transcript = list(other.state.history), list(other.state.transcript)
        assert history[: len(then.history)] == list(then.history) and transcript[: len(then.transcript)] == list(
            then.transcript
        )
        closed = [part for entry in history[len(then.history) :] for part in entry.message["parts"]]
        assert all(part["content"] == look() for part in closed)
        assert other.state.pins == then.pins and len(other.state.rewrites) == len(then.rewrites)
        await submits(other, back, 1)
    finally:
        await other.close()


SESSION_STEPS = st.lists(
    st.tuples(
        st.sampled_from([submits, submits, compacts, compacts, undoes, clears, rewinds, pins, pins, settles, forks]),
        PLACES,
        PLACES,
    ),
    min_size=3,
    max_size=12,
)


def stored(session: Session, upto: int) -> list[Event]:
    with session._environment.store.reading() as reading:
        return list(reading.events(session.id, upto=upto))


async def conversation(home: Path, steps: list[tuple[Any, int, int]]) -> None:
    talker = Talker()
    # By turns, so that compactions also begin beside the conversation by themselves.
    policy = {"compaction": "turns", "agent_max_context_turns": 3}
    environment = environment_for(home, ScriptedModel(talker), tools=[look], **policy)
    session = await Session.start(environment, "scripted")
    try:
        for act, first, second in [(submits, 0, 20), (submits, 1, 20), *steps, (forks, 0, 0)]:
            await act(session, first, second)
            state = session.state
            events = stored(session, state.seq)
            assert replay(events) == state
            check_whole(state, said_in(events))
            sent = {row.ref for row in lens_of(session).messages}
            check_removed(state, sent)
            assert out_of_context(replay(events)) == out_of_context(state), "the same after a resume"
        assert [found for sent in talker.requests if (found := orphans(sent))] == []
    finally:
        await session.close()
        environment.store.close()


@settings(max_examples=drawn(2), deadline=None)
@given(SESSION_STEPS)
def test_a_session_replays_and_forks_to_what_it_is(steps: list[tuple[Any, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(conversation(Path(folder), steps))
