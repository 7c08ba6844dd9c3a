"""What is cleaned up and what never is, in every store."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from co_tui.events import (
    BoardChanged,
    Event,
    Fact,
    SessionPinned,
    SessionRename,
    SessionResume,
    SessionStart,
    SessionTrashed,
)
from co_tui.paths import locate
from co_tui.store import housekeeping
from co_tui.store.housekeeping import CleanUp, clean_up, move_to_trash, pin, planned_clean_up, restore_from_trash
from co_tui.store.port import Store
from co_tui.store.store_errors import SessionBusy, SessionNotFound, StoreError
from co_tui.store.stored_values import ImportOutcome
from co_tui.store.timestamps import written
from tests.store.test_contract import STORES, said
from tests.support.stores import keep_since_then, store_in

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, home: Path) -> Iterator[Store]:
    with STORES[request.param](home) as store:
        yield store


def add(store: Store, name: str, days_ago: int, policy: str = "", *more: object) -> None:
    facts = [SessionStart(policy=policy), said(f"about {name}"), *more]
    when = written(NOW - timedelta(days=days_ago))
    events = [Event(session_id=name, seq=seq, timestamp=when, fact=fact) for seq, fact in enumerate(facts, 1)]
    keep_since_then(store, events)


def ids(what: CleanUp) -> tuple[list[str], list[str]]:
    return [row.id for row in what.trashed], [row.id for row in what.deleted]


def listed(store: Store, *, in_trash: bool = False) -> list[str]:
    with store.reading() as reading:
        return sorted(row.id for row in reading.sessions(in_trash=in_trash))


def test_what_was_not_used_for_long_goes_into_the_trash_but_for_what_is_pinned_or_open(store: Store) -> None:
    for name, days_ago in (("new", 3), ("old", 31), ("older", 99), ("open", 99)):
        add(store, name, days_ago)
    add(store, "pinned", 99, "", SessionPinned())
    with store.claim("open"):
        assert planned_clean_up(store, retention_days=0, now=NOW) == CleanUp()
        what = planned_clean_up(store, retention_days=30, now=NOW)
        assert ids(what) == (["older", "old"], []) and listed(store, in_trash=True) == []
        assert ids(clean_up(store, what)) == (["older", "old"], [])
    assert listed(store) == ["new", "open", "pinned"] and listed(store, in_trash=True) == ["old", "older"]
    with store.reading() as reading:
        assert [event.fact for event in reading.events("old")][-1] == SessionTrashed(reason="retention")
        assert reading.session("old").updated == written(NOW - timedelta(days=31))
    restore_from_trash(store, "old")
    assert ids(planned_clean_up(store, retention_days=30, now=NOW)) == (["open"], []), "what was wanted back is not old"


def test_an_old_session_that_just_came_from_elsewhere_is_not_long_unused(store: Store) -> None:
    long_ago = written(datetime.now(UTC) - timedelta(days=400))
    log = [Event(session_id="s", seq=1, timestamp=long_ago, fact=SessionStart())]
    assert store.writing().import_log(log).result() is ImportOutcome.NEW
    for days, expected in ((0, []), (29, []), (31, ["s"])):
        later = datetime.now(UTC) + timedelta(days=days)
        assert ids(planned_clean_up(store, retention_days=30, now=later)) == (expected, [])


def test_a_policys_own_retention_is_for_its_own_sessions(store: Store) -> None:
    add(store, "mine", 99, "cowagent")
    add(store, "other", 99, "balanced")
    assert ids(planned_clean_up(store, retention_days=30, policy="cowagent", now=NOW)) == (["mine"], [])


def test_after_thirty_days_in_the_trash_a_session_is_gone_for_good(store: Store) -> None:
    for name in ("a", "b", "c"):
        add(store, name, 0)
        move_to_trash(store, name)
        store.prompt_drafts.write(name, f"draft of {name}")
    pin(store, "b")
    now = datetime.now(UTC)
    assert planned_clean_up(store, retention_days=0, now=now + timedelta(days=29)) == CleanUp()
    what = planned_clean_up(store, retention_days=0, now=now + timedelta(days=31))
    assert ids(what) == ([], ["a", "c"])
    restore_from_trash(store, "c")
    assert ids(clean_up(store, what)) == ([], ["a"]), "what was taken out meanwhile stays"
    assert listed(store) == ["c"] and listed(store, in_trash=True) == ["b"]
    assert (store.prompt_drafts.read("a"), store.prompt_drafts.read("c")) == ("", "draft of c")
    with store.reading() as reading:
        assert list(reading.events("a")) == [] and reading.search("about a", in_trash=True).hits == ()


def test_many_batches_are_cleaned_up_and_those_opened_meanwhile_are_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "AT_ONCE", 10)
    for n in range(25):
        add(store, f"s{n:03}", 99 + n)
    what = planned_clean_up(store, retention_days=30, now=NOW)
    store.writing().append("s007", [said("used again")]).result()
    with store.claim("s012"):
        done = clean_up(store, what)
    assert len(done.trashed) == 23 and listed(store) == ["s007", "s012"] and store.claimed() == frozenset()


def test_what_someone_has_open_is_left_to_them(store: Store) -> None:
    add(store, "s", 1)
    with store.claim("s"):
        for change in (move_to_trash, restore_from_trash, pin):
            with pytest.raises(SessionBusy):
                change(store, "s")


def test_a_session_that_is_deleted_for_good_leaves_no_file(home: Path) -> None:
    paths = locate({"CO_TUI_HOME": str(home)})
    checkpoint = paths.session("s") / "checkpoints" / "001-a.md"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_text("what was said")
    with store_in(home) as store:
        add(store, "s", 1)
        store.delete("s")
        assert not paths.session("s").exists() and listed(store) == []


def test_a_session_that_the_database_does_not_let_go_keeps_its_files(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    checkpoint = locate({"CO_TUI_HOME": str(home)}).session("s") / "checkpoints" / "001-a.md"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_text("what was said")
    with store_in(home) as store:
        add(store, "s", 1)
        store.prompt_drafts.write("s", "half a prompt")
        monkeypatch.setattr("co_tui.store.sqlite.bulk.removal.delete", refuse)
        with pytest.raises(StoreError, match="locked"):
            store.delete("s")
        assert checkpoint.exists() and store.prompt_drafts.read("s") == "half a prompt" and listed(store) == ["s"]


@pytest.mark.parametrize(
    "fact", [SessionResume(), SessionRename(title="t"), SessionPinned(), SessionTrashed(), BoardChanged(what="w")]
)
def test_a_deleted_session_does_not_come_back_by_a_change_to_it(store: Store, fact: Fact) -> None:
    writing = store.writing()
    writing.append("s", [SessionStart()]).result()
    writing.delete("s").result()
    with pytest.raises(SessionNotFound, match=r"Session s no longer exists|No session"):
        writing.append("s", [fact]).result()
    assert listed(store) == listed(store, in_trash=True) == []
