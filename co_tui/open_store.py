"""Open the store. Only here is known whether a server carries its sessions elsewhere."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from co_tui.paths import Paths, locate
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.store_errors import StoreError

if TYPE_CHECKING:
    from co_tui.store.port import Store
    from co_tui.store.sync.server.redaction import Hiding
    from co_tui.store.sync.server.server import Server
    from co_tui.store.sync.server.server_sync import ServerSync

PASSWORD_VARIABLE = "PGPASSWORD"
"""As every program that talks to PostgreSQL knows it."""


def open_store(
    paths: Paths,
    database: str,
    environ: Mapping[str, str],
    *,
    private: bool = False,
    report: Callable[[str], None] | None = None,
) -> "Store":
    """The sessions of this machine, which are synced with the server that setting `database` names, if any. A private
    store never writes to the disk.

    `report` gets sentences about a long migration, a database that another program writes to, and a server that is
    away or back.
    """
    if private:
        from co_tui.store.sqlite.in_memory import InMemoryStore

        return InMemoryStore()
    store = SqliteStore(paths, partial(_sync, paths, environ, database) if database else None)
    if report is not None:
        store.report_to(report)
        store.migrate(report)
    return store


@contextmanager
def opened_database(
    paths: Paths, database: str, environ: Mapping[str, str], report: Callable[[str], None]
) -> "Iterator[Store]":
    """All sessions of another server, in a folder that is removed at the end; without a server, those of this machine.

    Raises `StoreError` when the server cannot be used, also at the end, when something could not be pushed.
    """
    if not database:
        with open_store(paths, "", environ, report=report) as store:
            yield store
        return
    import tempfile

    with (
        tempfile.TemporaryDirectory(prefix="co-tui-") as folder,
        SqliteStore(locate({"CO_TUI_HOME": folder}), partial(_sync, paths, environ, database)) as store,
    ):
        store.sync.complete()
        yield store
        store.sync.complete()


def _sync(paths: Paths, environ: Mapping[str, str], database: str, store: SqliteStore) -> "ServerSync":
    from co_tui.store.sync.server.server_sync import ServerSync

    def server() -> "Server":
        from co_tui.store.sync.server.server import Server

        return Server(database, partial(_password, paths, environ, database), partial(_hiding, paths, environ))

    return ServerSync(store, paths, database, server)


def _password(paths: Paths, environ: Mapping[str, str], database: str) -> str:
    """From the environment, else as kept by `co-tui login postgresql`; empty without one. Slow with a keyring."""
    from co_tui.agent.keys.kept_keys import KeptKeys, KeyUnavailable
    from co_tui.agent.keys.key_servers import DATABASE, KeyOwner
    from co_tui.agent.redact import remember_secret

    if given := environ.get(PASSWORD_VARIABLE):
        return remember_secret(given)
    kept, owner = KeptKeys(paths), KeyOwner(DATABASE, database)
    try:
        return kept.read(owner) if kept.find(owner) is not None else ""
    except KeyUnavailable as why:
        raise StoreError(str(why)) from None


def _hiding(paths: Paths, environ: Mapping[str, str]) -> "Hiding":
    """Hides the keys of the environment, those kept here and in use, and what looks like one. Slow with a keyring."""
    import json

    from co_tui.agent.keys.kept_keys import KeptKeys
    from co_tui.agent.redact import keys_in, redact
    from co_tui.store.sync.server.redaction import Hiding

    KeptKeys(paths).hide_all()

    keys = keys_in(environ)
    # Inside of JSON, as in a call's arguments, a key may be written with escapes. `redact` adds what is typed later.
    secrets = {*keys, *(json.dumps(key)[1:-1] for key in keys)}

    def hide_data(data: bytes) -> bytes:
        try:
            return redact(data.decode(), secrets).encode()
        except UnicodeDecodeError:
            pass  # no text: what is hidden keeps its length, so that the rest is where it was
        for secret in keys_in({}) + keys:
            data = data.replace(secret.encode(), b"*" * len(secret.encode()))
        return data

    return Hiding(lambda text: redact(text, secrets), hide_data)
