"""The server a store is on: its address, how it is reached, and its name for people."""

import platform
import ssl
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict

from co_tui.store.store_errors import StoreError
from co_tui.store.sync.server.redaction import NO_SECRETS, Hiding, LazyRedaction
from co_tui.store.sync.server.server_failures import explained

Connection: TypeAlias = psycopg.Connection[Any]
OLDEST_SERVER: Final = 110_000
"""As `server_version` counts; CockroachDB says 13, older releases of YugabyteDB 11."""
CONNECT_S: Final = 10
ANSWER_S: Final = 65.0
"""A server that sends nothing for so long is away: it ends each statement sooner."""
PROGRAM: Final = "co-tui"
VERIFIED: Final = "verify-full"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_OWN_ROOTS: Final = Path("~/.postgresql/root.crt")
"""Where libpq looks for certificates by itself."""
_KEEPALIVE: Final = {
    # A connection that died without a word is noticed within half a minute.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
_SETTINGS: Final = {
    "search_path": "co_tui",
    "client_min_messages": "warning",
    # A connection that the network lost in the middle of a transaction lets go of what it holds.
    "idle_in_transaction_session_timeout": "10s",
    # Any user of the tables may lock them: a statement then fails, and is tried again later.
    "lock_timeout": "5s",
    "statement_timeout": "60s",
}


class Server:
    """A database on a server, from a URL without a password. Its `repr` and its errors never show the password."""

    def __init__(
        self, url: str, password: Callable[[], str] = str, hiding: Callable[[], Hiding] = lambda: NO_SECRETS
    ) -> None:
        """`password` is asked before each connection; empty for none. Raises `StoreError` for an unusable URL.

        `hiding` is asked once, before something is first stored, and hides secrets in all that is stored.
        """
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:  # its text may repeat parts of the URL
            raise StoreError("Setting database is not a valid URL. Use postgresql://USER@HOST:PORT/DATABASE.") from None
        if given.pop("password", None):
            raise StoreError(
                "Setting database must not contain a password. Set PGPASSWORD, or run `co-tui login postgresql`."
            )
        self.parameters: dict[str, Any] = {**_KEEPALIVE, "connect_timeout": CONNECT_S, **given, **_verification(given)}
        """As libpq takes them, without the password."""
        self._password = password
        self.redaction = LazyRedaction(hiding)
        """Of what is written there."""
        self.location = _location(given)
        self.host = platform.node()
        """Of this machine."""

    def __repr__(self) -> str:
        return f"Server({self.location!r})"

    def connect(self) -> Connection:
        """A new connection, in which each statement is a transaction unless it says otherwise. Raises `StoreError`."""
        password = self._password()
        secret: dict[str, Any] = {"password": password} if password else {}
        try:
            connection = _Impatient.connect(**self.parameters, **secret, autocommit=True, application_name=PROGRAM)
        except psycopg.Error as error:
            raise explained(error, self.location) from None  # the cause holds what was passed
        try:
            check_version(connection.info.server_version, self.location)
            connection.execute("; ".join(f"SET {name} TO '{value}'" for name, value in _SETTINGS.items()).encode())
        except BaseException as error:
            connection.close()
            if isinstance(error, psycopg.Error):
                raise explained(error, self.location) from None
            raise
        self.redaction.apply_to(connection)
        return connection


class _Impatient(psycopg.Connection[Any]):
    """Closes itself when the server hangs, also where its machine still confirms what it is sent."""

    def wait(self, gen: Generator[Any, Any, Any], *how: Any, **more: Any) -> Any:
        return super().wait(self._answered(gen), *how, **more)

    def _answered(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        heard = time.monotonic()
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if ready:
                    heard = time.monotonic()
                elif time.monotonic() - heard > ANSWER_S:
                    self.pgconn.finish()
                    raise psycopg.OperationalError("timeout expired")
                wanted = steps.send(ready)
        except StopIteration as done:
            return done.value


def check_version(version: int, location: str) -> None:
    """Raises `StoreError` for a server that is too old."""
    if version < OLDEST_SERVER:
        major, minor = divmod(version // 100, 100)
        raise StoreError(
            f"Database {location} runs PostgreSQL {major}.{minor}, which is too old. "
            f"Use {OLDEST_SERVER // 10_000} or newer."
        )


def _verification(given: dict[str, Any]) -> dict[str, Any]:
    """The server's certificate is checked, unless the URL decides otherwise or the server is on this machine.

    libpq ignores this on a socket of the file system.
    """
    hosts = str(given.get("host") or "").split(",")
    if "sslmode" in given or (not given.get("hostaddr") and all(host in _LOOPBACK for host in hosts)):
        return {}
    if "sslrootcert" in given or _OWN_ROOTS.expanduser().exists():
        return {"sslmode": VERIFIED}
    return {"sslmode": VERIFIED, "sslrootcert": ssl.get_default_verify_paths().cafile or "system"}


def _location(given: dict[str, Any]) -> str:
    user, host, port = (str(given.get(key) or "") for key in ("user", "host", "port"))
    at = f"{user}@" if user else ""
    return f"postgresql://{at}{host}{f':{port}' if port else ''}/{given.get('dbname') or ''}"
