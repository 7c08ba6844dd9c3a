"""A session as co-tui exports it: its log, one event a line.

What a log may decide is not taken from a file: what it was allowed to run, and who got the conversation.
"""

import re
from collections.abc import Iterator
from typing import Final

from co_tui.agent.model_messages import read_messages
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    BoardShown,
    CompactionComplete,
    Event,
    Fact,
    Message,
    ModelChange,
    SessionOrigin,
    SessionRename,
    SessionStart,
    Unknown,
    is_durable,
)
from co_tui.events.event import decode
from co_tui.events.stored_messages import prompt_of, title_of
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import read_time, readable
from co_tui.exchange.importers.imported import ImportedSession, stable_id, written
from co_tui.exchange.importers.importer import OWN, DocumentImporter

NAME: Final = "co-tui"
MAX_MISSING_EVENTS: Final = 10_000
"""So many events may be missing; a number beyond that is no place in the log."""
_KEYS: Final = frozenset({"session_id", "seq", "type", "timestamp", "version", "payload"})
BY_IMPORT: Final = "the import"
"""Who refused a question that the file leaves open."""
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_SAFE_NAME: Final = re.compile(r"[\w.-]{0,80}")
PUBLIC_MODEL: Final = re.compile(r"(?!gguf:)[\w.:/+-]{0,120}")
"""Neither an address nor a file: those are places a conversation would go to."""


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


def _events(records: list[Record], otherwise: str) -> Iterator[Event]:
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
            time = event.timestamp if read_time(event.timestamp) else otherwise
            yield event.but(timestamp=time, fact=harmless(event.fact))


def harmless(fact: Fact) -> Fact:
    """The fact without what it would decide here."""
    if isinstance(fact, ApprovalDecided):
        return fact.but(scope="once", rules=(), pattern="", mode="")
    if isinstance(fact, SessionStart):
        fact = fact.but(surroundings={})  # no one else may write the system prompt
    if isinstance(fact, SessionOrigin):
        return fact.but(model=_model(fact.model), policy=fact.policy if _SAFE_NAME.fullmatch(fact.policy) else "")
    if isinstance(fact, ModelChange):
        return fact.but(to=_model(fact.to))
    if isinstance(fact, CompactionComplete):
        return fact.but(checkpoint_path="", checkpoint_number=None)
    if isinstance(fact, BoardShown):
        return fact.but(note="", tokens=0, entries=0, where="")  # no one else may write the system prompt
    return fact


def _model(name: str) -> str:
    return name if PUBLIC_MODEL.fullmatch(name) else ""


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
    log = tuple(events)
    pending: dict[str, Event] = {}
    for event in log:
        if isinstance(event.fact, ApprovalRequested):
            pending[event.fact.call_id] = event
        elif isinstance(event.fact, ApprovalDecided):
            pending.pop(event.fact.call_id, None)
    refused = [
        log[-1].but(seq=len(log) + number, fact=ApprovalDecided(call_id=call_id, approved=False, by=BY_IMPORT))
        for number, call_id in enumerate(pending, 1)
    ]
    return (*log, *refused)


def _title(log: tuple[Event, ...]) -> str:
    titles = [event.fact.title for event in log if isinstance(event.fact, SessionRename)]
    if titles:
        return titles[-1]
    prompts = (prompt_of(event.fact.message) for event in log if isinstance(event.fact, Message))
    return title_of(next(filter(None, prompts), ""))


IMPORTER: Final = DocumentImporter("co-tui", recognises, load, OWN)
