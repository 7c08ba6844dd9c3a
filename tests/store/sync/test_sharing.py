"""Several users of one database: whose sessions are listed, read, forked and changed; and who takes over from whom."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import psycopg
import pytest

from co_tui.events import Fact, SessionFork, SessionStart, SessionTrashed, UsageInfo
from co_tui.paths import locate
from co_tui.store.housekeeping import pin, planned_clean_up
from co_tui.store.port import Store
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.store_errors import SessionAbandoned, SessionBusy, SessionNotFound, SessionOfAnother, StoreError
from co_tui.store.sync.server import leases as leases_module
from tests.store.test_contract import said
from tests.support.machines import Machine
from tests.support.postgres import postgres_server

Opened = Callable[[str], Machine]


@pytest.fixture(scope="module", params=["members", "superusers"])
def url_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The URL for a user. Members own no table, so that the server protects each; on superusers only we check."""
    server = postgres_server()
    url = server.new_database()

    def of(user: str) -> str:
        named = server.url_for(f"{user}_{request.param}", url)
        server.execute(f"ALTER ROLE {user}_{request.param} {'NO' if request.param == 'members' else ''}SUPERUSER")
        return named

    return of


@pytest.fixture
def opened(url_of: Callable[[str], str], tmp_path: Path) -> Iterator[Opened]:
    stores: list[Machine] = []

    def open_(user: str) -> Machine:
        stores.append(Machine(tmp_path / f"{user}{len(stores)}", url_of(user)))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


def write(store: Store, session_id: str, *facts: Fact, cwd: str = "/shop") -> None:
    store.writing().append(session_id, [SessionStart(cwd=cwd), *facts]).result()
    store.sync.complete()


def share(store: Store, session_id: str, *, shared: bool = True) -> None:
    store.sync.share(session_id, shared=shared).result()


def listed(store: Store, cwd: str = "/shop") -> set[str]:
    store.sync.complete()
    with store.reading() as reading:
        rows = reading.browse("", cwd)
        assert [row.id for row in reading.sessions()] == [row.id for row in sorted(rows, key=_age)]
        assert len(rows) == reading.count() and {row.id for row in reading.sessions(cwd=cwd)} <= {r.id for r in rows}
    return {row.id for row in rows}


def _age(row: object) -> object:
    return [-ord(letter) for letter in row.updated]  # type: ignore[attr-defined]


def test_what_is_not_shared_is_not_seen_by_others_in_any_way(opened: Opened) -> None:
    alice, bob = opened("alice"), opened("bob")
    counts = dict.fromkeys(("system_tokens", "conversation_tokens", "tool_definition_tokens"), 1)
    paid = UsageInfo(token_limit=9, current_tokens=1, messages_count=1, cost=2.0, **counts)
    write(alice, "secret-1", said("the heron of alice"), paid)
    alice.writing().save_reply("secret-1", 0, "half a reply").result()
    write(bob, "own-1", said("the egret of bob"))
    assert "secret-1" in listed(alice) and "secret-1" not in listed(bob)
    with bob.reading() as reading:
        for name in ("secret-1", "secret"):
            with pytest.raises(SessionNotFound):
                reading.session(name)
        assert not reading.search("heron").hits and not reading.search("heron", session_id="secret-1").hits
        assert reading.count_found("heron").messages == 0 and reading.messages_with("secret-1", ["heron"]).words == 0
        assert list(reading.events("secret-1")) == [] == reading.last_events("secret-1", 9)
        assert reading.usage("secret-1") is None and not reading.preview("secret-1").first_prompt
        assert not any("heron" in prompt for prompt in reading.prompts(99))
        assert reading.spent_since("2000") == 0 and list(reading.partial_reply("secret-1")) == []
        assert not reading.sessions(search="heron")
        latest = reading.latest("/shop")
        assert latest is not None and latest.id == "own-1"
    fact = SessionFork(source_session_id="secret-1", source_seq=1)
    with pytest.raises(SessionNotFound):
        bob.writing().fork("secret-1", "stolen", None, fact).result()
    with pytest.raises(StoreError):
        share(bob, "secret-1")
    with alice.reading() as reading:
        assert reading.session("secret-1").last_seq == 3 and reading.spent_since("2000") == 2.0


def test_a_shared_session_is_read_and_forked_and_not_changed(opened: Opened) -> None:
    alice, bob = opened("alice"), opened("bob")
    write(alice, "shared-1", said("a spoonbill"))
    pin(alice, "shared-1")
    share(alice, "shared-1")
    bob.sync.complete()
    with bob.reading() as reading, alice.reading() as own:
        row, hers = reading.session("shared-1"), own.session("shared-1")
        assert row.owner.startswith("alice") and row.shared and not row.pinned
        assert (hers.owner, hers.shared, hers.pinned) == ("", True, True)
        assert [hit.session.id for hit in reading.search("spoonbill").hits] == ["shared-1"]
        assert len(list(reading.events("shared-1"))) == 3
        latest = reading.latest("/shop")
        assert latest is None or latest.id != "shared-1", "one continues one's own"
        assert not reading.prompts(9, search="spoonbill")
        assert "shared-1" not in {each.id for each in reading.unused_since("9999")}
    with pytest.raises(SessionOfAnother, match=r"belongs to alice.*sessions --fork shared-1") as refused:
        bob.claim("shared-1")
    assert refused.value.owner.startswith("alice")
    for change in (
        lambda: bob.writing().append("shared-1", [said("mine now")]),
        lambda: bob.writing().append("shared-1", [SessionTrashed()]),
        lambda: bob.writing().delete("shared-1"),
        lambda: bob.sync.share("shared-1", shared=False),
    ):
        with pytest.raises(StoreError):
            change().result()
    fact = SessionFork(source_session_id="shared-1", source_seq=3)
    bob.writing().fork("shared-1", "copy-1", None, fact).result()
    bob.writing().append("copy-1", [said("and on")]).result()
    assert "copy-1" not in listed(alice), "a fork is not shared with its source"
    share(alice, "shared-1", shared=False)
    assert {"shared-1", "copy-1"} & listed(bob) == {"copy-1"}
    assert "shared-1" in listed(alice)


def test_a_shared_session_in_the_trash_is_its_owners_alone(opened: Opened) -> None:
    alice, bob = opened("alice"), opened("bob")
    write(alice, "gone-1", said("a bittern"), SessionTrashed())
    share(alice, "gone-1")
    bob.sync.complete()
    with bob.reading() as reading:
        assert "gone-1" not in {row.id for row in reading.browse("", "/shop", in_trash=True)}
        assert not reading.search("bittern", in_trash=True).hits
    due = planned_clean_up(bob, retention_days=1, now=datetime.fromisoformat("2999-01-01T00:00:00+00:00"))
    assert "gone-1" not in {row.id for row in (*due.trashed, *due.deleted)}


def test_the_server_itself_refuses_a_member_who_uses_another_program(
    opened: Opened, url_of: Callable[[str], str], request: pytest.FixtureRequest
) -> None:
    if "superusers" in request.node.name:
        return  # for them the server has no limits
    alice = opened("alice")
    write(alice, "private-1", said("a night heron"))
    write(alice, "public-1", said("a grey heron"))
    share(alice, "public-1")
    with psycopg.connect(url_of("bob"), autocommit=True, options="-c search_path=co_tui") as connection:
        found = connection.execute("SELECT DISTINCT session_id FROM events").fetchall()
        assert ("private-1",) not in found and ("public-1",) in found
        for change in (
            "UPDATE sessions SET title = 'x'",
            "UPDATE sessions SET owner = current_user, shared = true",
            "DELETE FROM events WHERE session_id LIKE 'p%-1'",
            "DELETE FROM sessions WHERE id LIKE 'p%-1'",
        ):
            assert connection.execute(change.encode()).rowcount == 0 or "SET" in change
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO events VALUES('public-1', 99, 'message', '', 1, '{}')")
    with alice.reading() as reading:
        assert reading.session("public-1").title == "a grey heron" and len(list(reading.events("private-1"))) == 2


def test_only_the_owner_of_the_tables_upgrades_them(tmp_path: Path) -> None:
    server = postgres_server()
    url = server.new_database()
    member = server.url_for("bob", url)
    last = "(SELECT max(number) FROM co_tui.schema_steps)"
    server.execute(f"DELETE FROM co_tui.schema_steps WHERE number = {last}", url.partition("?")[0].rpartition("/")[2])
    with (
        Machine(tmp_path, member) as store,
        pytest.raises(StoreError, match="The user who owns its tables upgrades it"),
    ):
        store.sync.complete()
    empty = server.empty_database().replace("postgres@", "bob@")
    with Machine(tmp_path, empty) as store, pytest.raises(StoreError, match="or the right to create it"):
        store.sync.complete()


def test_sqlite_says_what_sharing_needs(tmp_path: Path) -> None:
    with SqliteStore(locate({"CO_TUI_HOME": str(tmp_path)})) as store:
        write(store, "s", said("a heron"))
        with pytest.raises(StoreError, match=r'^Sharing needs a database .* database = "postgresql://…"'):
            share(store, "s")


# Taking over


def _leave_open(url: str, **columns: str) -> None:
    """As if another machine had held all sessions, and was not heard of for two minutes."""
    values = {"expires": "now() - interval '2 minutes'", "writer": "'another'", "process": "1", **columns}
    database = url.partition("?")[0].rpartition("/")[2]
    changes = ", ".join(f"{column} = {value}" for column, value in values.items())
    postgres_server().execute(f"UPDATE co_tui.leases SET {changes}", database)


def test_what_another_machine_left_open_is_taken_over_only_when_asked_to(tmp_path: Path) -> None:
    url = postgres_server().new_database()
    with Machine(tmp_path / "a", url) as before, Machine(tmp_path / "b", url) as store:
        write(before, "s", said("before"))
        claim = before.claim("s")
        store.sync.complete()
        _leave_open(url, host="'blue-laptop'", machine="'x.y'")
        with pytest.raises(SessionAbandoned, match=r"written on blue-laptop until .* --take-over") as asked:
            store.claim("s")
        assert asked.value.host == "blue-laptop" and asked.value.until < datetime.now().astimezone()
        with store.claim("s", take_over=True):
            store.writing().append("s", [said("after")]).result()
            before.writing().append("s", [said("late")]).result()
        store.sync.complete()
        claim.release()
        before.sync.complete()
        assert before.said("s")[1:] == store.said("s")[1:] == ["before", "after"]
        with before.reading() as reading:
            assert "before (from another machine)" in {row.title for row in reading.sessions()}
        store.claim("s").release()


@contextmanager
def opened_there(writing: Machine, store: Machine) -> Iterator[None]:
    """A session that is known on both machines."""
    write(writing, "s", said("x"))
    store.sync.complete()
    yield


def test_taking_over_does_not_take_what_is_in_use(tmp_path: Path) -> None:
    url = postgres_server().new_database()
    with (
        Machine(tmp_path / "a", url) as writing,
        Machine(tmp_path / "b", url) as store,
        writing.claim("s"),
        opened_there(writing, store),
        pytest.raises(SessionBusy, match="is open in another co-tui") as refused,
    ):
        store.claim("s", take_over=True)
    assert not isinstance(refused.value, SessionAbandoned)


def test_what_this_computer_held_before_its_restart_is_not_asked_about(tmp_path: Path) -> None:
    url = postgres_server().new_database()
    with Machine(tmp_path / "a", url) as before, Machine(tmp_path / "b", url) as store:
        write(before, "s", said("x"))
        claim = before.claim("s")
        store.sync.complete()
        computer = leases_module._machine().partition(".")[2]
        _leave_open(url, machine=f"'0123456789abcdef.{computer}'")
        store.claim("s").release()
        claim.release()


# Repositories


def test_the_folders_of_a_repository_are_one_folder_where_asked(tmp_path: Path) -> None:
    with SqliteStore(locate({"CO_TUI_HOME": str(tmp_path)})) as store:
        there = {"repository": "/home/a/shop", "repository_id": "example.com/shop/web"}
        append = store.writing().append
        append("here", [SessionStart(cwd="/src/shop", repository="/src/shop", repository_id="x.org/other")]).result()
        append("there", [SessionStart(cwd="/home/a/shop/api", **there), said("x")]).result()
        append("else", [SessionStart(cwd="/tmp"), said("x")]).result()
        with store.reading() as reading:
            assert reading.folders("example.com/shop/web") == [("/home/a/shop/api", "/home/a/shop")]
            assert reading.folders("") == [] == reading.folders("example.com")
            also = ["/home/a/shop/api"]
            assert [row.id for row in reading.browse("", "/src/shop/api", also=also)] == ["there", "else", "here"]
            rows = reading.browse("", "/src/shop", 2, also=also, from_end=True)
            assert [row.id for row in rows] == ["here", "else"]
            for cwd, others, wanted in (
                ("/src/shop/api", also, "there"),
                ("/src/shop", (), "here"),
                ("/x", (), "else"),
            ):
                latest = reading.latest(cwd, also=others)
                assert latest is not None and latest.id == wanted
            assert reading.session("there").repository_id == "example.com/shop/web"
