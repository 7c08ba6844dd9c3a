"""The schema, as numbered steps that are only ever appended to.

All that CockroachDB and YugabyteDB lack of it: the former ignores the advisory lock, so the first start there should
be of one co-tui alone; older releases of the latter have none, and refuse it.
"""

import contextlib
from typing import Any, Final

import psycopg
from psycopg import errors

from co_tui.store.sync.server.policies import protect
from co_tui.store.store_errors import StoreError

SCHEMA: Final = "co_tui"
_LOCK: Final = 0x636F5F747569
"""Of the process that migrates."""

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
CREATE TABLE drafts(
    session_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (session_id, number)
);
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
CREATE SEQUENCE file_versions;
CREATE TABLE files(
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

STEPS: Final = (
    ("001_sessions_and_events", _SESSIONS_AND_EVENTS),
    ("002_one_writer_a_session", _ONE_WRITER),
    ("003_files", _FILES),
    ("004_owners", _OWNERS),
)
WHERE_SUPPORTED: Final = {
    "003_files": "ALTER TABLE files ENABLE ROW LEVEL SECURITY; CREATE POLICY own_files ON files"
    " USING (owner = current_user) WITH CHECK (owner = current_user)"
}
"""After a step, where the server can: no user writes approvals in another's name. Older CockroachDB cannot."""


def migrate(connection: psycopg.Connection[Any], location: str) -> None:
    """Bring the database to the present schema; one process at a time does it, the others wait.

    Raises `StoreError` for a database of a newer co-tui, or one that another user has to upgrade.
    """
    if _is_current(connection, location):
        return
    try:
        _upgrade(connection)
    except errors.InsufficientPrivilege:
        if _version(connection) == 0:
            raise
        raise StoreError(
            f"Database {location} is from an older co-tui. The user who owns its tables upgrades it: `co-tui doctor`."
        ) from None


def _upgrade(connection: psycopg.Connection[Any]) -> None:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (SCHEMA,)).fetchone() is None:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_steps(number bigint PRIMARY KEY, name text NOT NULL,"
            " applied timestamptz NOT NULL DEFAULT now())"
        )
        applied = _applied(connection)
        for number, (name, statements) in list(enumerate(STEPS, 1))[applied:]:
            connection.execute(statements.encode())
            if more := WHERE_SUPPORTED.get(name):
                with contextlib.suppress(errors.FeatureNotSupported, errors.SyntaxError), connection.transaction():
                    connection.execute(more.encode())
            connection.execute("INSERT INTO schema_steps(number, name) VALUES(%s, %s)", (number, name))
        protect(connection)


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
    row = connection.execute("SELECT coalesce(max(number), 0) FROM schema_steps").fetchone()
    return int(row[0]) if row else 0
