"""Open the store. Only here is known which engine keeps the sessions."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from co_tui.paths import Paths
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.store_errors import StoreError

if TYPE_CHECKING:
    from co_tui.store.port import Store

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
    """The store that setting `database` names, SQLite when it is empty; a private one never writes to the disk.

    `report` gets sentences about a long migration, and about a server that is away or back.
    """
    if private:
        from co_tui.store.sqlite.in_memory import InMemoryStore

        return InMemoryStore()
    if database:
        from co_tui.store.postgres.store import PostgresStore

        return PostgresStore(paths, database, partial(_password, paths, environ, database), report)
    store = SqliteStore(paths)
    if report is not None:
        store.migrate(report)
    return store


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
