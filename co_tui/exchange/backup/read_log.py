"""The log of a session as a backup has it, and the partial reply after it."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import IO, Final

from co_tui.events import Event, is_durable
from co_tui.events.event import decode
from co_tui.events.storable import storable
from co_tui.exchange.importers.foreign_files import MAX_LINE_BYTES
from co_tui.exchange.importers.imported import ImportRefused
from co_tui.exchange.importers.programs.co_tui_log import MAX_MISSING_EVENTS

_MORE_DEPTH: Final = -8
"""A log's line has more levels than what was made storable when it was written."""
_TIME_CHARS: Final = 64
_MOST: Final = 10**15
"""Larger numbers are damage, and no database takes them."""


def log_lines(session_id: str, content: IO[bytes]) -> list[bytes]:
    """The lines of a log. Raises `ImportRefused`."""
    if lines := list(_lines(session_id, content)):
        return lines
    raise ImportRefused(f"The log of session {session_id} is empty.")


def read_log(session_id: str, lines: Iterable[bytes]) -> list[Event]:
    """All events, exactly. Raises `ImportRefused` for anything that is no whole log of that session."""
    log: list[Event] = []
    last = missing = 0
    for number, line in enumerate(lines, 1):
        event = event_of(line)
        if event is None or event.session_id != session_id or not is_durable(event.fact) or not _is_time(event):
            raise ImportRefused(f"The log of session {session_id} is damaged: line {number:,} is no event of it.")
        seq = event.seq or 0
        missing += seq - last - 1
        if seq <= last or missing > MAX_MISSING_EVENTS or (last == 0 and seq != 1):
            raise ImportRefused(f"The log of session {session_id} is damaged: line {number:,} is out of order.")
        last = seq
        log.append(event)
    return log


def read_reply(session_id: str, content: IO[bytes]) -> list[str]:
    """The pieces of a reply that was being written. Raises `ImportRefused`."""
    pieces = []
    for line in _lines(session_id, content):
        piece = _value(line)
        if not isinstance(piece, str):
            raise ImportRefused(f"The partial reply of session {session_id} is damaged.")
        pieces.append(piece)
    return pieces


def _lines(session_id: str, content: IO[bytes]) -> Iterator[bytes]:
    while line := content.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise ImportRefused(f"The log of session {session_id} has a line of over {MAX_LINE_BYTES:,} bytes.")
        yield line


def event_of(line: bytes) -> Event | None:
    """The event of a line; None when it is none."""
    record = _value(line)
    if not isinstance(record, dict) or not _is_number(record.get("version")) or not _is_number(record.get("seq")):
        return None
    try:
        return decode(record)
    except ValueError:
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST


def _value(line: bytes) -> object:
    try:
        return storable(json.loads(line), _MORE_DEPTH)
    except (ValueError, RecursionError):
        return None


def _is_time(event: Event) -> bool:
    try:
        return len(event.timestamp) <= _TIME_CHARS and bool(datetime.fromisoformat(event.timestamp))
    except ValueError:
        return False
