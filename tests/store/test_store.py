"""What is acknowledged is there; what cannot be stored is said in a sentence."""

import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from co_tui.events import Message, SessionRename, SessionStart, StreamDelta, Unknown, UsageInfo
from co_tui.events.drafted import DraftPiece
from co_tui.events.event import dump
from co_tui.store.connect import SCHEMA_VERSION
from co_tui.store.errors import SessionBusy, SessionNotFound, StoreError
from co_tui.store.lock import SessionLock
from co_tui.store.reader import Reader
from co_tui.store.writer import Writer


def said(text: str, turn: int = 1) -> Message:
    return Message(turn=turn, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "co-tui.db"


@pytest.fixture
def writer(path: Path):
    writer = Writer(path)
    yield writer
    writer.close()


def test_events_come_back_in_order_with_their_numbers(writer: Writer, path: Path) -> None:
    first = writer.append("s", [SessionStart(model="m"), said("one")]).result()
    second = writer.append("s", [said("two", 2)]).result()
    assert [event.seq for event in (*first, *second)] == [1, 2, 3]
    assert list(Reader(path).events("s")) == [*first, *second]
    assert list(Reader(path).events("s", after=1, upto=2)) == [first[1]]
    assert Reader(path).last_events("s", 2) == [first[1], *second]


def test_the_row_carries_its_counters(writer: Writer, path: Path) -> None:
    usage = UsageInfo(
        token_limit=1000, current_tokens=50, messages_count=2, system_tokens=5,
        conversation_tokens=45, tool_definition_tokens=0, cost=0.25,
    )  # fmt: skip
    writer.append("s", [SessionStart(model="m", cwd="/here", branch="main"), said("Fix the\ttests\nplease")]).result()
    writer.append("s", [usage, said("more", 2), usage]).result()
    row = Reader(path).session("s")
    assert (row.title, row.messages, row.turns, row.tokens, row.cost) == ("Fix the tests", 2, 2, 50, 0.5)
    assert (row.model, row.cwd, row.branch, row.last_seq) == ("m", "/here", "main", 5)
    writer.append("s", [SessionRename(title="A name")]).result()
    assert Reader(path).session("s").title == "A name"


def test_search_finds_words_in_messages_and_titles(writer: Writer, path: Path) -> None:
    writer.append("a", [SessionStart(), said("The login fixture is flaky")]).result()
    writer.append("b", [SessionStart(), said("Payment webhooks")]).result()
    find = Reader(path).sessions
    assert [row.id for row in find(search="fixture login")] == ["a"]
    assert [row.id for row in find(search="webh")] == ["b"]
    assert find(search="nothing") == []
    for odd in ('"', "a AND", "NEAR(", "100%", "*", "'; drop table events; --"):
        find(search=odd)


def test_a_session_answers_to_part_of_its_id(writer: Writer, path: Path) -> None:
    for name in ("2026-aaa", "2026-bbb"):
        writer.append(name, [SessionStart()]).result()
    reader = Reader(path)
    assert reader.session("bbb").id == "2026-bbb"
    with pytest.raises(SessionNotFound, match="Several"):
        reader.session("2026")
    for wrong in ("zzz", "%", "", "_026"):
        with pytest.raises(SessionNotFound):
            reader.session(wrong)


def test_unknown_events_are_stored_as_they_are(writer: Writer, path: Path) -> None:
    future = Unknown(type="session.dreamt", version=4, payload={"of": ["sheep", 1]})
    writer.append("s", [future]).result()
    assert next(Reader(path).events("s")).fact == future


def test_what_is_only_announced_is_refused(writer: Writer) -> None:
    delta = StreamDelta(turn=1, part=0, kind="text", text="x")
    with pytest.raises(ValueError, match="never logged"):
        writer.append("s", [said("kept with it?"), delta]).result()
    assert [event.seq for event in writer.append("s", [said("next")]).result()] == [1]


def test_many_threads_share_the_writer(writer: Writer, path: Path) -> None:
    def write(name: str) -> None:
        for n in range(50):
            writer.append(name, [said(f"{n}")]).result()

    threads = [threading.Thread(target=write, args=(f"s{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(4):
        texts = [event.fact.message["parts"][0]["content"] for event in Reader(path).events(f"s{n}")]
        assert texts == [str(k) for k in range(50)]


def test_files_are_for_their_owner_only(writer: Writer, path: Path) -> None:
    writer.append("s", [said("x")]).result()
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_deleting_leaves_nothing(writer: Writer, path: Path) -> None:
    writer.append("s", [SessionStart(), said("secret plan")]).result()
    writer.save_reply("s", 0, "half a thought").result()
    writer.delete("s").result()
    assert Reader(path).sessions() == [] and Reader(path).sessions(search="secret") == []
    with pytest.raises(SessionNotFound):
        writer.delete("s").result()


def row(*pieces: DraftPiece) -> str:
    return dump({"turn": 1, "model": "m", "started": "2026-01-01T00:00:00Z", "pieces": pieces})


OLD_ROW = '{"turn":1,"message":{"kind":"response","parts":[{"part_kind":"text","content":"half a"}]}}'
ODD_ROW = '{"pieces": [[0], 7, [0, "text", 5, "", ""]]}'
HALF = row(DraftPiece(0, "text", "half"), DraftPiece(1, "tool_call", '{"a":', "poke", "c1"))


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([OLD_ROW], "half a"),
        ([HALF, row(DraftPiece(0, "text", " a"))], "half a"),
        ([HALF, "{damaged", "[" * 30_000, "5", ODD_ROW, row(DraftPiece(0, "text", "!"))], "half!"),
        (["{damaged"], None),
        (["null"], None),
        ([row(DraftPiece(0, "tool_call", "{}", "poke", "c1"))], None),
    ],
)  # fmt: skip
def test_a_half_reply_left_by_a_crash_is_logged_and_marked(
    writer: Writer, path: Path, rows: list[str], kept: str | None
) -> None:
    writer.append("s", [SessionStart(), said("hi")]).result()
    for number, body in enumerate(rows):
        writer.save_reply("s", number, body).result()
    events = writer.recover("s").result()
    assert Reader(path).drafts("s") == {} and writer.recover("s").result() == ()
    if kept is None:
        assert events == ()
        return
    assert [event.type for event in events] == ["message", "session.interrupted"]
    assert events[0].fact.interrupted and events[0].fact.turn == 1
    assert [part["content"] for part in events[0].fact.message["parts"]] == [kept]


def test_a_new_reply_in_the_making_takes_the_place_of_an_older_one(writer: Writer, path: Path) -> None:
    writer.append("s", [SessionStart()]).result()
    for number, text in enumerate(("the first ", "and more")):
        writer.save_reply("s", number, row(DraftPiece(0, "text", text))).result()
    writer.save_reply("s", 0, row(DraftPiece(0, "text", "another"))).result()
    (message, _) = writer.recover("s").result()
    assert message.fact.message["parts"][0]["content"] == "another"


def test_a_newer_database_is_refused_and_left_alone(path: Path) -> None:
    Writer(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    for open_ in (Writer, Reader):
        with pytest.raises(StoreError, match="newer co-tui"):
            open_(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"this is not a database, it is a poem about one\n" * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_damaged_database_is_named_and_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    for open_ in (Writer, Reader):
        with pytest.raises(StoreError, match=str(path)):
            open_(path)
    assert path.read_bytes() == content


def test_a_full_disk_is_said_and_the_next_append_works(writer: Writer) -> None:
    writer.append("s", [said("before")]).result()
    pages = writer._connection.execute("PRAGMA page_count").fetchone()[0]
    writer._connection.execute(f"PRAGMA max_page_count={pages + 1}")
    with pytest.raises(StoreError, match="full"):
        writer.append("s", [said("x" * 1_000_000)]).result()
    writer._connection.execute("PRAGMA max_page_count=1073741823")
    assert [event.seq for event in writer.append("s", [said("after")]).result()] == [2]


def test_a_read_only_database_is_said(writer: Writer) -> None:
    writer._connection.execute("PRAGMA query_only=ON")
    with pytest.raises(StoreError, match="read-only"):
        writer.append("s", [said("x")]).result()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="CO_TUI_HOME"):
        Writer(tmp_path / "file" / "co-tui.db")


def test_without_a_database_reading_finds_nothing(path: Path) -> None:
    reader = Reader(path)
    assert reader.sessions() == [] and reader.latest("/x") is None and not reader.health().exists
    assert not path.exists()


def test_a_lock_is_exclusive_and_released(tmp_path: Path) -> None:
    first, second = SessionLock(tmp_path, "s"), SessionLock(tmp_path, "s")
    first.acquire()
    with pytest.raises(SessionBusy, match=str(os.getpid())):
        second.acquire()
    first.release()
    second.acquire()
    second.release()
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_append_does_not_stop_the_writer(writer: Writer) -> None:
    for _ in range(200):
        writer.append("s", [said("maybe")]).cancel()
    assert writer.append("s", [said("surely")]).result(timeout=10)


def test_one_damaged_record_does_not_take_the_session_with_it(writer: Writer, path: Path) -> None:
    writer.append("s", [SessionStart(), said("one"), said("two", 2)]).result()
    with sqlite3.connect(path) as connection:
        connection.execute('UPDATE events SET payload = \'{"turn": 1, "mess\' WHERE seq = 2')
    kinds = [type(event.fact).__name__ for event in Reader(path).events("s")]
    assert kinds == ["SessionStart", "Unknown", "Message"]
