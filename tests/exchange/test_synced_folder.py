"""A folder of logs that two machines share."""

import json
import os
from pathlib import Path

import pytest

from co_tui.events import Message, SessionPinned, SessionStart, SessionTrashed
from co_tui.exchange.intake.folder_deletions import latest
from co_tui.headless.sessions import export_all
from tests.support.growing_files import said
from tests.support.here import Here
from tests.support.stores import listed, replayed, store_in


class Machine:
    """One co-tui with its own home, and a folder that it shares."""

    def __init__(self, place: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self._folder, self._monkeypatch = place, folder, monkeypatch
        self._here = Here(place, place.parent)

    def run(self, *arguments: str) -> str:
        self._monkeypatch.setenv("CO_TUI_HOME", str(self.home))
        done = self._here(*arguments)
        return f"{done.code}\n{done.out}{done.err}"

    def say(self, text: str, session_id: str = "ours") -> None:
        with store_in(self.home) as store, store.reading() as reading:
            start = () if reading.last_events(session_id, 1) else (SessionStart(cwd="/w", model="m"),)
            facts = [*start, Message(turn=1, message=said(text, by_user=True))]
            store.writing().append(session_id, facts).result()

    def export(self) -> str:
        return self.run("export", "--all", "-o", str(self._folder))

    def bring_in(self) -> str:
        return self.run("import", str(self._folder))

    def texts(self) -> dict[str, list[str]]:
        return {
            row.id: [entry.message["parts"][0]["content"] for entry in replayed(self.home, row.id).history]
            for row in listed(self.home)
        }


def test_sessions_travel_both_ways_grow_and_come_to_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "synced"
    desk, laptop = (Machine(tmp_path / name, folder, monkeypatch) for name in ("desk", "laptop"))
    desk.say("one")
    desk.say("other", "second")
    assert "2 sessions exported, 0 unchanged." in desk.export()
    assert "2 sessions imported" in laptop.bring_in()
    laptop.say("two")
    assert "1 session exported, 1 unchanged." in laptop.export()
    desk.say("only here", "second")
    assert "continued with 1 message" in desk.bring_in()
    assert desk.texts() == {"ours": ["one", "two"], "second": ["other", "only here"]}
    assert "1 session exported, 1 unchanged." in desk.export()
    assert "continued with 1 message" in laptop.bring_in() and laptop.texts() == desk.texts()
    assert "0 sessions exported, 2 unchanged." in laptop.export()


def test_a_session_that_ends_with_a_very_long_message_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_all, "_TAIL_BYTES", 100)
    desk = Machine(tmp_path / "desk", tmp_path / "synced", monkeypatch)
    desk.say("long " * 1000)
    assert "1 session exported, 0 unchanged." in desk.export()
    assert "0 sessions exported, 1 unchanged." in desk.export()


def test_what_diverged_is_a_fork_on_both_and_no_file_with_news_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "synced"
    desk, laptop = (Machine(tmp_path / name, folder, monkeypatch) for name in ("desk", "laptop"))
    desk.say("one")
    desk.export()
    laptop.bring_in()
    desk.say("at the desk")
    laptop.say("on the train")
    desk.export()
    assert laptop.export().startswith("1\n"), "the desk's log is not here yet"
    assert "a fork" in laptop.bring_in()
    laptop.export()
    assert "one (from another machine)" in desk.bring_in()
    both = [["one", "at the desk"], ["one", "on the train"]]
    for _ in range(2):
        for machine in (laptop, desk):
            machine.bring_in()
            machine.export()
            assert sorted(machine.texts().values()) == both, "nothing twice, nothing lost"


def test_what_is_deleted_is_deleted_everywhere_but_for_what_was_said_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "synced"
    desk, laptop = (Machine(tmp_path / name, folder, monkeypatch) for name in ("desk", "laptop"))
    desk.say("one")
    desk.say("other", "second")
    desk.export()
    laptop.bring_in()
    laptop.say("on the train", "second")
    kept = (folder / "ours.jsonl").read_text()
    with store_in(desk.home) as store:
        store.writing().append("second", [SessionTrashed(), SessionPinned(pinned=False)]).result()
        for name in ("ours", "second"):
            with store.claim(name):
                store.delete(name)
    desk.bring_in()
    assert desk.texts() == {}, "a folder brings nothing back"
    desk.export()
    assert not list(folder.glob("*.jsonl"))
    assert "2 sessions would be deleted here, as elsewhere." in laptop.run("import", "--dry-run", str(folder))
    assert set(laptop.texts()) == {"ours", "second"}
    reported = laptop.bring_in()
    assert "Session second was deleted elsewhere. What was added here is in session co-tui-" in reported
    assert "2 sessions deleted here, as elsewhere." in reported
    assert "as elsewhere" not in laptop.bring_in()
    assert list(laptop.texts().values()) == [["other", "on the train"]]
    laptop.export()
    desk.bring_in()
    assert desk.texts() == laptop.texts()
    (folder / "ours.jsonl").write_text(kept)
    assert "deleted; name its file to restore it" in desk.bring_in()
    desk.run("import", str(folder / "ours.jsonl"))
    desk.export()
    laptop.bring_in()
    assert desk.texts()["ours"] == laptop.texts()["ours"] == ["one"], "restored by name, on all machines"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"session_id": "ours"}',
        '{"session_id": "ours", "at": "x", "seq": 0, "deleted": true, "said": "AAAA"}',
    ],
)
def test_a_damaged_deletion_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    desk = Machine(tmp_path / "desk", tmp_path / "synced", monkeypatch)
    desk.say("one")
    desk.export()
    (tmp_path / "synced" / "deleted").mkdir()
    (tmp_path / "synced" / "deleted" / "ours.json").write_text(content)
    desk.bring_in()
    assert desk.texts() == {"ours": ["one"]}


def test_a_folder_cannot_delete_a_session_that_it_never_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Machine(tmp_path / "desk", tmp_path / "synced", monkeypatch)
    desk.say("one")
    (tmp_path / "synced" / "deleted").mkdir(parents=True)
    made_up = {"session_id": "ours", "at": "2999-01-01T00:00:00.000000Z", "seq": 9, "deleted": True, "said": "A" * 40}
    (tmp_path / "synced" / "deleted" / "ours.json").write_text(json.dumps(made_up))
    assert "A deletion of session ours is ignored: it is about another session" in desk.bring_in()
    assert desk.texts() == {"ours": ["one"]}
    assert "1 session exported, 0 unchanged." in desk.export()


@pytest.mark.parametrize(
    "arguments", [(), ("--all",), ("x", "--all", "-o", "f"), ("--all", "-o", "f", "--format", "html")]
)
def test_a_wrong_export_is_refused(here: Here, arguments: tuple[str, ...]) -> None:
    done = here("export", *arguments)
    assert done.code == 2 and "--all" in done.err


@pytest.mark.parametrize("at", ["2026-99-01T10:00:00.000000Z", "2026-01-01T10:00:00.000000Z" + 200 * "+"])
def test_a_deletion_at_an_impossible_time_does_not_count(tmp_path: Path, at: str) -> None:
    (tmp_path / "deleted").mkdir()
    decision = {"session_id": "x", "at": at, "seq": 1, "deleted": True, "said": "AAAA"}
    (tmp_path / "deleted" / "x.json").write_text(json.dumps(decision))
    assert latest(tmp_path) == {}
    (tmp_path / "deleted" / "x.json").write_text(json.dumps({**decision, "at": "2026-01-01T10:00:00.000000Z+"}))
    os.mkfifo(tmp_path / "deleted" / "pipe.json")
    assert list(latest(tmp_path)) == ["x"]
