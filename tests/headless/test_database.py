"""Setting `database`: the commands on a PostgreSQL server, from the user's own settings alone."""

import asyncio
import json
from pathlib import Path

import pytest

from co_tui.paths import locate
from co_tui.session.approvals.kept_approvals import kept_for
from co_tui.session.forking import fork_stored
from co_tui.session.synced_files import SyncedFiles
from co_tui.settings.permission_rules import BASH, Rule
from co_tui.store.notes.context_board import new_entry
from co_tui.store.store_errors import NOT_SHARED
from tests.support.cut_connections import cut_connections
from tests.support.environments import environment_for
from tests.support.here import Here
from tests.support.postgres import ASKED, postgres_server, synced_store
from tests.support.provider import Provider
from tests.support.talks import LONG

PASSWORD = "a password of some length"


def test_a_turn_is_kept_on_the_server_and_resumed_from_another_home(served_here: Here, tmp_path: Path) -> None:
    here = served_here
    here.environ["CO_TUI_DATABASE"] = postgres_server().new_database()
    assert here("run", "-p", "Remember the heron.").code == 0
    here.environ["CO_TUI_HOME"] = str(tmp_path / "another home")
    assert "Remember the heron" in here("sessions").out
    assert here("run", "--continue", "-p", "And the egret.").code == 0
    shown = here("sessions", "--search", "egret").out
    assert "Remember the heron" in shown
    assert "postgresql://postgres@/test_" in here("doctor").out


def test_a_session_moves_to_another_home_with_its_checkpoints_board_and_approvals(
    served_here: Here, provider: Provider, tmp_path: Path
) -> None:
    here, (laptop, desktop) = served_here, (tmp_path / "laptop", tmp_path / "desktop")
    url = here.environ["CO_TUI_DATABASE"] = postgres_server().new_database()
    here.environ["CO_TUI_HOME"] = str(laptop)
    (here.cwd / ".git").mkdir()
    (here.cwd / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    provider.default, provider.window = LONG, 100_000
    assert here("run", "-p", "Remember the heron.").code == 0
    session_id = here("sessions", "--json").objects[0]["id"]
    for number in range(5):
        assert here("run", "--continue", "-p", f"And egret {number}.").code == 0
    assert here("compact", session_id).code == 0
    with synced_store(laptop, url) as store:
        files = SyncedFiles(locate({"CO_TUI_HOME": str(laptop)}), store.sync.files)
        files.board(here.cwd).change([new_entry("Herons are grey.", "s")])
        kept_for(files, here.cwd).add(Rule(BASH, "make test"))

    here.environ["CO_TUI_HOME"] = str(desktop)
    assert "Always allowed" not in here("trust", "--list").err
    lens = here("lens", session_id)
    assert lens.code == 0 and list(desktop.rglob("001-*.md")), "looked at, not resumed"
    resumed = here("run", "--continue", "-p", "What did I say?")
    assert resumed.code == 0 and "so it asks once more: make test." in resumed.err
    assert "Always allowed" not in here("trust", "--list").err
    moved = {path.name: path.read_text() for path in (desktop / "data").rglob("*.md")}
    assert "The talk so far" in moved["index.md"] and "It was about the question." in str(moved)
    assert "Herons are grey." in str(moved)
    assert "Herons are grey." in here("run", "-p", "A new one.", "--json").out, "new sessions start with the board"
    third = environment_for(tmp_path / "third")
    with synced_store(tmp_path / "third", url) as store:
        third.store = store
        store.sync.complete()
        fork = asyncio.run(fork_stored(third, session_id))
        assert [each.title for each in third.checkpoints(fork).list()] == ["The talk so far"]
    found = here("doctor").out
    assert "all pushed" in found and "snapshots only on this machine" in found


def test_a_server_that_is_away_is_one_sentence(here: Here) -> None:
    here.environ["CO_TUI_DATABASE"] = "postgresql://me@localhost:1/db"
    result = here("sessions")
    assert result.code == 0 and result.out == ""
    assert result.err.splitlines()[0] == (
        "co-tui: Database postgresql://me@localhost:1/db cannot be reached: connection refused."
    )
    checked = here("doctor")
    assert checked.code == 1 and "cannot be reached: connection refused" in checked.err


def test_a_turn_while_the_server_is_away_is_pushed_by_the_next(served_here: Here, tmp_path: Path) -> None:
    server = postgres_server()
    name = server.new_database().split("?")[0].rpartition("/")[2]
    with cut_connections(server.socket) as way:
        served_here.environ["CO_TUI_DATABASE"] = way.url(name)
        way.take_down()
        away = served_here("run", "-p", "Remember the heron.")
        assert away.code == 0
        assert away.err.count("Keep working: what is new is pushed later.") == 1
        listed = served_here("sessions")
        assert "Remember the heron" in listed.out and "1 session and 2 files not pushed yet." in listed.err
        refused = served_here("run", "--resume", "20260101-000000-abcdef", "-p", "hello")
        assert refused.code == 1 and "cannot be reached" in refused.err
        way.bring_back()
        assert served_here("run", "-p", "And the egret.").code == 0
        served_here.environ["CO_TUI_HOME"] = str(tmp_path / "another home")
        listed = served_here("sessions")
        assert "Remember the heron" in listed.out and "And the egret" in listed.out and not listed.err


@pytest.mark.parametrize("url", ["postgresql://me:hunter22@h/x", "postgresql://me@h/x?password=hunter22"])
def test_a_url_with_a_password_is_refused_without_showing_it(here: Here, url: str) -> None:
    here.environ["CO_TUI_DATABASE"] = url
    for command in (("sessions",), ("config",), ("doctor",)):
        result = here(*command)
        assert "hunter22" not in result.out + result.err
    assert "CO_TUI_DATABASE = a URL with a password" in here("sessions").err
    refused = here("config", "database", url)
    assert refused.code != 0 and "hunter22" not in refused.out + refused.err
    assert "hunter22" not in "".join(path.read_text() for path in here.home.rglob("*.toml"))


def test_no_project_chooses_the_database_trusted_or_not(here: Here) -> None:
    (here.cwd / ".co-tui.toml").write_text('database = "postgresql://evil.example/x"\nmode = "ask"\n')
    for _ in range(2):
        result = here("sessions")
        assert result.code == 0 and "database can only be set in your own settings. Ignored." in result.err
        assert here("trust").code == 0


def test_the_password_is_kept_by_login_and_used(here: Here) -> None:
    assert here("login", "postgresql", stdin=PASSWORD).err == (
        "co-tui: Setting database is empty. Set it first: `co-tui config database URL`.\n"
    )
    server = postgres_server()
    server.execute(f"DROP ROLE IF EXISTS {ASKED}")
    server.execute(f"CREATE ROLE {ASKED} LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    here.environ["CO_TUI_DATABASE"] = server.new_database().replace("postgres@", f"{ASKED}@")
    refused = here("sessions")
    assert "refused the password. Set PGPASSWORD, or run `co-tui login postgresql`." in refused.err
    kept = here("login", "postgresql", stdin=PASSWORD + "\n")
    assert kept.code == 0 and PASSWORD not in kept.out + kept.err
    assert "password" not in here("sessions").err
    assert here("login", "postgresql", "--remove").code == 0
    here.environ["PGPASSWORD"] = PASSWORD
    assert "password" not in here("sessions").err


def test_a_session_is_shared_read_forked_and_not_continued_by_others(served_here: Here, tmp_path: Path) -> None:
    here, server = served_here, postgres_server()
    url = server.new_database()

    def as_(user: str) -> None:
        here.environ["CO_TUI_DATABASE"], here.environ["CO_TUI_HOME"] = server.url_for(user, url), str(tmp_path / user)

    as_("alice")
    assert here("run", "-p", "Remember the heron.").code == 0
    row = json.loads(here("sessions", "--json").out)
    assert (row["owner"], row["shared"]) == ("", False)
    as_("bob")
    assert here("sessions").out == "" and here("show", row["id"]).code == 1
    as_("alice")
    assert "shared: all users of postgresql://alice@" in here("sessions", "--share", row["id"]).err
    assert "Remember the heron. (shared)" in here("sessions").out
    as_("bob")
    seen = here("sessions")
    assert "Remember the heron. (of alice)" in seen.out and "Shared by alice: " in seen.err
    assert json.loads(here("sessions", "--json").out)["owner"] == "alice"
    assert "heron" in here("show", row["id"]).out
    for change in (("run", "--session", row["id"], "-p", "More."), ("sessions", "--delete", row["id"])):
        refused = here(*change)
        assert refused.code == 1 and refused.err == (
            f"co-tui: Session {row['id']} belongs to alice: it can be read, not changed. "
            f"Continue in a copy: `co-tui sessions --fork {row['id']}`.\n"
        )
    copy = here("sessions", "--fork", row["id"]).out.strip()
    assert here("run", "--session", copy, "-p", "More.").code == 0
    as_("alice")
    assert copy not in here("sessions").out
    assert "no longer shared" in here("sessions", "--unshare", row["id"]).err
    as_("bob")
    assert row["id"] not in here("sessions").out and copy in here("sessions").out


def test_sharing_without_a_database_names_the_setting(served_here: Here) -> None:
    assert served_here("run", "-p", "Remember the heron.").code == 0
    session_id = json.loads(served_here("sessions", "--json").out)["id"]
    refused = served_here("sessions", "--share", session_id)
    assert refused.code == 1 and refused.err == f"co-tui: {NOT_SHARED}\n"


def test_what_another_machine_left_open_is_continued_with_take_over(served_here: Here) -> None:
    here, server = served_here, postgres_server()
    here.environ["CO_TUI_DATABASE"] = url = server.new_database()
    assert here("run", "-p", "Remember the heron.").code == 0
    session_id = json.loads(here("sessions", "--json").out)["id"]
    server.execute(
        "INSERT INTO co_tui.leases(session_id, number, writer, host, machine, process, expires) VALUES"
        f"('{session_id}', 0, 'w', 'blue-laptop', 'x.y', 1, now() - interval '5 minutes')",
        url.partition("?")[0].rpartition("/")[2],
    )
    refused = here("run", "--continue", "-p", "More.")
    assert refused.code == 1 and "was being written on blue-laptop until " in refused.err
    assert "add --take-over to `co-tui run`" in refused.err
    assert here("run", "--continue", "--take-over", "-p", "More.").code == 0
    assert here("run", "--continue", "-p", "And more.").code == 0


def test_a_session_of_another_machine_continues_in_the_checkout_of_its_repository(
    served_here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, checkouts = served_here, [tmp_path / name / "shop" for name in ("first", "second")]
    for checkout, url in zip(checkouts, ("git@example.com:me/shop.git", "https://me@example.com/me/shop"), strict=True):
        (checkout / ".git").mkdir(parents=True)
        (checkout / "api").mkdir()
        (checkout / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (checkout / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')
    monkeypatch.chdir(checkouts[0] / "api")
    assert here("run", "-p", "Remember the heron.").code == 0
    session = json.loads(here("sessions", "--json").out)
    assert session["repository_id"] == "example.com/me/shop"
    monkeypatch.chdir(tmp_path)
    assert here("run", "-p", "Something else.").code == 0
    monkeypatch.chdir(checkouts[1] / "api")
    checkouts[0].rename(tmp_path / "moved")
    resumed = here("run", "--continue", "-p", "And the egret.")
    assert resumed.code == 0 and "worked in" not in resumed.err
    listed = {each["id"]: each for each in map(json.loads, here("sessions", "--json").out.splitlines())}
    assert listed[session["id"]]["cwd"] == str(checkouts[1] / "api")
