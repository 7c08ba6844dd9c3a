"""`co-tui sessions`: the trash, pins, and what is cleaned up."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from co_tui.events import Event, SessionStart
from co_tui.paths import locate
from co_tui.store.sqlite import text_rebuild
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.reader import Reader
from co_tui.store.timestamps import written
from tests.store.test_contract import said
from tests.support.here import Here
from tests.support.stores import keep_since_then, store_in
from tests.support.time_zones import time_zone


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


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59.000000Z", "0001-01-01T00:00:00.000000Z"])
def test_a_session_of_any_year_is_listed_shown_and_exported(here: Here, time: str) -> None:
    """Of an older import, a backup, or a machine with a wrong clock."""
    with store_in(here.home) as store:
        facts = [SessionStart(), said("the last heron stands")]
        log = [Event(session_id="odd", seq=seq, timestamp=time, fact=fact) for seq, fact in enumerate(facts, 1)]
        store.writing().import_log(log).result()
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        with time_zone(zone):
            done = [here("sessions"), here("show", "odd"), here("export", "odd", "--format", "markdown")]
        assert all(each.code == 0 and "heron" in each.out for each in done)


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
    assert "trash   old" in talks("sessions", "--prune", "--dry-run", "--verbose").out
    done = talks("sessions", "--prune")
    assert done.out == "" and "1 session unused for 30 days moved to the trash." in done.err
    assert ids(talks) == ["new", "older"] and talks("sessions", "--prune").err == "co-tui: Nothing to clean up.\n"
    talks("sessions", "--unpin", "older")
    assert len(talks("sessions", "--prune", "--json").objects) == 1 and ids(talks, "--trash") == ["old", "older"]


def test_what_a_policy_says_holds_for_its_own_sessions(talks: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_TUI_POLICY", "cowagent")
    dry = talks("sessions", "--prune", "--dry-run", "--json")
    assert [row["id"] for row in dry.objects] == ["older"]


def test_wrong_options_are_reported(talks: Here) -> None:
    alone = (["--dry-run"], ["--verbose"], ["--forever"], ["--yes"], ["--delete", "old", "--yes"])
    for wrong in (*alone, ["--prune", "--trash"], ["--restore"], ["--delete", "old", "--empty-trash"]):
        done = talks("sessions", *wrong)
        assert done.code == 2 and done.err.startswith("co-tui: "), wrong


def test_a_session_is_deleted_forever_only_when_that_is_certain(talks: Here) -> None:
    asked = talks("sessions", "--delete", "old", "--forever")
    assert asked.code == 1 and "Delete “the old heron stands” with its 1 message forever? Add --yes" in asked.err
    assert "old" in ids(talks)
    done = talks("sessions", "--delete", "old", "--forever", "--yes")
    assert (done.code, done.err) == (0, "co-tui: the old heron stands: deleted.\n")
    assert ids(talks) == ["new", "older"] and ids(talks, "--trash") == []
    again = talks("sessions", "--delete", "old", "--forever", "--yes")
    assert again.code == 2 and "Did you mean older?" in again.err and ids(talks) == ["new", "older"]


def test_the_trash_is_emptied_except_what_is_open(talks: Here) -> None:
    assert talks("sessions", "--empty-trash").err == "co-tui: The trash is empty.\n"
    for name in ("old", "older"):
        talks("sessions", "--delete", name)
    asked = talks("sessions", "--empty-trash")
    assert (
        asked.code == 1 and "Delete 2 sessions in the trash forever?" in asked.err and len(ids(talks, "--trash")) == 2
    )
    with store_in(talks.home) as store, store.claim("older"):
        done = talks("sessions", "--empty-trash", "--yes")
        assert done.code == 0 and "1 session deleted. 1 session opened or restored just now" in done.err
        assert talks("sessions", "--delete", "older", "--forever", "--yes").code == 1
    assert ids(talks, "--trash") == ["older"] and ids(talks) == ["new"]


def test_in_a_terminal_only_yes_deletes(talks: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.headless.sessions.sessions_command.has_terminal", lambda: True)
    refused = talks("sessions", "--delete", "old", "--forever", stdin="no\n")
    assert refused.code == 1 and refused.err.endswith("forever? [y/N] co-tui: Nothing was deleted.\n")
    assert talks("sessions", "--delete", "old", "--forever", stdin="y\n").code == 0 and ids(talks) == ["new", "older"]


def test_an_interrupt_in_the_middle_of_a_query_is_no_failure(talks: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    came = []

    def interrupt(reader: Reader) -> bool:
        came.append(reader)
        raise KeyboardInterrupt  # as the handler of Ctrl+C does; SQLite does not pass it on

    monkeypatch.setattr(Reader, "_is_cancelled", interrupt)
    monkeypatch.setattr("co_tui.store.sqlite.reader.STEPS_BETWEEN_CHECKS", 1)
    monkeypatch.setattr("co_tui.cli.stop_requested", lambda: bool(came))
    monkeypatch.setattr("co_tui.cli.discard", lambda stream: None)  # the stream of a test is read again
    done = talks("sessions", "--search", "heron")
    assert (done.code, done.out, done.err) == (130, "", "co-tui: Interrupted.\n")


def test_a_search_finds_a_phrase_in_quotes(talks: Here) -> None:
    assert ids(talks, "--search", '"old heron stands"') == ["old"] and ids(talks, "--search", '"heron old"') == []


def test_a_search_shows_what_it_found_and_where(talks: Here) -> None:
    (row,) = talks("sessions", "--search", "OLDER stand", "--json").objects
    match = row["match"]
    assert [match["text"][start:end] for start, end in match["places"]] == ["older", "stand"] and match["seq"] == 2
    for odd in ('"', "*", "NEAR(", "a-b", "x" * 10_000, "天", "\ud800"):
        assert talks("sessions", "--search", odd).code == 0


def test_a_search_says_when_older_messages_cannot_be_found_yet(talks: Here) -> None:
    with closing(connect_for_writing(locate({"CO_TUI_HOME": str(talks.home)}).database)) as connection:
        text_rebuild.request(connection)
    assert "Older messages cannot all be found yet" in talks("sessions", "--search", "heron").err
    assert talks("sessions").err == ""
    with closing(connect_for_writing(locate({"CO_TUI_HOME": str(talks.home)}).database)) as connection:
        while text_rebuild.rebuild_some(connection):
            pass
    assert talks("sessions", "--search", "heron").err == ""


def test_a_prompt_answered_cleans_up_what_the_user_or_the_sessions_policy_wants_gone(
    served_here: Here, talks: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "trash" not in served_here("run", "-p", "hi").err
    done = served_here("run", "-p", "hi", "--policy", "cowagent")
    assert "1 session unused for 30 days moved to the trash" in done.err and ids(talks, "--trash") == ["older"]
    monkeypatch.setenv("CO_TUI_RETENTION_DAYS", "35")
    done = served_here("run", "-p", "hi")
    assert "1 session unused for 35 days moved to the trash" in done.err and ids(talks, "--trash") == ["old", "older"]
    assert "trash" not in served_here("run", "-p", "hi").err
