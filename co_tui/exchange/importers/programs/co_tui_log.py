"""A session as co-tui exports it: its log, one event a line.

What a log decides is not taken from a file.
"""

import re
from collections.abc import Iterator
from typing import Final

from co_tui.agent.model_messages import read_messages
from co_tui.events import Event, Message, SessionRename, Unknown, is_durable
from co_tui.events.decisions import refusals, without_decisions
from co_tui.events.event import decode
from co_tui.events.stored_messages import title_in
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import read_time, readable
from co_tui.exchange.importers.imported import ImportedSession, written
from co_tui.exchange.importers.importer import OWN, DocumentImporter
from co_tui.store.session_ids import stable_id

NAME: Final = "co-tui"
MAX_MISSING_EVENTS: Final = 10_000
"""The most events that may be missing; a larger number is not a place in the log."""
_KEYS: Final = frozenset({"session_id", "seq", "type", "timestamp", "version", "payload"})
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


def recognises(document: Document) -> bool:
    return any(record.keys() >= _KEYS for record in document.records[:50])


def load(document: Document) -> list[ImportedSession]:
    found: dict[str, list[Record]] = {}
    for record in document.records:
        found.setdefault(str(record.get("session_id")), []).append(record)
    sessions = [_session(name, records, document) for name, records in found.items()]
    return [session for session in sessions if session.messages]


def _session(name: str, records: list[Record], document: Document) -> ImportedSession:
    session_id = name if _SAFE_ID.fullmatch(name) else stable_id(NAME, name or readable(records))
    read = list(_events(records, written(document.modified)))
    log = _decided(_numbered(read, session_id))
    said = [event.fact.message for event in log if isinstance(event.fact, Message)]
    return ImportedSession(
        source=NAME,
        session_id=session_id,
        title=_title(log),
        messages=read_messages(said),
        log=log,
        skipped=document.skipped + len(records) - len(read),
    )


def _events(records: list[Record], default_time: str) -> Iterator[Event]:
    """Those that are events, each later than the one before."""
    last = lost = 0
    for record in records:
        if not isinstance(record.get("version"), int):
            continue
        try:
            event = decode(record)
        except ValueError:
            continue
        seq = event.seq
        if isinstance(seq, int) and last < seq <= last + 1 + MAX_MISSING_EVENTS - lost and is_durable(event.fact):
            lost += seq - last - 1
            last = seq
            time = event.timestamp if read_time(event.timestamp) else default_time
            yield event.but(timestamp=time)


def _numbered(events: list[Event], session_id: str) -> Iterator[Event]:
    """The events at their places; where some are missing, others stand for them, so that references stay true."""
    expected = 1
    for event in events:
        for seq in range(expected, event.seq or 0):
            lost = Unknown(type="session.lost", version=1, payload={})
            yield Event(session_id=session_id, seq=seq, timestamp=event.timestamp, fact=lost)
        yield event.but(session_id=session_id)
        expected = (event.seq or 0) + 1


def _decided(events: Iterator[Event]) -> tuple[Event, ...]:
    """A question that waits would be asked in the file's words: it counts as refused."""
    log = tuple(without_decisions(events))
    return (*log, *(log[-1].but(seq=len(log) + number, fact=fact) for number, fact in enumerate(refusals(log), 1)))


def _title(log: tuple[Event, ...]) -> str:
    titles = [event.fact.title for event in log if isinstance(event.fact, SessionRename)]
    if titles:
        return titles[-1]
    return next(filter(None, (title_in(event.fact.message) for event in log if isinstance(event.fact, Message))), "")


IMPORTERS: Final = (DocumentImporter("co-tui", recognises, load, OWN),)
