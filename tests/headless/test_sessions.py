"""`co-tui sessions`: the trash, pins, and what is cleaned up."""

from datetime import UTC, datetime, timedelta

import pytest

from co_tui.events import Event, SessionStart
from co_tui.store.timestamps import written
from tests.store.test_contract import said
from tests.support.here import Here
from tests.support.stores import keep_since_then, store_in


@pytest.fixture
def talks(here: Here) -> Here:
    """Three sessions: of today, and of 40 and 50 days ago; the oldest under the policy cowagent."""
    with store_in(here.home) as store:
        for name, days, policy in (("new", 0, ""), ("old", 40, "balanced"), ("older", 50, "cowagent")):
            when = written(datetime.now(UTC) - timedelta(days=days))
            facts = [SessionStart(policy=policy), said(f"the {name} heron stands")]
            events = [Event(session_id=name, seq=seq, timestamp=when, fact=fact) for seq, fact in enumerate(facts, 1)]
            keep_since_then(store, events)
    return here


def ids(here: Here, *options: str) -> list[str]:
    return [row["id"] for row in here("sessions", "--json", *options).objects]


def test_a_session_goes_into_the_trash_and_comes_back(talks: Here) -> None:
    gone = talks("sessions", "--delete", "old")
    assert (gone.code, gone.out) == (0, "") and "--restore old" in gone.err
    assert ids(talks) == ["new", "older"] and ids(talks, "--trash") == ["old"]
    assert ids(talks, "--search", "heron", "--trash") == ["old"] and "the old heron" in talks("sessions", "--trash").out
    assert "already" in talks("sessions", "--delete", "old").err
    assert talks("sessions", "--restore", "old").err == "co-tui: the old heron stands: restored from the trash.\n"
    assert ids(talks) == ["old", "new", "older"] and "The trash is empty" in talks("sessions", "--trash").err
    assert "not in the trash" in talks("sessions", "--restore", "old").err
    assert talks("sessions", "--restore", "nobody").code == 1


def test_pruning_announces_first_and_leaves_what_is_pinned(talks: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = talks("sessions", "--prune")
    assert kept.code == 0 and "retention_days is 0" in kept.err and len(ids(talks)) == 3
    monkeypatch.setenv("CO_TUI_RETENTION_DAYS", "30")
    dry = talks("sessions", "--prune", "--dry-run", "--json")
    assert [(row["action"], row["id"]) for row in dry.objects] == [("trash", "older"), ("trash", "old")]
    assert "2 sessions unused for 30 days would be moved to the trash." in dry.err and len(ids(talks)) == 3
    assert talks("sessions", "--pin", "older").code == 0
    done = talks("sessions", "--prune")
    assert "trash   old" in done.out and "1 session unused for 30 days moved to the trash." in done.err
    assert ids(talks) == ["new", "older"] and talks("sessions", "--prune").err == "co-tui: Nothing to clean up.\n"
    talks("sessions", "--unpin", "older")
    assert len(talks("sessions", "--prune", "--json").objects) == 1 and ids(talks, "--trash") == ["old", "older"]


def test_what_a_policy_says_holds_for_its_own_sessions(talks: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_TUI_POLICY", "cowagent")
    dry = talks("sessions", "--prune", "--dry-run", "--json")
    assert [row["id"] for row in dry.objects] == ["older"]


def test_wrong_options_are_reported(talks: Here) -> None:
    for wrong in (["--dry-run"], ["--prune", "--trash"], ["--restore"]):
        done = talks("sessions", *wrong)
        assert done.code == 2 and done.err.startswith("co-tui: "), wrong


def test_a_search_shows_what_it_found_and_where(talks: Here) -> None:
    (row,) = talks("sessions", "--search", "OLDER stand", "--json").objects
    match = row["match"]
    assert [match["text"][start:end] for start, end in match["places"]] == ["older", "stand"] and match["seq"] == 2
    for odd in ('"', "*", "NEAR(", "a-b", "x" * 10_000, "天", "\ud800"):
        assert talks("sessions", "--search", odd).code == 0


def test_a_prompt_answered_cleans_up_what_the_user_or_the_sessions_policy_wants_gone(
    served_here: Here, talks: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert served_here("run", "-p", "hi").err == ""
    done = served_here("run", "-p", "hi", "--policy", "cowagent")
    assert "1 session unused for 30 days moved to the trash" in done.err and ids(talks, "--trash") == ["older"]
    monkeypatch.setenv("CO_TUI_RETENTION_DAYS", "35")
    done = served_here("run", "-p", "hi")
    assert "1 session unused for 35 days moved to the trash" in done.err and ids(talks, "--trash") == ["old", "older"]
    assert served_here("run", "-p", "hi").err == ""
