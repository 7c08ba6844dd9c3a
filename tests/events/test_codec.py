"""Events survive being written and read, also by versions that do not know all of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui.events import Event, Message, ModelChange, SessionStart, Unknown, decode, encode, event_json, from_json
from co_tui.events.facts import BY_TYPE
from tests.support.events import any_fact, json_values, texts

CONTRACT = {
    "session.start", "session.resume", "session.fork", "session.rename", "session.end", "message",
    "session.usage_info", "session.truncation", "session.compaction_start", "session.compaction_complete",
    "session.compaction_undone", "session.clear", "session.rewind", "session.model_change", "session.policy_change",
    "artifact.stored", "memory.written", "hook.run", "session.error", "session.interrupted",
    "approval.requested", "approval.decided", "delegation.start", "delegation.end", "plan.changed",
}  # fmt: skip


def test_every_type_of_the_contract_is_known() -> None:
    assert set(BY_TYPE) >= CONTRACT


@given(fact=any_fact, seq=st.none() | st.integers(1, 10**6), when=texts)
def test_round_trip(fact, seq, when) -> None:
    event = Event(session_id="s", seq=seq, timestamp=when, fact=fact)
    line = event_json(event)
    assert "\n" not in line
    assert from_json(line) == event
    assert list(json.loads(line)) == ["session_id", "seq", "type", "timestamp", "version", "payload"]


@given(
    kind=texts.filter(lambda kind: kind not in BY_TYPE),
    version=st.integers(1, 9),
    payload=st.dictionaries(texts, json_values),
)
def test_unknown_events_are_kept_as_they_are(kind, version, payload) -> None:
    record = {"session_id": "s", "seq": 3, "type": kind, "timestamp": "t", "version": version, "payload": payload}
    event = decode(record)
    assert isinstance(event.fact, Unknown)
    assert encode(event) == record


@given(extra=st.dictionaries(texts.map(lambda key: f"new_{key}"), json_values, max_size=3))
def test_keys_of_a_newer_version_survive(extra) -> None:
    payload = {"from": "a", "to": "b", "window_before": None, "window_after": 5, "for_agent": "", "mark": "", **extra}
    record = {
        "session_id": "s",
        "seq": 1,
        "type": "session.model_change",
        "timestamp": "t",
        "version": 1,
        "payload": payload,
    }
    event = decode(record)
    assert event.fact == ModelChange(from_="a", to="b", window_after=5)
    assert encode(event) == record


def test_a_newer_meaning_is_not_guessed() -> None:
    record = {
        "session_id": "s",
        "seq": 1,
        "type": "message",
        "timestamp": "t",
        "version": 2,
        "payload": {"turn": 1, "message": {}},
    }
    event = decode(record)
    assert isinstance(event.fact, Unknown) and encode(event) == record


@pytest.mark.parametrize(
    "payload", [{}, {"turn": "one", "message": {}}, {"turn": True, "message": {}}, {"turn": 1, "message": "no"}]
)
def test_a_payload_that_makes_no_sense_is_kept_not_dropped(payload) -> None:
    record = {"session_id": "s", "seq": 1, "type": "message", "timestamp": "t", "version": 1, "payload": payload}
    assert encode(decode(record)) == record


def test_an_older_payload_is_upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Message, "VERSION", 2)
    monkeypatch.setattr(Message, "UPGRADES", {1: lambda payload: {**payload, "turn": payload["turn"] + 100}})
    old = {
        "session_id": "s",
        "seq": 1,
        "type": "message",
        "timestamp": "t",
        "version": 1,
        "payload": {"turn": 1, "message": {}},
    }
    assert decode(old).fact == Message(turn=101, message={})


def test_missing_keys_take_their_defaults() -> None:
    record = {"session_id": "s", "seq": 1, "type": "session.start", "timestamp": "t", "payload": {"model": "m"}}
    assert decode(record).fact == SessionStart(model="m")


def test_what_was_written_before_there_were_delegations_belongs_to_the_main_agent() -> None:
    payload = {"turn": 1, "message": {"kind": "request"}, "interrupted": False}
    old = {"session_id": "s", "seq": 1, "type": "message", "timestamp": "t", "version": 1, "payload": payload}
    assert decode(old).fact == Message(turn=1, message={"kind": "request"})


@pytest.mark.parametrize(
    "record", [{}, {"session_id": "s"}, {"session_id": "s", "type": "x", "timestamp": "t", "payload": 3}]
)
def test_what_is_no_event_is_refused(record) -> None:
    with pytest.raises(ValueError, match="not an event"):
        decode(record)


def test_a_lone_surrogate_does_not_break_the_line() -> None:
    event = Event(session_id="s", seq=1, timestamp="t", fact=SessionStart(cwd="/tmp/\udcff"))
    assert from_json(event_json(event).encode().decode()) == event
