"""The SQL of the files. Each database user has files of its own: another's approvals allow nothing here."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from co_tui.store.sync.server.server import Connection

_VERSIONS: Final = (
    "SELECT files.name, files.version FROM files,"
    " unnest(%s::text[], %s::text[]) AS wanted(first, after)"
    " WHERE files.owner = current_user AND files.name >= wanted.first AND files.name < wanted.after"
)
_BODIES: Final = "SELECT name, version, coalesce(body, '') FROM files WHERE owner = current_user AND name = ANY(%s)"
_CREATE: Final = (
    "INSERT INTO files(name, body) SELECT given.name, given.body"
    " FROM unnest(%s::text[], %s::text[]) AS given(name, body)"
    " ON CONFLICT (owner, name) DO NOTHING RETURNING name, version"
)
_REPLACE: Final = (
    "UPDATE files SET body = given.body, version = nextval('file_versions'), updated = now()"
    " FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS given(name, body, version)"
    " WHERE files.owner = current_user AND files.name = given.name AND files.version = given.version"
    " RETURNING files.name, files.version"
)
_REFUSED: Final = (
    "SELECT session_id FROM deletions WHERE owner = current_user AND deleted AND session_id = ANY(%s)"
    " UNION SELECT session_id FROM leases WHERE owner = current_user AND session_id = ANY(%s) AND writer <> %s"
    " AND expires > now()"
)
_DELETE: Final = "DELETE FROM files WHERE owner = current_user AND ((name >= %s AND name < %s) OR name = %s)"


class StoredFile(NamedTuple):
    """A file in the database."""

    version: int
    body: str
    """Empty if it was removed."""


class NewBody(NamedTuple):
    """What a file shall say, if its version is still this one; 0 for one that is not there yet."""

    name: str
    body: str
    version: int


def versions(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """The versions of files, and of all in folders, whose names end with a slash."""
    first = list(names)
    after = [name[:-1] + "0" if name.endswith("/") else f"{name}\x01" for name in first]
    return dict(connection.execute(_VERSIONS, (first, after)).fetchall())


def bodies(connection: Connection, names: Sequence[str]) -> dict[str, StoredFile]:
    if not names:
        return {}
    rows = connection.execute(_BODIES, (list(names),)).fetchall()
    return {name: StoredFile(version, body) for name, version, body in rows}


def refused_sessions(connection: Connection, session_ids: Iterable[str], writer: str) -> set[str]:
    """Those whose files this writer may not change: they are deleted, or another has their lease."""
    ids = list(session_ids)
    rows = connection.execute(_REFUSED, (ids, ids, writer)).fetchall() if ids else []
    return {session_id for (session_id,) in rows}


def write(connection: Connection, new: Sequence[NewBody]) -> dict[str, int]:
    """Write bodies; returns the new versions. Those that were changed since then are left out."""
    created = [each for each in new if not each.version]
    replaced = [each for each in new if each.version]
    written: dict[str, int] = {}
    for query, given in ((_CREATE, created), (_REPLACE, replaced)):
        if given:
            columns: list[list[object]] = [[each.name for each in given], [each.body or None for each in given]]
            columns += [[each.version for each in given]] if query is _REPLACE else []
            written |= dict(connection.execute(query, columns).fetchall())
    return written


def delete(connection: Connection, session_id: str) -> None:
    """Remove the files of a session, and its unsent prompt."""
    first = f"sessions/{session_id}/"
    connection.execute(_DELETE, (first, first[:-1] + "0", f"drafts/{session_id}"))
