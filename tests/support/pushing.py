"""Logs and rows to push to a server, without a store."""

from co_tui.events import Event, Fact, Message, SessionStart
from co_tui.store.session_counts import SessionCounters
from co_tui.store.stored_values import SessionRow
from co_tui.store.sync.server.server import Connection, Server
from co_tui.store.sync.server.server_rows import Push, push

STARTED = "2026-01-01T10:00:00.000000Z"


def connect(url: str) -> Connection:
    return Server(url).connect()


def said(text: str) -> Message:
    parts = [{"part_kind": "user-prompt", "content": text}]
    return Message(turn=1, message={"kind": "request", "parts": parts})


def log_of(session_id: str, *facts: Fact | str, after: int = 0, minute: int = 0) -> list[Event]:
    """Events behind a seq; a text is a message. A whole log begins with its start."""
    whole = [said(fact) if isinstance(fact, str) else fact for fact in facts]
    if not after:
        whole.insert(0, SessionStart(cwd="/shop"))
    time = f"2026-01-01T10:{minute:02}:00.000000Z"
    return [
        Event(session_id=session_id, seq=seq, timestamp=time, fact=fact) for seq, fact in enumerate(whole, after + 1)
    ]


def row_of(events: list[Event]) -> SessionRow:
    """The row of a whole log."""
    counters = SessionCounters(updated=STARTED)
    for event in events:
        counters.count(event)
    values = {name: getattr(counters, name) for name in SessionRow._fields if hasattr(counters, name)}
    return SessionRow(id=events[0].session_id, created=STARTED, **values)


def push_log(connection: Connection, events: list[Event], after: int = 0, leased: int = 0) -> Push:
    """Push what a whole log has after a seq."""
    tip = (events[after - 1].type, events[after - 1].timestamp) if after else None
    return push(connection, row_of(events), after, tip, events[after:], leased)
