"""A log from elsewhere is stored: continued, behind what was said here, or as a fork."""

import pytest

from co_tui.events import (
    Clear,
    CompactionComplete,
    Event,
    Fact,
    Message,
    Pin,
    SessionFork,
    SessionPinned,
    SessionRename,
    SessionResume,
    SessionStart,
)
from co_tui.events.stored_messages import text_of
from co_tui.session.state.derive import replay
from co_tui.store.sqlite.in_memory import InMemoryStore
from co_tui.store.sqlite.synced_rows import record_pushed
from co_tui.store.store_errors import SessionBusy
from co_tui.store.sync.branches import forked
from co_tui.store.sync.placing import OtherSession, Outcome, delete_elsewhere, place
from tests.support.cases import each_case
from tests.support.growing_files import said


def talk(text: str) -> Message:
    return Message(turn=1, message=said(text, by_user=True))


def log(store: InMemoryStore, session_id: str = "x") -> list[Event]:
    with store.reading() as reading:
        return list(reading.events(session_id))


def texts(store: InMemoryStore) -> dict[str, list[str]]:
    """By title, what was said."""
    with store.reading() as reading:
        return {
            row.title: [
                text_of(event.fact.message["parts"][0]["content"])
                for event in reading.events(row.id)
                if isinstance(event.fact, Message)
            ]
            for row in reading.sessions()
        }


def two(*facts: Fact) -> tuple[InMemoryStore, InMemoryStore]:
    """Two machines with the same session."""
    here, there = InMemoryStore(), InMemoryStore()
    there.writing().append("x", [SessionStart(cwd="/w", host="desk"), talk("one"), *facts]).result()
    assert place(here, log(there)).outcome is Outcome.NEW
    return here, there


def add(store: InMemoryStore, *facts: Fact) -> None:
    store.writing().append("x", facts).result()


@each_case("keeps_id", [None, True, False])
def test_a_name_or_a_pin_follows_what_was_said_elsewhere_and_references_stay_true(keeps_id: bool | None) -> None:
    here, there = two()
    add(here, SessionPinned())
    add(there, talk("two"))
    done = CompactionComplete(success=True, trigger="manual", pre_tokens=9, post_tokens=1, replaced=((3, 0),))
    add(there, done)
    assert place(here, log(there), keeps_id=keeps_id).outcome is Outcome.REBASED
    kinds = (SessionStart, Message, SessionPinned, Message, CompactionComplete)
    assert sorted(event.type for event in log(here)) == sorted(kind.TYPE for kind in kinds)
    (said_at,) = [event.seq for event in log(here)[2:] if isinstance(event.fact, Message)]
    (compacted,) = [event.fact for event in log(here) if isinstance(event.fact, CompactionComplete)]
    assert compacted.replaced == ((said_at, 0),)
    assert place(here, log(there), keeps_id=keeps_id).outcome is Outcome.KNOWN
    place(there, log(here))
    assert [event.type for event in log(there)] == [event.type for event in log(here)]


@each_case("keeps_id", [True, False])
def test_where_both_went_on_one_is_a_fork_with_the_name_of_its_machine(keeps_id: bool) -> None:
    here, there = two()
    add(here, SessionResume(host="laptop"), talk("here"))
    add(there, talk("there"))
    loser = log(here) if keeps_id else log(there)
    with here.claim("x") if keeps_id else here.claim("y"):
        if keeps_id:
            with pytest.raises(SessionBusy):
                place(here, log(there), keeps_id=keeps_id)
            assert texts(here) == {"one": ["one", "here"]}
    placed = place(here, log(there), keeps_id=keeps_id)
    assert placed.outcome is Outcome.FORKED
    assert log(here, placed.fork_id) == list(forked(loser, 2)), "the same on all machines"
    name = "one (from laptop)" if keeps_id else "one (from desk)"
    kept, lost = ("there", "here") if keeps_id else ("here", "there")
    assert texts(here) == {"one": ["one", kept], name: ["one", lost]}
    assert place(here, log(there), keeps_id=keeps_id).outcome is Outcome.KNOWN
    if not keeps_id:
        add(there, talk("more"))
        assert place(here, log(there), keeps_id=False).session_id == placed.fork_id
        assert texts(here)[name] == ["one", "there", "more"], "the fork grows with its branch"


def test_a_fork_keeps_the_reply_that_was_being_written_and_has_a_title_from_its_start() -> None:
    here, there = InMemoryStore(), InMemoryStore()
    add(there, SessionStart(cwd="/w", host="desk"))
    place(here, log(there))
    add(here, talk("here"))
    add(there, talk("there"))
    here.writing().save_reply("x", 0, "half a reply").result()
    fork = place(here, log(there), keeps_id=True).fork_id
    with here.reading() as reading:
        assert reading.partial_reply(fork) == ["half a reply"] and reading.partial_reply("x") == []
        assert reading.session(fork).title == "here (from desk)"


def test_a_pin_that_was_moved_to_the_same_place_in_two_logs_hides_no_message() -> None:
    here, there = two()
    pinning = InMemoryStore()
    place(pinning, log(there))
    add(pinning, SessionPinned())
    for store, text in ((here, "here"), (there, "there")):
        add(store, talk(text))
        assert place(store, log(pinning)).outcome is Outcome.REBASED
    assert log(here)[-1] == log(there)[-1]
    assert place(here, log(there)).outcome is Outcome.FORKED
    assert sorted(texts(here).values()) == [["one", "here"], ["one", "there"]]


def test_what_was_said_after_a_deletion_that_was_not_known_yet_is_a_fork() -> None:
    here, there = two()
    add(there, SessionRename(title="The deleter has more events"), SessionPinned())
    there.delete("x")
    with there.reading() as reading:
        (deletion,) = reading.deletions()
    assert place(there, log(here)).outcome is Outcome.DELETED
    add(here, talk("later"))
    with here.claim("x"), pytest.raises(SessionBusy):
        delete_elsewhere(here, deletion)
    assert texts(here) == {"one": ["one", "later"]}
    before = log(here)
    fork = delete_elsewhere(here, deletion)
    assert texts(here) == {"one (from desk)": ["one", "later"]}
    with here.reading() as reading:
        assert reading.deletions() == [deletion], "the same decision, at its own time"
    assert delete_elsewhere(here, deletion) == ""
    assert place(there, before).session_id == fork and log(there, fork) == log(here, fork)
    assert place(there, before, revives=True).outcome is Outcome.NEW


@each_case("keeps_id", [True, False, None])
def test_a_pin_does_not_undo_what_was_cleared_elsewhere(keeps_id: bool | None) -> None:
    here, there = two(CompactionComplete(success=True, replaced=((2, 0),), replacement=(said("sum", by_user=True),)))
    add(here, Pin(messages=((2, 0),), history=((3, 0), (2, 0))))
    add(there, Clear(), talk("after it"))
    place(here, log(there), keeps_id=keeps_id)
    state = replay(log(here))
    assert [text_of(entry.message["parts"][0]["content"]) for entry in state.history] == ["after it"]
    assert state.pins == {(2, 0)}


@pytest.mark.parametrize("more", [(), ("a",), ("a", "b")], ids=["longer", "as long", "shorter"])
def test_words_that_the_deleted_log_never_had_are_a_fork_however_long_it_was(more: tuple[str, ...]) -> None:
    here, there = two()
    for text in more:
        add(there, talk(text))
    add(here, talk("here"))
    before = log(here)
    there.delete("x")
    with there.reading() as reading:
        (deletion,) = reading.deletions()
    fork = delete_elsewhere(here, deletion)
    assert texts(here) == {"one (from desk)": ["one", "here"]}
    assert place(there, before).session_id == fork and log(there, fork) == log(here, fork)


def test_an_older_copy_of_a_deleted_session_is_deleted_and_an_unrelated_one_is_not() -> None:
    here, there = two()
    add(there, talk("two"))
    add(here, SessionRename(title="Not yet known there"))
    there.delete("x")
    with there.reading() as reading:
        (deletion,) = reading.deletions()
    assert delete_elsewhere(here, deletion) == "" and texts(here) == {}
    other = InMemoryStore()
    add(other, SessionStart(cwd="/w"), talk("Another session with this ID"))
    with pytest.raises(OtherSession, match="it is about another session"):
        delete_elsewhere(other, deletion)
    with other.reading() as reading:
        assert reading.deletions() == [] and len(texts(other)) == 1
    assert place(here, log(other)).outcome is Outcome.NEW


def test_a_fork_of_a_log_from_elsewhere_decides_nothing() -> None:
    here, there = two()
    add(here, SessionResume(model="m@http://evil.example"), talk("here"))
    add(there, talk("there"))
    here.writing().change(lambda connection: record_pushed(connection, "s", "x", 2, pulled=True)).result()
    fork = place(here, log(there), keeps_id=True).fork_id
    (resumed,) = [event.fact for event in log(here, fork) if isinstance(event.fact, SessionResume)]
    assert resumed.model == ""
    assert isinstance(log(here, fork)[2].fact, SessionFork)
