"""Words are found wherever they are in a session, by index as by reading; also in what older versions stored."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlite_utils import Database

from co_tui.events import Fact, Message, SessionStart
from co_tui.store.port import Store
from co_tui.store.sqlite.in_memory import InMemoryStore
from co_tui.store.sqlite.migrations import steps
from co_tui.store.stored_values import FoundMessages
from tests.support.long_run import drawn
from tests.support.old_schemas import rebuild_texts
from tests.support.stores import store_in


def parts(*texts: str) -> Message:
    return Message(turn=1, message={"kind": "request", "parts": [told(text) for text in texts]})


def told(text: str, kind: str = "user-prompt", **more: str) -> dict[str, str]:
    return {"part_kind": kind, "content": text, **more}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Store]]:
    home = tmp_path_factory.mktemp("home")
    with store_in(home) as kept:
        yield [kept, InMemoryStore()]


LETTERS = "abiIkKsS0_%\\\"'.-*é Éñ\n\tжЖшΣσςıßẞſÅ天气很ะกაᲐꮃᎳ😀\0"
WORDS = st.text(LETTERS, min_size=1, max_size=6)


@settings(max_examples=drawn(25), deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=2).map(" ".join), min_size=1, max_size=6), st.data())
def test_the_index_finds_what_reading_finds(stores: list[Store], texts: list[str], data: st.DataObject) -> None:
    whole = " ".join(texts).replace("\0", " ")
    start = data.draw(st.integers(0, len(whole) - 1))
    cut = whole[start : start + data.draw(st.integers(1, 8))]
    words = [" ".join(each.lower().split()) for each in (cut, *cut.split(), data.draw(WORDS).replace("\0", " "))]
    words = list(dict.fromkeys(filter(None, words)))
    name = f"s{stores[1].reading().count()}"
    found = [_found(store, name, [parts(text) for text in texts], words) for store in stores]
    assert found[0] == found[1], words


def _found(store: Store, name: str, facts: list[Fact], words: list[str]) -> FoundMessages:
    store.writing().append(name, facts).result()
    with store.reading() as reading:
        return reading.messages_with(name, words)


def test_a_database_of_the_first_schema_is_completed(home: Path) -> None:
    """Its texts get the names of their tools, and those it did without are added; nothing else changes."""
    file = home / "data" / "co-tui.db"
    file.parent.mkdir(parents=True)
    connection = sqlite3.connect(file, isolation_level=None)
    steps.apply(Database(connection), stop_before="002_words_within_a_session")
    connection.execute("PRAGMA user_version=1")
    messages = [
        [told("The first prompt")],
        [
            told("Deep heron thoughts", "thinking"),
            told("I shall look.", "text"),
            told("", "tool-call", tool_name="look"),
        ],
        [told("An egret", "tool-return", tool_name="look"), told("The second prompt")],
        [told("heron and egret", "tool-return", tool_name="recall")],
    ]
    connection.execute(
        "INSERT INTO sessions(id, title, created, updated, last_seq, turns, messages, compactions, cost)"
        " VALUES('old', 't', '', '', 4, 1, 4, 0, 0)"
    )
    for seq, each in enumerate(messages, 1):
        payload = json.dumps({"turn": 1, "message": {"kind": "request", "parts": each}})
        connection.execute("INSERT INTO events VALUES('old', ?, 'message', '', 1, ?)", (seq, payload))
        for part in each:
            if part["content"] and part["part_kind"] != "thinking":
                role = {"user-prompt": "user", "text": "assistant"}.get(part["part_kind"], "tool_result")
                row = ("old", seq, role, part["content"])
                connection.execute("INSERT INTO message_texts(session_id, seq, role, text) VALUES(?, ?, ?, ?)", row)
    connection.execute("INSERT INTO events VALUES('old', 5, 'message', '', 1, '{damaged')")
    connection.close()
    with store_in(home) as store:
        store.writing().append("new", [SessionStart(), parts("a heron")]).result()
        rebuild_texts(file)
        with store.reading() as reading:
            asked = {word: reading.messages_with("old", [word], except_tool="recall").seqs for word in WANTED}
            assert asked == WANTED
            assert reading.prompts(9) == ["The first prompt", "The second prompt", "a heron"]
            assert [row.id for row in reading.sessions(search="heron")] == ["new", "old"]
            assert reading.sessions(search="thoughts") == [] and len(list(reading.events("old"))) == 5
        store.writing().delete("old").result()
        with store.reading() as reading:
            assert reading.messages_with("old", ["heron"]).seqs == () and reading.health().verdict == "ok"
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO message_grams(message_grams) VALUES('integrity-check')")
    connection.close()


WANTED = {"heron": (2,), "egret": (3,), "look": (3, 2), "shall look": (2,), "prompt": (3, 1), "recall": ()}
