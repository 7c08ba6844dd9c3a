"""The state is the fold of the log, at every point of it."""

from hypothesis import given
from hypothesis import strategies as st

from co_tui.append_only import AppendOnly
from co_tui.events import Clear, CompactionComplete, CompactionUndone, Event, Message, Rewind, event_json, from_json
from co_tui.session.state.replay import replay
from co_tui.session.state.session_state import SessionState, apply
from tests.support.events import durable_facts


def log(*facts):
    return [Event(session_id="s", seq=n, timestamp=f"t{n}", fact=fact) for n, fact in enumerate(facts, 1)]


def said(text: str, turn: int = 1) -> Message:
    return Message(turn=turn, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]})


def texts(entries) -> list[str]:
    return [entry.message["parts"][0]["content"] for entry in entries]


@given(st.lists(durable_facts, max_size=25))
def test_live_state_equals_replayed_state_at_every_seq(facts) -> None:
    events = log(*facts)
    live = SessionState()
    stored = []
    for event in events:
        live = apply(live, event)
        stored.append(event_json(event))
        assert replay(from_json(line) for line in stored) == live
    assert len(live.transcript) == sum(isinstance(fact, Message) for fact in facts)


@given(st.lists(durable_facts, max_size=25))
def test_earlier_states_never_change(facts) -> None:
    states = [SessionState()]
    frozen = [repr(states[0])]
    for event in log(*facts):
        states.append(apply(states[-1], event))
        frozen.append(repr(states[-1]))
    assert [repr(state) for state in states] == frozen


def test_a_compaction_stands_where_the_first_replaced_message_stood() -> None:
    events = log(
        said("a"), said("b"), said("c"),
        CompactionComplete(success=True, replaced=((2, 0), (3, 0)), replacement=(said("B+C").message,)),
        said("d", 2),
    )  # fmt: skip
    state = replay(events)
    assert texts(state.history) == ["a", "B+C", "d"]
    assert texts(state.transcript) == ["a", "b", "c", "d"]


def test_a_failed_compaction_changes_nothing() -> None:
    state = replay(log(said("a"), CompactionComplete(success=False, replaced=((1, 0),), replacement=())))
    assert texts(state.history) == ["a"]


def test_undo_clear_and_rewind_say_what_the_history_became() -> None:
    events = log(
        said("a"), said("b"),
        CompactionComplete(success=True, replaced=((1, 0), (2, 0)), replacement=(said("AB").message,)),
        said("c", 2),
        CompactionUndone(compaction_seq=3, history=((1, 0), (2, 0), (4, 0))),
        Clear(),
        Rewind(to_seq=4, history=((3, 0), (4, 0))),
    )  # fmt: skip
    assert texts(replay(events[:5]).history) == ["a", "b", "c"]
    assert texts(replay(events[:6]).history) == []
    assert texts(replay(events).history) == ["AB", "c"]
    assert texts(replay(events).transcript) == ["a", "b", "c"]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers())))
def test_growing_is_immutable(steps) -> None:
    versions: list[tuple[AppendOnly[int], list[int]]] = [(AppendOnly(), [])]
    for base, item in steps:
        sequence, model = versions[base % len(versions)]
        versions.append((sequence.append(item), [*model, item]))
        assert all(list(grown) == expected for grown, expected in versions)
