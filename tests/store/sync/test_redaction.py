"""Keys are hidden before anything leaves the machine for a PostgreSQL server."""

import base64
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from co_tui import open_store
from co_tui.agent import redact as redact_module
from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.keys.key_servers import KeyOwner
from co_tui.agent.redact import remember_secret
from co_tui.events import Fact, Message, SessionError, SessionFork, SessionRename, SessionStart
from co_tui.events.event import payload_of
from co_tui.paths import locate
from co_tui.store.sync.server import server_rows
from co_tui.store.sync.server.server import Connection, Server
from co_tui.store.sync.server.server_rows import Push
from tests.support.postgres import postgres_server
from tests.support.pushing import log_of, push_log, said

SECRETS = {
    "environment": "zq7 ordinary words as a key",
    "password": 'p"ss\\wörd of the database',
    "kept": "kept-by-login-0123456789",
    "typed": "typed-in-this-process-42",
    "looks like one": "sk-abcdefghijklmnop1234",
}


@pytest.fixture
def url() -> str:
    return postgres_server().new_database()


@pytest.fixture
def connection(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """As the sync has it."""
    monkeypatch.setattr(redact_module, "_remembered", set())
    environ = {"SOME_API_KEY": SECRETS["environment"], "PGPASSWORD": SECRETS["password"]}
    paths = locate({"CO_TUI_HOME": str(tmp_path)})
    KeptKeys(paths).keep(KeyOwner("openai", "https://api.openai.com"), SECRETS["kept"])
    password = partial(open_store._password, paths, environ, url)
    with Server(url, password, partial(open_store._hiding, paths, environ)).connect() as connection:
        yield connection


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
def test_no_known_secret_reaches_the_database(url: str, connection: Connection, kind: str) -> None:
    secret = SECRETS[kind]
    remember_secret(SECRETS["typed"])  # after the connection was made
    fork = SessionFork(source_session_id="s", source_seq=1, cwd=secret, repository=secret, branch=secret, model=secret)
    log = log_of("s", *holding(secret), fork)
    assert push_log(connection, log[:1]) is Push.DONE
    assert push_log(connection, log, after=1) is Push.DONE
    assert push_log(connection, log) is Push.DONE, "hidden or not, it is the same event"
    assert push_log(connection, log_of("untitled", secret)) is Push.DONE
    found = everything(url)
    assert secret not in found and json.dumps(secret)[1:-1] not in found
    assert json.dumps(json.dumps(secret)[1:-1])[1:-1] not in found
    titles = connection.execute("SELECT title FROM sessions").fetchall()
    assert len(titles) == 2 and all("[hidden]" in title for (title,) in titles)
    stored = server_rows.events(connection, "s", 0)
    assert [event.type for event in stored] == [event.type for event in log]
    assert "unreadable" not in str([payload_of(event) for event in stored])


def test_what_has_no_secret_is_stored_as_it_is(connection: Connection) -> None:
    image = base64.b64encode(bytes(range(256))).decode()
    content = ["the heron at https://example.com/a?b=c", {"kind": "binary", "data": image}]
    fact = Message(turn=1, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": content}]})
    log = log_of("s", SessionStart(), fact, said("more"))
    push_log(connection, log)
    assert server_rows.events(connection, "s", 0) == log
