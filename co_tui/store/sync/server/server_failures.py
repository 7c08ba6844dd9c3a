"""What PostgreSQL and the network report, as sentences."""

from typing import Any, Final

import psycopg
from psycopg import errors

from co_tui.inert import one_line
from co_tui.store.store_errors import StoreError

SHOWN_CHARS: Final = 200
_GOING_DOWN: Final = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)
_PASSWORD: Final = ("password authentication failed", "no password supplied", "authentication failed")
_CUT: Final = ("server closed the connection", "ssl connection has been closed", "ssl syscall error")
_UNVERIFIED: Final = ("certificate", "ssl", "tls")


class DatabaseUnreachable(StoreError):
    """The server does not answer, for now."""


def is_lost(error: Exception, connection: "psycopg.Connection[Any] | None") -> bool:
    """Whether the connection is gone; what was sent last may have been done or not."""
    if isinstance(error, DatabaseUnreachable) or (connection is not None and connection.closed):
        return True
    return isinstance(error, _GOING_DOWN)


def explained(error: psycopg.Error, location: str) -> StoreError:
    """The sentence for what the server or the network reported."""
    text = one_line(" ".join(str(error).split()), SHOWN_CHARS).removesuffix(".")
    lowered = text.lower()
    if (known := _of_the_tables(error, location, text)) is not None:
        return known
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) or _is_of_a_statement(error):
        return StoreError(f"Database {location} failed: {text}.")
    if any(each in lowered for each in _PASSWORD):
        return StoreError(
            f"Database {location} refused the password. Set PGPASSWORD, or run `co-tui login postgresql`."
        )
    if "database" in lowered and "does not exist" in lowered:
        return StoreError(f"Database {location} does not exist. Create it there, or change setting database.")
    if any(each in lowered for each in _UNVERIFIED) and not any(each in lowered for each in _CUT):
        return StoreError(
            f"Database {location} could not be verified: {text}. Name its certificate authority with "
            "sslrootcert in setting database, or its sslmode."
        )
    return DatabaseUnreachable(f"Database {location} cannot be reached: {_reason(text)}. Try again later.")


def _of_the_tables(error: psycopg.Error, location: str, text: str) -> StoreError | None:
    """What a server reports that can be reached and cannot be used."""
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(
            f"Database {location} refuses: {text}. Its user needs schema co_tui, or the right to create it."
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreError(f"Database {location} is read-only: sessions can be viewed, not continued.")
    if isinstance(error, errors.LockNotAvailable):
        return DatabaseUnreachable(
            f"Database {location} is locked by another of its users. Try again later; its administrator finds them in "
            "pg_locks."
        )
    if isinstance(error, errors.QueryCanceled):
        return DatabaseUnreachable(f"Database {location} does not answer in time. Try again later.")
    if isinstance(error, errors.UndefinedTable | errors.UndefinedColumn):
        return StoreError(
            f"Database {location} is damaged: {text}. The user who owns its tables repairs it: `co-tui doctor`."
        )
    if isinstance(error, errors.DiskFull):
        return StoreError(f"The disk of database {location} is full. Nothing is saved until there is space.")
    return None


def _is_of_a_statement(error: psycopg.Error) -> bool:
    """Whether the server answered, and is still there, as when a statement was cancelled."""
    return bool(error.sqlstate) and not isinstance(error, _GOING_DOWN) and not str(error.sqlstate).startswith("08")


def _reason(text: str) -> str:
    """Without what libpq repeats about host and port."""
    for known in ("Connection refused", "timeout expired", "Connection timed out", "server closed the connection"):
        if known.lower() in text.lower():
            return known[0].lower() + known[1:]
    return text
