"""Whose sessions these are: a session belongs to the user of the database who began it.

Every query here asks for that itself. Where the server has row-level security, it also holds for users who do not own
the tables, whatever program they use.
"""

from typing import Any, Final

import psycopg

from co_tui.store.store_errors import SessionNotFound

OWN: Final = "s.owner = current_user::text"
"""The condition for a session of this user, in a query that calls it `s`."""
VISIBLE: Final = f"({OWN} OR (s.shared AND s.trashed = ''))"
"""One that this user may read."""
_READABLE: Final = f"SELECT 1 FROM sessions s WHERE s.id = %s AND {VISIBLE}"
_SHARE: Final = f"UPDATE sessions s SET shared = %s WHERE s.id = %s AND {OWN} RETURNING s.id"
_TABLES: Final = (
    "SELECT c.table_name FROM information_schema.columns c WHERE c.table_schema = current_schema()"
    " AND c.column_name = 'session_id' AND c.table_name <> 'leases'"
    " AND NOT EXISTS (SELECT 1 FROM pg_policies p WHERE p.schemaname = c.table_schema AND p.tablename = c.table_name)"
    " ORDER BY 1"
)
"""Those with what belongs to a session, as yet unprotected. Leases are there before their session is."""
_PROTECTED: Final = "SELECT 1 FROM pg_policies WHERE schemaname = current_schema() AND tablename = 'sessions' LIMIT 1"
_OF_SESSIONS: Final = """
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON sessions FOR SELECT USING (owner = current_user::text OR (shared AND trashed = ''));
CREATE POLICY own ON sessions USING (owner = current_user::text) WITH CHECK (owner = current_user::text)
"""
_OF_A_SESSION: Final = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON {table} FOR SELECT USING (EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id));
CREATE POLICY own ON {table}
    USING (EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id AND s.owner = current_user::text))
    WITH CHECK (EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id AND s.owner = current_user::text))
"""


def check_readable(connection: psycopg.Connection[Any], session_id: str) -> None:
    """Raises `SessionNotFound` for a session that this user may not read."""
    if connection.execute(_READABLE, (session_id,)).fetchone() is None:
        raise SessionNotFound(f"No session {session_id}.")


def share(connection: psycopg.Connection[Any], session_id: str, shared: bool) -> None:
    """Let the other users read a session, or no longer. Raises `SessionNotFound` unless it is this user's."""
    if connection.execute(_SHARE, (shared, session_id)).fetchone() is None:
        raise SessionNotFound(f"No session {session_id} of yours.")


def protect(connection: psycopg.Connection[Any]) -> None:
    """Have the server itself refuse others' sessions, for users who do not own the tables.

    Not on CockroachDB, of which only the latest releases have policies.
    """
    version = connection.execute("SELECT version()").fetchone()
    if version is None or "CockroachDB" in str(version[0]):
        return
    if connection.execute(_PROTECTED).fetchone() is None:
        connection.execute(_OF_SESSIONS.encode())
    for (table,) in connection.execute(_TABLES).fetchall():
        connection.execute(_OF_A_SESSION.format(table=table).encode())
