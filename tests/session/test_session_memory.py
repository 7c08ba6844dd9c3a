"""A long session keeps what left its history small: counted in messages, not in time."""

import gc
import sys
from pathlib import Path
from typing import Final

import pytest
from pydantic_ai.messages import UserPromptPart

from co_tui.append_only import AppendOnly
from co_tui.events import Clear, CompactionComplete, DelegationStart, Event, FilesRestored, MemoryReleased, Message
from co_tui.events.event import payload_of
from co_tui.session.memory_relief import PACKED_AT_ONCE
from co_tui.session.session import Session
from co_tui.session.state.derive import apply, replay
from co_tui.session.state.released import (
    _BZ2,
    BLOCK_CHARS,
    PackedMessage,
    _Block,
    _compressed,
    _decompressed,
    _Packing,
)
from co_tui.session.state.removals import is_same_context
from co_tui.session.state.session_state import Entry, SessionState
from co_tui.session.turns.restored_files import restored_note
from tests.support.environments import ScriptedModel, environment_for, facts, says

TURNS: Final = 2 * PACKED_AT_ONCE
OPENING: Final = "Question of a long session"


async def test_messages_that_left_the_history_are_packed_and_can_be_read(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("An answer."), window=20_000))
    session = await Session.start(environment, "scripted")
    for number in range(TURNS):
        await session.submit(f"{OPENING} {number} ".ljust(8_000, "a"))
    state = session.state
    live = {entry.ref for entry in state.history}
    left = [entry.message for entry in state.transcript if entry.ref not in live]
    assert len(left) > TURNS
    assert sum(not isinstance(message, PackedMessage) for message in left) < 2 * PACKED_AT_ONCE
    gc.collect()
    parsed = [each for each in gc.get_objects() if type(each) is UserPromptPart and OPENING in str(each.content)]
    assert len(parsed) < len(live) + 2 * PACKED_AT_ONCE
    assert left[0]["parts"][0]["content"].startswith(f"{OPENING} 0")
    compactions = facts(list(state.timeline), CompactionComplete)
    assert len(compactions) > 2
    for fact in compactions[:-1]:
        assert all(isinstance(message, PackedMessage) for message in fact.replacement) and fact.replacement
    await session.close()
    environment.store.close()


def _said(seq: int) -> Event:
    text = f"{OPENING} {seq}"
    message = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}
    return Event(session_id="s", seq=seq, timestamp="", fact=Message(turn=seq, message=message))


def _compacted(seq: int, replaced: range) -> Event:
    message = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"summary {seq}"}]}
    refs = tuple((each, 0) for each in replaced)
    fact = CompactionComplete(success=True, replaced=refs, replacement=(message,))
    return Event(session_id="s", seq=seq, timestamp="", fact=fact)


RELEASED: Final = Event(session_id="s", seq=None, timestamp="", fact=MemoryReleased())


def _grown(state: SessionState, rounds: int) -> SessionState:
    """Each round: nine messages, a compaction of all but the last, and a release."""
    for _ in range(rounds):
        first = state.seq
        state = replay(map(_said, range(first + 1, first + 10)), state)
        state = apply(state, _compacted(first + 10, range(max(1, first - 1), first + 9)))
        state = apply(state, RELEASED)
    return state


def test_packing_costs_what_left_since_the_last_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Entry] = []
    packed_entry = _Packing.entry

    def counted(packing: _Packing, entry: Entry) -> Entry:
        looked_at.append(entry)
        return packed_entry(packing, entry)

    monkeypatch.setattr(_Packing, "entry", counted)
    state = _grown(SessionState(), 3)
    looked_at.clear()
    state = _grown(state, 1)
    few = len(looked_at)
    state = _grown(state, 50)
    looked_at.clear()
    state = _grown(state, 1)
    assert len(looked_at) == few
    live = {entry.ref for entry in state.history}
    kept = [*state.transcript, *(entry for each in state.rewrites for entry in (*each.before, *each.after))]
    assert all(isinstance(entry.message, PackedMessage) for entry in kept if entry.ref not in live)


def test_one_event_is_one_object_wherever_it_is_packed() -> None:
    before = replay([*map(_said, range(1, 10)), _compacted(10, range(1, 9))])
    state = apply(before, RELEASED)
    assert is_same_context(state, before), "nothing is marked anew"
    events = {id(event) for event in (*state.timeline, *state.compactions, *(each.event for each in state.rewrites))}
    assert len(events) == 10


async def test_listeners_get_the_state_itself(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("An answer."), window=20_000))
    session = await Session.start(environment, "scripted")
    states = session.events().with_states()
    await session.submit("Hello")
    session.history.release_memory()
    while not isinstance((latest := await anext(states))[0].fact, MemoryReleased):
        pass
    assert latest[1] is session.state
    await session.close()
    assert [state async for _, state in states][-1] is session.state
    environment.store.close()


def test_what_a_delegation_sees_of_the_conversation_is_packed_as_it_is() -> None:
    parts = [{"part_kind": "thinking", "content": "Hm."}, {"part_kind": "text", "content": "Yes."}]
    reply = Message(turn=1, message={"kind": "response", "parts": parts})
    begins = DelegationStart(agent="a", name="reader", task="Read.", call_id="c")
    facts_so_far = (_said(1).fact, reply, begins, Clear())
    events = (Event(session_id="s", seq=seq, timestamp="", fact=fact) for seq, fact in enumerate(facts_so_far, 1))
    state = replay(events)
    before = [dict(entry.message) for entry in state.delegations["a"].history]
    state = apply(state, RELEASED)
    packed = [entry.message for entry in state.delegations["a"].history]
    assert all(isinstance(message, PackedMessage) for message in packed)
    assert [dict(message) for message in packed] == before
    assert [part["part_kind"] for part in packed[1]["parts"]] == ["text"]
    assert state.transcript[1].message["parts"] == parts


def test_the_text_of_a_summary_that_was_replaced_is_packed_and_can_be_read() -> None:
    first, second = _compacted(10, range(1, 9)), _compacted(20, range(9, 11))
    assert isinstance(first.fact, CompactionComplete)
    first = first.but(fact=first.fact.but(summary="What was said before."))
    events = [*map(_said, range(1, 10)), first, *map(_said, range(11, 20)), second]
    state = apply(replay(events), RELEASED)
    kept = [*state.compactions, *state.timeline, *(rewrite.event for rewrite in state.rewrites)]
    old = [event for event in kept if event.seq == first.seq]
    assert len(old) == 3 and not any("What was said before." in vars(event.fact).values() for event in old)
    assert {payload_of(event)["summary"] for event in old} == {"What was said before."}
    assert old[0] == first and first == old[0] and old[0] != second
    assert state == replay(events)


def test_restored_files_are_found_without_all_that_happened() -> None:
    restored = FilesRestored(turn=1, snapshot="", paths=("a.py",), conversation_stays=True)
    events = [_said(1), Event(session_id="s", seq=2, timestamp="", fact=restored)]
    note = restored_note(replay(events).but(timeline=AppendOnly()))
    assert note is not None and "a.py" in str(note.parts[0].content)


async def test_a_packed_summary_that_is_back_in_the_context_can_be_edited(home: Path) -> None:
    model = ScriptedModel(says("An answer. " * 40), window=20_000)
    environment = environment_for(home, model, summary_fallback="offline")
    session = await Session.start(environment, "scripted")
    while len(session.state.rewrites) < 4:
        await session.submit(f"{OPENING} {session.state.turn} about src/module.py ".ljust(30_000, "a"))
    session.history.release_memory()
    before = session.state.rewrites[-2].seq
    await session.edits.undo()
    assert any(isinstance(each.message, PackedMessage) for each in session.state.history if each.seq == before)
    await session.edits.edit_summary(before, "My own words.")
    assert "My own words." in str([dict(entry.message) for entry in session.state.history])
    await session.close()
    environment.store.close()


def test_messages_can_be_read_where_python_has_no_bz2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bz2", None)
    state = apply(replay([*map(_said, range(1, 10)), _compacted(10, range(1, 9))]), RELEASED)
    assert isinstance(state.transcript[0].message, PackedMessage)
    assert state.transcript[0].message["parts"][0]["content"] == f"{OPENING} 1"


def test_a_message_with_an_image_is_packed_alone_and_quickly() -> None:
    block, long = _Block(), "x" * BLOCK_CHARS
    block.add("{}")
    assert block.has_room_for("{}") and not block.has_room_for(long)
    for text in ("{}", f'"{long}"'):
        assert _decompressed(_compressed(text.encode())) == [text]
    assert _compressed(b"{}").startswith(_BZ2) and not _compressed(f'"{long}"'.encode()).startswith(_BZ2)
