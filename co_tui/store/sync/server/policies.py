"""Whose rows these are: each belongs to the database user who wrote it, and others read sessions that are shared.

Every query here asks for that itself. Where the server has row-level security, it also holds for users who do not own
the tables, whatever program they use.
"""

from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql

OWN: Final = "s.owner = current_user::text"
"""The condition for a session of this user, in a query that calls it `s`."""
VISIBLE: Final = f"({OWN} OR (s.shared AND s.trashed = ''))"
"""One that this user may read."""
_OWN_ROWS: Final = "USING (owner = current_user::text) WITH CHECK (owner = current_user::text)"
_OF_OWN_SESSIONS: Final = "EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id AND s.owner = current_user::text)"
_OF_READABLE_SESSIONS: Final = "EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id)"


class Policy(NamedTuple):
    """What the server lets users do who do not own the tables."""

    table: str
    name: str
    rule: str


POLICIES: Final = (
    Policy("sessions", "readable", "FOR SELECT USING (owner = current_user::text OR (shared AND trashed = ''))"),
    Policy("sessions", "own", _OWN_ROWS),
    *(
        policy
        for table in ("events", "drafts")
        for policy in (
            Policy(table, "readable", f"FOR SELECT USING ({_OF_READABLE_SESSIONS})"),
            Policy(table, "own", f"USING ({_OF_OWN_SESSIONS}) WITH CHECK ({_OF_OWN_SESSIONS})"),
        )
    ),
    Policy("files", "own_files", _OWN_ROWS),
    Policy("leases", "own", _OWN_ROWS),
    Policy("deletions", "own", _OWN_ROWS),
    Policy("schema_steps", "readable", "FOR SELECT USING (true)"),
)
_FOUND: Final = (
    "SELECT p.tablename, p.policyname FROM pg_policies p"
    " JOIN pg_namespace n ON n.nspname = p.schemaname"
    " JOIN pg_class c ON c.relname = p.tablename AND c.relnamespace = n.oid"
    " WHERE p.schemaname = current_schema() AND c.relrowsecurity"
)
_MEMBERS: Final = (
    "SELECT DISTINCT grantee FROM information_schema.table_privileges WHERE table_schema = current_schema()"
    " AND table_name = 'sessions' AND privilege_type = 'INSERT' AND grantee <> current_user"
)


def missing_policies(connection: psycopg.Connection[Any]) -> list[Policy]:
    """Those that the server lacks or does not enforce; none on CockroachDB, of which only the latest releases have
    policies."""
    if connection.info.parameter_status("crdb_version") is not None:
        return []
    found = {tuple(row) for row in connection.execute(_FOUND).fetchall()}
    return [policy for policy in POLICIES if (policy.table, policy.name) not in found]


def protect(connection: psycopg.Connection[Any]) -> None:
    """Have the server itself refuse others' rows. For the owner of the tables."""
    for table, name, rule in missing_policies(connection):
        connection.execute(
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; DROP POLICY IF EXISTS {name} ON {table};"
            f" CREATE POLICY {name} ON {table} {rule}".encode()
        )


def admit_members(connection: psycopg.Connection[Any], tables: tuple[str, ...]) -> None:
    """Let those who may write sessions use new tables, too."""
    for (member,) in connection.execute(_MEMBERS).fetchall():
        grantee = sql.SQL("PUBLIC") if member == "PUBLIC" else sql.Identifier(member)
        for table in tables:
            rights = sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}")
            connection.execute(rights.format(sql.Identifier(table), grantee))
