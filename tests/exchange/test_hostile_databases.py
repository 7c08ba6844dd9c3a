"""SQLite files whose schema or content is made to run, to last or to swell."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from co_tui.exchange.importers import ImportRefused, database, load

RESPONSES = "CREATE TABLE responses (id TEXT, conversation_id TEXT, datetime_utc TEXT, prompt TEXT, response TEXT)"
HELLO = "INSERT INTO responses VALUES ('1', 'c', '2026-01-01', 'hello', 'hi')"
ENDLESS = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS name FROM n"
LARGE = "CAST(zeroblob(60000000) AS TEXT)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "logs.db"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limits that small files reach."""
    monkeypatch.setattr(database, "MOST_STEPS", 1_000_000)
    monkeypatch.setattr(database, "LEAST_READ_BYTES", 1_000_000)
    yield


def made(file: Path, *statements: str) -> Path:
    with sqlite3.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return file


def test_what_the_other_program_has_not_yet_moved_into_its_file_is_read(file: Path) -> None:
    made(file, "PRAGMA journal_mode=WAL", RESPONSES)
    writing = sqlite3.connect(file)
    writing.execute(HELLO)
    writing.commit()
    with database.Database(file) as found:
        assert [row["prompt"] for row in found.select("responses", ["prompt"])] == ["hello"]
    writing.close()


def renamed(file: Path, table: str, kind: str, sql: str) -> Path:
    """As if the entry of a table in the schema had been written by hand."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET type = ?, sql = ? WHERE name = ?", (kind, sql, table))
    connection.commit()
    connection.close()
    return file


@pytest.mark.parametrize(
    "schema",
    [
        f"CREATE VIEW conversations AS {ENDLESS}",
        f"CREATE VIEW tool_results AS SELECT 1 AS response_id, id, name, {LARGE} AS output FROM ({ENDLESS})",
        "CREATE VIRTUAL TABLE conversations USING fts5(id, name)",
        f"CREATE TABLE conversations (id TEXT, name TEXT GENERATED ALWAYS AS ({LARGE}) VIRTUAL)",
    ],
    ids=["endless view", "large view", "virtual table", "generated column"],
)
def test_only_ordinary_tables_are_read(file: Path, schema: str) -> None:
    (session,) = load(made(file, RESPONSES, HELLO, schema, *_rows(schema)))
    assert [session.title, len(session.messages)] == ["hello", 2]


def _rows(schema: str) -> list[str]:
    return ["INSERT INTO conversations(id) VALUES ('c')"] if "CREATE VIEW" not in schema else []


@pytest.mark.parametrize("kind", ["table", "view"])
def test_a_view_that_claims_to_be_a_table_is_not_read(file: Path, kind: str) -> None:
    made(file, RESPONSES, HELLO, "CREATE TABLE conversations (id TEXT, name TEXT)")
    renamed(file, "conversations", kind, f"CREATE VIEW conversations AS {ENDLESS}")
    try:
        (session,) = load(file)
    except ImportRefused as refused:
        assert str(file) in str(refused)
    else:
        assert session.title == "hello"


@pytest.mark.parametrize("table", ["responses", "conversations"])
def test_a_generated_column_is_never_computed(file: Path, table: str) -> None:
    generated = f"GENERATED ALWAYS AS ({LARGE})"
    columns = "id TEXT, conversation_id TEXT, prompt TEXT, response TEXT"
    made(
        file,
        f"CREATE TABLE responses ({columns}, datetime_utc TEXT {generated if table == 'responses' else ''})",
        f"CREATE TABLE conversations (id TEXT, name TEXT {generated if table == 'conversations' else ''})",
        "INSERT INTO responses(id, conversation_id, prompt, response) VALUES ('1', 'c', 'hello', 'hi')",
        "INSERT INTO conversations(id) VALUES ('c')",
    )
    if table == "responses":
        with pytest.raises(ImportRefused, match="it is a database, but not from"):
            load(file)
    else:
        assert load(file)[0].title == "hello"


@pytest.mark.usefixtures("small")
def test_queries_that_take_too_long_together_are_stopped(file: Path) -> None:
    many = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
    made(
        file,
        RESPONSES,
        "CREATE TABLE tool_calls (id INTEGER, response_id TEXT, name TEXT)",
        f"{many} INSERT INTO responses SELECT i, i, i, 'hello', 'hi' FROM n",
        f"{many} INSERT INTO tool_calls SELECT i, '', 'x' FROM n",
    )
    with pytest.raises(ImportRefused, match="it takes too long, or holds too much"):
        load(file)


@pytest.mark.usefixtures("small")
def test_a_small_file_that_repeats_a_large_text_is_refused(file: Path) -> None:
    made(
        file,
        RESPONSES,
        "CREATE TABLE fragments (id INTEGER, content TEXT)",
        'CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER)',
        HELLO,
        "INSERT INTO fragments VALUES (1, printf('%.*c', 100000, 'x'))",
        *["INSERT INTO prompt_fragments VALUES ('1', 1, 1)"] * 20,
    )
    assert file.stat().st_size < 200_000
    with pytest.raises(ImportRefused, match="it takes too long, or holds too much"):
        load(file)


def test_columns_that_are_not_known_are_not_read(file: Path) -> None:
    made(file, RESPONSES.replace("id TEXT,", "id TEXT, extra BLOB,", 1))
    made(file, "INSERT INTO responses VALUES ('1', zeroblob(100000), 'c', '2026-01-01', 'hello', 'hi')")
    with database.Database(file) as opened:
        before = opened._bytes_left
        assert [row["prompt"] for row in opened.select("responses", ("id", "prompt", "other"))] == ["hello"]
        assert before - opened._bytes_left < 1_000


@pytest.mark.usefixtures("small")
def test_small_rows_that_are_read_again_and_again_are_bounded(file: Path) -> None:
    calls = "CREATE TABLE tool_calls (id INT, response_id TEXT, tool_call_id TEXT, name TEXT, arguments TEXT)"
    many = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 100) "
    again = f"{many} INSERT INTO tool_calls SELECT i, '1', '', '', '' FROM n"
    same = f"{many} INSERT INTO responses SELECT '1', 'c', '2026-01-01', 'a', 'b' FROM n"
    with pytest.raises(ImportRefused, match="takes too long, or holds too much"):
        list(load(made(file, RESPONSES, calls, same, again)))
