"""The first page of the session list as a server last sent it, in a file: shown until the server answers."""

import contextlib
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.paths import read_small_text, write_atomically
from co_tui.store.stored_values import SessionRow
from co_tui.store.timestamps import now

LIMIT_BYTES: Final = 4_000_000
_KINDS: Final[dict[object, tuple[type, ...]]] = {str: (str,), int: (int,), float: (int, float), bool: (bool,)}


class CachedSessions(NamedTuple):
    """The first sessions of a list, how many there were, and when."""

    rows: tuple[SessionRow, ...]
    of: int
    as_of: str


class CachedList:
    """One owner-only file a database. What cannot be read or written is ignored."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> CachedSessions | None:
        try:
            kept = json.loads(read_small_text(self._file, LIMIT_BYTES))
            rows = tuple(_row(each) for each in kept["rows"])
            datetime.fromisoformat(kept["as_of"])
            return CachedSessions(rows, int(kept["of"]), kept["as_of"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, rows: Sequence[SessionRow], of: int) -> CachedSessions:
        """Save a list; returns it as `read` does."""
        cached = CachedSessions(tuple(rows), of, now())
        kept = {"rows": [row._asdict() for row in rows], "of": of, "as_of": cached.as_of}
        with contextlib.suppress(OSError, ValueError):
            write_atomically(self._file, json.dumps(kept))
        return cached


def _row(kept: dict[str, Any]) -> SessionRow:
    """Raises `TypeError` or `ValueError` for one of another version."""
    row = SessionRow(**kept)
    for value, kind in zip(row, SessionRow.__annotations__.values(), strict=True):
        if kind in _KINDS and not isinstance(value, _KINDS[kind]):
            raise TypeError(f"{value!r} is no {kind}")
    datetime.fromisoformat(row.updated)
    return row
