"""What queries call back. Given to a connection once, when it is opened: several queries may run on it at a time."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeAlias

from co_tui.store.search.session_words import holds

SessionFilter: TypeAlias = Callable[[str], bool]

_filters: dict[int, SessionFilter] = {}
_numbers = count(1)


def register(connection: sqlite3.Connection) -> None:
    connection.create_function("holds", 2, holds, deterministic=True)
    connection.create_function("passes", 2, lambda number, session_id: _filters[number](session_id))


@contextmanager
def session_filter(passes: SessionFilter) -> Iterator[int]:
    """The number under which a query that runs now knows the filter."""
    number = next(_numbers)
    _filters[number] = passes
    try:
        yield number
    finally:
        del _filters[number]
