"""Keys are hidden before anything leaves the machine for a PostgreSQL server."""

import base64
import json
from pathlib import Path

import psycopg
import pytest

from co_tui.agent import redact as redact_module
from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.keys.key_servers import KeyOwner
from co_tui.agent.redact import remember_secret
from co_tui.events import Fact, Message, SessionError, SessionFork, SessionRename, SessionStart
from co_tui.events.event import from_json, payload_of
from co_tui.open_store import open_store
from co_tui.paths import locate
from co_tui.store.port import Store
from tests.store.test_contract import said
from tests.support.postgres import postgres_server

SECRETS = {
    "environment": "zq7 ordinary words as a key",
    "password": 'p"ss\\wörd of the database',
    "kept": "kept-by-login-0123456789",
    "typed": "typed-in-this-process-42",
    "looks like one": "sk-abcdefghijklmnop1234",
}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(redact_module, "_remembered", set())
    environ = {"SOME_API_KEY": SECRETS["environment"], "PGPASSWORD": SECRETS["password"]}
    paths = locate({"CO_TUI_HOME": str(tmp_path)})
    KeptKeys(paths).keep(KeyOwner("openai", "https://api.openai.com"), SECRETS["kept"])
    return open_store(paths, postgres_server().new_database(), environ)


def holding(secret: str) -> list[Fact]:
    """Facts with a secret in each kind of text."""
    # In an image only what is known is hidden, not what looks like a key: there anything might.
    around = (b"", b"") if secret == SECRETS["looks like one"] else (b"\xff\xfb\x00", b"\xfe")
    image = base64.urlsafe_b64encode(secret.encode().join(around)).decode()
    parts: list[dict[str, object]] = [
        {"part_kind": "user-prompt", "content": [f"my key is {secret}", {"kind": "binary", "data": image}]},
        {"part_kind": "tool-return", "tool_name": "read", "content": {"lines": [f"KEY={secret}"]}},
        {"part_kind": "tool-return", "tool_name": secret, "content": secret},
    ]
    arguments = [{"content": secret, secret: 1}, json.dumps({"content": secret})]
    calls = [{"part_kind": "tool-call", "tool_name": "write", "args": each} for each in arguments]
    return [
        Message(turn=1, message={"kind": "request", "parts": parts}),
        Message(turn=1, message={"kind": "response", "parts": [{"part_kind": "text", "content": secret}, *calls]}),
        SessionRename(title=f"About {secret}", cwd=f"/home/{secret}"),
        SessionError(what=f"refused: {secret}"),
    ]


def everything(url: str) -> str:
    """All that the database has, of every table, as text and with what is encoded decoded."""
    found = ""
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'co_tui'").fetchall()
        for (table,) in tables:
            for (row,) in connection.execute(f"SELECT to_jsonb(t)::text FROM co_tui.{table} t".encode()):
                found += row
        for (payload,) in connection.execute("SELECT payload FROM co_tui.events"):
            found += payload + _decoded(json.loads(payload))
    return found


def _decoded(value: object) -> str:
    """Every text within, and what base64 holds."""
    if isinstance(value, dict):
        return "".join(_decoded(each) for each in (*value, *value.values()))
    if isinstance(value, list):
        return "".join(map(_decoded, value))
    if not isinstance(value, str):
        return ""
    try:
        return value + base64.urlsafe_b64decode(value).decode(errors="replace")
    except ValueError:
        return value


@pytest.mark.parametrize("kind", SECRETS)
def test_no_known_secret_reaches_the_database(store: Store, kind: str) -> None:
    secret = SECRETS[kind]
    with store:
        writing = store.writing()
        remember_secret(SECRETS["typed"])  # after the store was opened
        written = [SessionStart(cwd="/home"), *holding(secret)]
        events = writing.append("s", written).result()
        assert [event.fact for event in events] == written, "the session that wrote it has the original"
        writing.append("empty", [said(secret)]).result()
        writing.save_reply("s", 0, json.dumps({"pieces": [{"text": f"reply {secret}"}]})).result()
        writing.fork("s", "f", None, SessionFork(source_session_id="s", source_seq=1, cwd=secret)).result()
        log = [from_json(json.dumps({**_record(event), "session_id": "i"})) for event in events]
        writing.import_log(log).result()
        found = everything(str(store._url))  # type: ignore[attr-defined]
        assert secret not in found and json.dumps(secret)[1:-1] not in found
        assert json.dumps(json.dumps(secret)[1:-1])[1:-1] not in found
        with store.reading() as reading:
            assert "[hidden]" in reading.session("empty").title and "[hidden]" in reading.session("s").title
            assert reading.search("key is").hits, "the rest is found as ever"
            stored = list(reading.events("s"))
            assert [event.type for event in stored] == [event.type for event in events]
            assert "unreadable" not in str([payload_of(event) for event in stored])
            assert reading.partial_reply("s") == ['{"pieces":[{"text":"reply [hidden]"}]}']


def _record(event: object) -> dict[str, object]:
    from co_tui.events.event import Event, encode

    assert isinstance(event, Event)
    return encode(event)


def test_what_has_no_secret_is_stored_as_it_is(store: Store) -> None:
    image = base64.b64encode(bytes(range(256))).decode()
    content = ["the heron at https://example.com/a?b=c", {"kind": "binary", "data": image}]
    fact = Message(turn=1, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": content}]})
    with store, store.reading() as reading:
        store.writing().append("s", [SessionStart(), fact]).result()
        assert list(reading.events("s"))[1].fact == fact
