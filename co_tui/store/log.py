"""The SQL of the event log: appending facts, with the session's row and search texts in step."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from co_tui.events import (
    CompactionComplete,
    Event,
    Fact,
    Json,
    Message,
    ModelChange,
    PolicyChange,
    SessionFork,
    SessionInterrupted,
    SessionRename,
    SessionResume,
    SessionStart,
    UsageInfo,
    is_durable,
)
from co_tui.events.drafted import read_pieces, reply_so_far
from co_tui.events.event import dump, payload_of, stored
from co_tui.events.messages import pieces, prompt_of, title_of
from co_tui.events.storable import storable_text, whole
from co_tui.store.errors import SessionNotFound

REPLY_SLOT = "reply"
"""Of the first row of a reply in the making; those that follow have a number behind it."""
_SEARCHED = {"user", "assistant", "tool_call", "tool_result"}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class _Row:
    """A session's row while facts are being counted into it."""

    title: str
    model: str
    policy: str
    cwd: str
    repository: str
    branch: str
    last_seq: int
    turns: int
    messages: int
    compactions: int
    tokens: int | None
    token_limit: int | None
    cost: float
    usage: str | None

    def count(self, fact: Fact, event: Event) -> None:
        match fact:
            case SessionStart() | SessionResume() | SessionFork():
                self.model, self.policy = fact.model or self.model, fact.policy or self.policy
                self.cwd, self.repository = fact.cwd or self.cwd, fact.repository or self.repository
                self.branch = fact.branch or self.branch
            case SessionRename():
                self.title = fact.title
            case Message():
                self.messages += 1
                self.turns = max(self.turns, fact.turn)
                if not self.title and (prompt := prompt_of(fact.message)) is not None:
                    self.title = title_of(prompt)
            case UsageInfo():
                self.tokens, self.token_limit = fact.current_tokens, fact.token_limit
                self.cost += fact.cost or 0.0
                self.usage = dump(payload_of(event))
            case CompactionComplete():
                self.compactions += fact.success
                self.cost += fact.cost or 0.0
            case ModelChange():
                self.model = fact.to
            case PolicyChange():
                self.policy = fact.to
            case _:
                pass


_COLUMNS = tuple(_Row.__dataclass_fields__)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM sessions WHERE id = ?"
_UPDATE = f"UPDATE sessions SET {', '.join(f'{column} = ?' for column in _COLUMNS)}, updated = ? WHERE id = ?"


def append(connection: sqlite3.Connection, session_id: str, facts: Iterable[Fact]) -> tuple[Event, ...]:
    """Add durable facts at the end of a session's log. The caller holds the transaction."""
    known = connection.execute(_SELECT, (session_id,)).fetchone()
    timestamp = now()
    row = _Row(*(known or _created(connection, session_id, timestamp)))
    events = []
    for fact in facts:
        if not is_durable(fact):
            raise ValueError(f"{fact.TYPE} is announced, never logged")
        row.last_seq += 1
        event = Event(session_id=session_id, seq=row.last_seq, timestamp=timestamp, fact=fact)
        connection.execute(
            "INSERT INTO events(session_id, seq, type, timestamp, version, payload) VALUES(?, ?, ?, ?, ?, ?)",
            (session_id, row.last_seq, event.type, timestamp, event.version, dump(payload_of(event))),
        )
        row.count(fact, event)
        if isinstance(fact, Message):
            _index(connection, event, fact)
        events.append(event)
    _save(connection, session_id, row, timestamp)
    return tuple(events)


def _save(connection: sqlite3.Connection, session_id: str, row: _Row, updated: str) -> None:
    values = (getattr(row, column) for column in _COLUMNS)
    # A folder's name may hold bytes that are no text.
    plain = (storable_text(value) if isinstance(value, str) else value for value in values)
    connection.execute(_UPDATE, (*plain, updated, session_id))


def _created(connection: sqlite3.Connection, session_id: str, timestamp: str) -> tuple[Any, ...]:
    connection.execute(
        "INSERT INTO sessions(id, title, created, updated, model, policy, cwd, repository, branch,"
        " last_seq, turns, messages, compactions, cost) VALUES(?, '', ?, ?, '', '', '', '', '', 0, 0, 0, 0, 0.0)",
        (session_id, timestamp, timestamp),
    )
    created: tuple[Any, ...] = connection.execute(_SELECT, (session_id,)).fetchone()
    return created


def _index(connection: sqlite3.Connection, event: Event, fact: Message) -> None:
    for role, text, _ in pieces(fact.message):
        if role in _SEARCHED and text.strip():
            # Lone surrogates cannot be stored as UTF-8; the log keeps them, the index does without.
            searchable = storable_text(text)
            connection.execute(
                "INSERT INTO message_texts(session_id, seq, role, text) VALUES(?, ?, ?, ?)",
                (event.session_id, event.seq, role, searchable),
            )


def save_reply(connection: sqlite3.Connection, session_id: str, number: int, body: str) -> None:
    """Keep some more of a reply that is not an event yet; number 0 begins a new one."""
    if number == 0:
        drop_reply(connection, session_id)
    slot = f"{REPLY_SLOT}#{number:08}" if number else REPLY_SLOT
    connection.execute("INSERT INTO drafts(session_id, slot, body) VALUES(?, ?, ?)", (session_id, slot, body))


def drop_reply(connection: sqlite3.Connection, session_id: str) -> None:
    connection.execute(f"DELETE FROM drafts WHERE {_OF_REPLY}", (session_id, REPLY_SLOT, f"{REPLY_SLOT}#*"))


_OF_REPLY = "session_id = ? AND (slot = ? OR slot GLOB ?)"


def recover(connection: sqlite3.Connection, session_id: str) -> tuple[Event, ...]:
    """Log the reply that a crash cut short, as far as it came. The caller owns the session."""
    rows = connection.execute(
        f"SELECT body FROM drafts WHERE {_OF_REPLY} ORDER BY slot", (session_id, REPLY_SLOT, f"{REPLY_SLOT}#*")
    ).fetchall()
    drop_reply(connection, session_id)
    found = _reply_in([body for (body,) in rows])
    if found is None:
        return ()
    turn, message = found
    return append(
        connection,
        session_id,
        (
            Message(turn=turn, message=message, interrupted=True),
            SessionInterrupted(
                what="co-tui ended before the reply was complete",
                where=f"turn {turn}",
                outcome="the reply was kept as far as it came",
            ),
        ),
    )


def _reply_in(bodies: Iterable[str]) -> tuple[int, Json] | None:
    """The turn and the reply that saved rows hold together; a row that cannot be read is passed by."""
    turn, model, started, pieces = 0, "", now(), []
    for body in bodies:
        try:
            row = json.loads(body)
        except (ValueError, RecursionError):
            continue
        if not isinstance(row, dict):
            continue
        turn = whole(row.get("turn")) or turn
        if isinstance(whole_message := row.get("message"), dict):
            return turn, whole_message  # as older versions saved it
        model, started = str(row.get("model") or model), str(row.get("started") or started)
        pieces += read_pieces(row.get("pieces"))
    message = reply_so_far(pieces, model, started)
    return (turn, message) if message is not None else None


def fork(
    connection: sqlite3.Connection, source: str, target: str, upto: int | None, fact: SessionFork
) -> tuple[Event, ...]:
    """Begin `target` with all that `source` holds up to a seq, under the same seqs, so that references stay true.

    The copied events keep their times; only the fork itself is new.
    """
    rows = connection.execute(
        "SELECT seq, type, timestamp, version, payload FROM events WHERE session_id = ? AND seq <= ? ORDER BY seq",
        (source, upto if upto is not None else 1 << 62),
    ).fetchall()
    if not rows:
        raise SessionNotFound(f"There is no session {source}.")
    row = _Row(*_created(connection, target, now()))
    for seq, kind, timestamp, version, payload in rows:
        connection.execute(
            "INSERT INTO events(session_id, seq, type, timestamp, version, payload) VALUES(?, ?, ?, ?, ?, ?)",
            (target, seq, kind, timestamp, version, payload),
        )
        event = stored(target, seq, kind, timestamp, version, payload)
        row.last_seq = seq
        row.count(event.fact, event)
        if isinstance(event.fact, Message):
            _index(connection, event, event.fact)
    _save(connection, target, row, now())
    return append(connection, target, (fact,))


def delete(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove a session and all that belongs to it."""
    for table in ("drafts", "message_texts", "events"):
        connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
    if connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount == 0:
        raise SessionNotFound(f"There is no session {session_id}.")
