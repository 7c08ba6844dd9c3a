"""Setting `database`: the commands on a PostgreSQL server, from the user's own settings alone."""

from pathlib import Path

import pytest

from tests.support.cut_connections import cut_connections
from tests.support.here import Here
from tests.support.postgres import ASKED, postgres_server

PASSWORD = "a password of some length"


def test_a_turn_is_kept_on_the_server_and_resumed_from_another_home(served_here: Here, tmp_path: Path) -> None:
    here = served_here
    here.environ["CO_TUI_DATABASE"] = postgres_server().new_database()
    assert here("run", "-p", "Remember the heron.").code == 0
    assert not list(here.home.rglob("*.db")), "nothing is in SQLite"
    here.environ["CO_TUI_HOME"] = str(tmp_path / "another home")
    assert "Remember the heron" in here("sessions").out
    assert here("run", "--continue", "-p", "And the egret.").code == 0
    shown = here("sessions", "--search", "egret").out
    assert "Remember the heron" in shown
    assert postgres_server().socket.rpartition("/")[0] in here("doctor").out


def test_a_server_that_is_away_is_one_sentence(here: Here) -> None:
    here.environ["CO_TUI_DATABASE"] = "postgresql://me@localhost:1/db"
    result = here("sessions")
    assert result.code == 1 and result.out == ""
    assert result.err == (
        "co-tui: Database postgresql://me@localhost:1/db cannot be reached: connection refused. Try again later.\n"
    )


def test_a_turn_while_the_server_is_away_is_kept_here_and_handed_over_by_the_next(served_here: Here) -> None:
    server = postgres_server()
    name = server.new_database().split("?")[0].rpartition("/")[2]
    with cut_connections(server.socket) as way:
        served_here.environ["CO_TUI_DATABASE"] = way.url(name)
        way.take_down()
        away = served_here("run", "-p", "Remember the heron.")
        assert away.code == 0
        assert away.err.count("What is said meanwhile is kept on this machine and handed over later.") == 1
        refused = served_here("run", "--resume", "20260101-000000-abcdef", "-p", "hello")
        assert refused.code == 1 and "cannot be reached" in refused.err.splitlines()[-1]
        way.bring_back()
        back = served_here("run", "-p", "And the egret.")
        assert back.code == 0 and back.err.count(f"Database {way.url(name)} has what was kept here.") == 1
        listed = served_here("sessions").out
        assert "Remember the heron" in listed and "And the egret" in listed


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
    assert (
        refused.code == 1 and "refused the password. Set PGPASSWORD, or run `co-tui login postgresql`." in refused.err
    )
    kept = here("login", "postgresql", stdin=PASSWORD + "\n")
    assert kept.code == 0 and PASSWORD not in kept.out + kept.err
    assert here("sessions").code == 0
    assert here("login", "postgresql", "--remove").code == 0
    here.environ["PGPASSWORD"] = PASSWORD
    assert here("sessions").code == 0
