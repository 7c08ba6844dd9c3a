"""The state is the fold of the log, at every point of it."""

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.append_only import AppendOnly
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    Clear,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    DelegationEnd,
    DelegationStart,
    Event,
    Fact,
    MemoryReleased,
    Message,
    PlanChanged,
    Rewind,
    SessionEnd,
    SessionResume,
    Unknown,
    UsageInfo,
    event_json,
    from_json,
)
from co_tui.session.state.derive import apply, replay
from co_tui.session.state.session_state import SessionState
from tests.support.events import durable_facts, fact_of, unknown_facts
from tests.support.long_run import drawn


def log(*facts):
    return [Event(session_id="s", seq=n, timestamp=f"t{n}", fact=fact) for n, fact in enumerate(facts, 1)]


def said(text: str, turn: int = 1, agent: str = "") -> Message:
    message = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}
    return Message(turn=turn, agent=agent, message=message)


def used(tokens: int, cost: float, agent: str = "") -> UsageInfo:
    figures = {"messages_count": 1, "system_tokens": 0, "conversation_tokens": tokens, "tool_definition_tokens": 0}
    return UsageInfo(token_limit=1000, current_tokens=tokens, cost=cost, agent=agent, **figures)


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


@given(st.lists(durable_facts, max_size=25), st.integers(0, 25))
def test_letting_go_of_memory_changes_nothing_that_can_be_seen(facts, moment) -> None:
    events = log(*facts)
    whole = replay(events)
    sparing = apply(replay(events[:moment]), Event(session_id="s", seq=None, timestamp="", fact=MemoryReleased()))
    for event in events[moment:]:
        sparing = apply(sparing, event)
    assert sparing == whole


@given(st.lists(durable_facts, max_size=25))
def test_earlier_states_never_change(facts) -> None:
    states = [SessionState()]
    frozen = [repr(states[0])]
    for event in log(*facts):
        states.append(apply(states[-1], event))
        frozen.append(repr(states[-1]))
    assert [repr(state) for state in states] == frozen


def test_a_compaction_is_where_the_first_replaced_message_was() -> None:
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


def test_a_delegation_has_its_own_history_and_gauge() -> None:
    events = log(
        said("look into it"), used(100, 0.5),
        DelegationStart(agent="reader-1", name="reader", task="read all of it", call_id="c1"),
        said("read all of it", agent="reader-1"), said("a page", agent="reader-1"), used(900, 0.25, agent="reader-1"),
        CompactionStart(trigger="blocking", agent="reader-1"),
        CompactionComplete(
            success=True, agent="reader-1", replaced=((4, 0), (5, 0)), replacement=(said("in short").message,)
        ),
        DelegationEnd(agent="reader-1", outcome="it is about whales", cost=0.25),
        said("thanks", 2),
    )  # fmt: skip
    state = replay(events)
    assert texts(state.history) == ["look into it", "thanks"]
    assert texts(state.transcript) == ["look into it", "read all of it", "a page", "thanks"]
    assert [entry.agent for entry in state.transcript] == ["", "reader-1", "reader-1", ""]
    assert state.usage is not None and state.usage.current_tokens == 100
    assert state.cost == 0.75
    assert (state.compacting, state.rewrites, len(state.compactions)) == (None, (), 0)
    reader = state.delegations["reader-1"]
    assert texts(reader.history) == ["look into it", "in short"], "the conversation it works for, and its own"
    assert reader.usage is not None and reader.usage.current_tokens == 900
    assert (reader.name, reader.task, reader.status, reader.outcome) == (
        "reader", "read all of it", "done", "it is about whales"
    )  # fmt: skip


def test_a_delegation_that_a_crash_cut_short_ends_with_its_turn_at_the_latest() -> None:
    facts = [said("go"), DelegationStart(agent="a"), DelegationStart(agent="b"), DelegationEnd(agent="b")]
    asked = ApprovalRequested(call_id="c", tool="write_file", agent="a")
    resumed = replay(log(*facts, asked, SessionResume()))
    assert [each.status for each in resumed.delegations.values()] == ["running", "done"]
    assert resumed.pending == (asked,), "it can be asked again"
    older = replay(log(*facts, asked, SessionResume(), said("something else", 2)))  # and no end was logged
    assert [each.status for each in older.delegations.values()] == ["interrupted", "done"] and not older.pending


@given(st.lists(durable_facts, max_size=25))
def test_a_delegations_words_are_never_in_the_history(facts) -> None:
    state = replay(log(*facts))
    assert all(not entry.agent for entry in state.history)
    for agent, delegation in state.delegations.items():
        assert all(entry.agent in (agent, "") for entry in delegation.history)


calls = {"call_id": st.sampled_from("abc"), "agent": st.sampled_from(("", "self 1", "self 1/self 1"))}
approvals = st.builds(ApprovalRequested, tool=st.sampled_from(("write_file", "run_command")), **calls)
decisions = st.builds(
    ApprovalDecided,
    approved=st.booleans(),
    scope=st.sampled_from(("once", "session", "project")),
    rules=st.sampled_from(((), ("Bash(make x.c)",), ("Edit(src/**)", "Bash(pytest, harmless options)"))),
    **calls,
)
others = st.sampled_from([said("go on"), SessionEnd(), SessionResume(), DelegationEnd(agent="self 1")])


@given(st.lists(approvals | decisions | others, max_size=25))
def test_what_was_asked_and_not_decided_is_pending(facts) -> None:
    expected: dict[tuple[str, str], ApprovalRequested] = {}
    allowed, turn = set(), 0
    for fact in facts:
        if isinstance(fact, ApprovalRequested | ApprovalDecided):
            asked = expected.pop((fact.agent, fact.call_id), None)
            if isinstance(fact, ApprovalDecided) and asked and fact.approved and fact.scope != "once":
                allowed |= set(fact.rules)
        if isinstance(fact, ApprovalRequested):
            expected[fact.agent, fact.call_id] = fact
        if isinstance(fact, Message) and not turn:  # a delegation ends with the turn before it
            turn, expected = 1, {key: each for key, each in expected.items() if not each.agent}
        if isinstance(fact, DelegationEnd):
            expected = {key: each for key, each in expected.items() if each.agent != fact.agent}
    state = replay(log(*facts))
    assert list(state.pending) == list(expected.values())
    assert {str(rule) for rule in state.allowed} == allowed, "of the call that was decided, not of another's"


def test_the_plan_is_as_it_was_last_reported() -> None:
    first, second = {"text": "look", "state": "done"}, {"text": "leap", "state": "open"}
    assert replay(log(PlanChanged(steps=(first,)), PlanChanged(steps=(first, second)))).plan == (first, second)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers())))
def test_growing_is_immutable(steps) -> None:
    versions: list[tuple[AppendOnly[int], list[int]]] = [(AppendOnly(), [])]
    for base, item in steps:
        sequence, model = versions[base % len(versions)]
        versions.append((sequence.append(item), [*model, item]))
        assert all(list(grown) == expected for grown, expected in versions)


@settings(max_examples=drawn(1))
@given(st.data())
@pytest.mark.parametrize("kind", get_args(Fact), ids=lambda kind: kind.__name__)
def test_every_fact_has_its_case_in_derive(kind: type[Any], data: st.DataObject) -> None:
    fact = data.draw(unknown_facts if kind is Unknown else fact_of(kind))
    assert isinstance(apply(SessionState(), Event(session_id="s", seq=1, timestamp="t", fact=fact)), SessionState)
