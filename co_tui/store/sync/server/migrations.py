"""The schema, as numbered steps that are only ever appended to.

All that CockroachDB and YugabyteDB lack of it: the former ignores the advisory lock, so the first start there should
be of one co-tui alone; older releases of the latter have none, and refuse it.
"""

from typing import Any, Final

import psycopg
from psycopg import errors

from co_tui.inert import one_line
from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import SessionRow
from co_tui.store.sync.server.policies import admit_members, missing_policies, protect

SCHEMA: Final = "co_tui"
_LOCK: Final = 0x636F5F747569
"""Of the process that migrates."""

_DRAFTS: Final = """
CREATE TABLE IF NOT EXISTS drafts(
    session_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (session_id, number)
)
"""
_SESSIONS_AND_EVENTS: Final = """
CREATE TABLE sessions(
    id text COLLATE "C" PRIMARY KEY,
    title text NOT NULL DEFAULT '',
    created text COLLATE "C" NOT NULL,
    updated text COLLATE "C" NOT NULL,
    model text NOT NULL DEFAULT '',
    policy text NOT NULL DEFAULT '',
    cwd text COLLATE "C" NOT NULL DEFAULT '',
    repository text NOT NULL DEFAULT '',
    branch text NOT NULL DEFAULT '',
    last_seq bigint NOT NULL DEFAULT 0,
    turns bigint NOT NULL DEFAULT 0,
    messages bigint NOT NULL DEFAULT 0,
    compactions bigint NOT NULL DEFAULT 0,
    tokens bigint,
    token_limit bigint,
    cost double precision NOT NULL DEFAULT 0,
    usage text,
    pinned boolean NOT NULL DEFAULT false,
    trashed text COLLATE "C" NOT NULL DEFAULT '',
    summary_cost double precision NOT NULL DEFAULT 0,
    came_in text COLLATE "C" NOT NULL DEFAULT '',
    filter_text text NOT NULL DEFAULT '',
    last_text bigint NOT NULL DEFAULT 0
);
CREATE INDEX sessions_newest ON sessions(updated) WHERE trashed = '';
CREATE INDEX sessions_of_folder ON sessions(cwd, updated) WHERE trashed = '';
CREATE INDEX sessions_in_trash ON sessions(trashed) WHERE trashed <> '';
CREATE INDEX sessions_pinned ON sessions(updated) WHERE pinned;
CREATE TABLE events(
    session_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    timestamp text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    payload text NOT NULL,
    cost double precision,
    PRIMARY KEY (session_id, seq)
);
CREATE INDEX events_with_cost ON events(timestamp) WHERE cost IS NOT NULL;
CREATE TABLE message_texts(
    session_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    part bigint NOT NULL,
    id bigint NOT NULL,
    role text NOT NULL,
    tool text NOT NULL,
    text text NOT NULL,
    grams integer[] NOT NULL,
    PRIMARY KEY (session_id, seq, part)
);
CREATE INDEX message_texts_newest ON message_texts(id);
CREATE INDEX message_texts_prompts ON message_texts(id) WHERE role = 'user';
CREATE INDEX message_texts_grams ON message_texts USING gin(grams)
"""
_ONE_WRITER: Final = """
CREATE TABLE writers(
    id text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL DEFAULT 0,
    seen timestamptz NOT NULL DEFAULT now()
);
CREATE SEQUENCE lease_numbers;
CREATE TABLE leases(
    session_id text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL,
    writer text NOT NULL,
    host text NOT NULL,
    machine text NOT NULL,
    process bigint NOT NULL,
    expires timestamptz NOT NULL
)
"""
_FILES: Final = """
CREATE SEQUENCE IF NOT EXISTS file_versions;
CREATE TABLE IF NOT EXISTS files(
    owner text COLLATE "C" NOT NULL DEFAULT current_user,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL DEFAULT nextval('file_versions'),
    body text,
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, name)
)
"""
"""A file that was removed has no body. Versions are never given out twice."""

_OWNERS: Final = """
ALTER TABLE sessions ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT current_user::text;
ALTER TABLE sessions ADD COLUMN shared boolean NOT NULL DEFAULT false;
ALTER TABLE sessions ADD COLUMN repository_id text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX sessions_of_owner ON sessions(owner, updated) WHERE trashed = '';
CREATE INDEX sessions_shared ON sessions(updated) WHERE shared AND trashed = '';
CREATE INDEX sessions_of_repository ON sessions(owner, repository_id, cwd) WHERE repository_id <> '';
DROP INDEX sessions_newest
"""
"""What was there before belongs to the user who takes this step."""

_LEASES: Final = """
CREATE SEQUENCE IF NOT EXISTS lease_numbers;
CREATE TABLE IF NOT EXISTS leases(
    owner text COLLATE "C" NOT NULL DEFAULT current_user,
    session_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT nextval('lease_numbers'),
    writer text NOT NULL,
    host text NOT NULL,
    machine text NOT NULL,
    process bigint NOT NULL,
    expires timestamptz NOT NULL,
    PRIMARY KEY (owner, session_id)
)
"""
"""Each user has leases of their own, and can hold no session of another."""

_DELETIONS: Final = """
CREATE TABLE IF NOT EXISTS deletions(
    owner text COLLATE "C" NOT NULL DEFAULT current_user,
    session_id text COLLATE "C" NOT NULL,
    at text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    deleted boolean NOT NULL,
    said text NOT NULL DEFAULT '',
    PRIMARY KEY (owner, session_id)
)
"""
_LOCAL_FIRST: Final = f"""
DROP TABLE IF EXISTS leases;
{_LEASES};
{_DELETIONS};
INSERT INTO deletions(owner, session_id, at, seq, deleted)
    SELECT f.owner, substr(f.name, 9), to_char(f.updated AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        {1 << 62}, true
    FROM files f WHERE f.name > 'deleted/' AND f.name < 'deleted0'
        AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = substr(f.name, 9) AND s.owner = f.owner);
DELETE FROM files WHERE name >= 'deleted/' AND name < 'deleted0';
DROP TABLE IF EXISTS message_texts;
DROP TABLE IF EXISTS writers;
DROP INDEX IF EXISTS sessions_of_folder;
DROP INDEX IF EXISTS sessions_in_trash;
DROP INDEX IF EXISTS sessions_pinned;
DROP INDEX IF EXISTS sessions_of_repository;
DROP INDEX IF EXISTS events_with_cost;
ALTER TABLE sessions DROP COLUMN IF EXISTS filter_text;
ALTER TABLE sessions DROP COLUMN IF EXISTS last_text
"""
"""Lists and searches are read from the copy of each machine. A session that was deleted had no later words."""

STEPS: Final = (
    ("001_sessions_and_events", f"{_SESSIONS_AND_EVENTS};{_DRAFTS}"),
    ("002_one_writer_a_session", _ONE_WRITER),
    ("003_files", _FILES),
    ("004_owners", _OWNERS),
    ("005_local_first", _LOCAL_FIRST),
)
_REPAIRED: Final = {"drafts": _DRAFTS, "files": _FILES, "leases": _LEASES, "deletions": _DELETIONS}
"""Tables that can be made again: what was in them is not needed, or is pushed again."""
_NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "sessions": SessionRow._fields,
    "events": ("session_id", "seq", "type", "timestamp", "version", "payload"),
    "drafts": ("session_id", "number", "body"),
    "files": ("owner", "name", "version", "body", "updated"),
    "leases": ("owner", "session_id", "number", "writer", "host", "machine", "process", "expires"),
    "deletions": ("owner", "session_id", "at", "seq", "deleted", "said"),
}
"""The columns that are used, by their table."""
_COLUMNS: Final = (
    "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = current_schema() AND a.attnum > 0 AND NOT a.attisdropped"
)
_PATIENT: Final = "SET LOCAL lock_timeout TO '30s'; SET LOCAL statement_timeout TO 0"
"""While tables are changed: others may be at it, or have much to finish."""


def migrate(connection: psycopg.Connection[Any], location: str) -> None:
    """Bring the database to the present schema, and repair it; one process at a time does it, the others wait.

    Raises `StoreError` for a database of a newer co-tui, one that another user has to upgrade, or a damaged one.
    """
    if not _is_current(connection, location):
        _upgrade(connection, location)
    _check(connection, location)


def _upgrade(connection: psycopg.Connection[Any], location: str) -> None:
    try:
        with connection.transaction():
            connection.execute(_PATIENT.encode())
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            _take_steps(connection)
    except errors.InsufficientPrivilege:
        if connection.execute("SELECT has_table_privilege(to_regclass('schema_steps'), 'SELECT')").fetchone() != (
            True,
        ):
            raise
        raise StoreError(
            f"Database {location} is from an older co-tui. The user who owns its tables upgrades it: `co-tui doctor`."
        ) from None
    except (errors.DuplicateTable, errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedObject) as error:
        raise _damaged(location, error.diag.message_primary or "its tables are not those of its version") from None


def _take_steps(connection: psycopg.Connection[Any]) -> None:
    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (SCHEMA,)).fetchone() is None:
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_steps(number bigint PRIMARY KEY, name text NOT NULL,"
        " applied timestamptz NOT NULL DEFAULT now())"
    )
    applied = _applied(connection)
    connection.execute("DELETE FROM schema_steps WHERE number > %s", (applied,))  # no step is left out: these are none
    for number, (name, statements) in list(enumerate(STEPS, 1))[applied:]:
        connection.execute(statements.encode())
        connection.execute("INSERT INTO schema_steps(number, name) VALUES(%s, %s)", (number, name))
    protect(connection)
    admit_members(connection, tuple(_REPAIRED))


def _check(connection: psycopg.Connection[Any], location: str) -> None:
    """Make tables and policies that are missing; name what cannot be made."""
    missing = _missing_columns(connection)
    for table, columns in missing.items():
        if columns != list(_NEEDED[table]):
            raise _damaged(location, f"table {table} has no column {columns[0]}")
        if table not in _REPAIRED:
            raise _damaged(location, f"table {table} is missing")
    unprotected = missing_policies(connection)
    if not missing and not unprotected:
        return
    try:
        with connection.transaction():
            connection.execute(_PATIENT.encode())
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            for table in missing:
                connection.execute(_REPAIRED[table].encode())
            protect(connection)
            admit_members(connection, tuple(missing))
    except errors.InsufficientPrivilege:
        table = next(iter(missing), unprotected[0].table)
        what = "is missing" if missing else "is not protected from other users"
        raise StoreError(
            f"Database {location} is damaged: table {table} {what}. The user who owns its tables repairs it: "
            "`co-tui doctor`."
        ) from None


def _missing_columns(connection: psycopg.Connection[Any]) -> dict[str, list[str]]:
    found = {tuple(row) for row in connection.execute(_COLUMNS).fetchall()}
    missing = {table: [each for each in names if (table, each) not in found] for table, names in _NEEDED.items()}
    return {table: columns for table, columns in missing.items() if columns}


def _damaged(location: str, what: str) -> StoreError:
    return StoreError(
        f"Database {location} is damaged: {one_line(what, 200)}. Restore it from a backup, or drop schema {SCHEMA} "
        "there: each machine then pushes its sessions again."
    )


def _version(connection: psycopg.Connection[Any]) -> int:
    """0 where nothing is, or may be seen."""
    try:
        return _applied(connection)
    except (errors.UndefinedTable, errors.InsufficientPrivilege):
        return 0


def _is_current(connection: psycopg.Connection[Any], location: str) -> bool:
    version = _version(connection)
    if version > len(STEPS):
        raise StoreError(
            f"Database {location} is from a newer co-tui (schema {version}, this one knows {len(STEPS)}). "
            "Upgrade co-tui, or change setting database."
        )
    return version == len(STEPS)


def _applied(connection: psycopg.Connection[Any]) -> int:
    """The last step up to which none is missing: a number that somebody made up is not a version."""
    rows = connection.execute("SELECT number FROM schema_steps WHERE number > 0 ORDER BY number LIMIT 1000").fetchall()
    return sum(1 for place, (number,) in enumerate(rows, 1) if number == place)
