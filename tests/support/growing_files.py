"""Session files of several programs that a test lets grow."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.agent.model_messages import message_json
from co_tui.events import Event, Fact, Message, SessionRename, SessionStart, event_json
from tests.support.foreign import claude_row, codex_row, write_lines

BEGINNING = datetime(2025, 3, 1, 10, tzinfo=UTC)


class Exchange(NamedTuple):
    """A prompt and its reply; the number is its place in time, never used twice."""

    number: int
    prompt: str
    reply: str


Write = Callable[[Path, Sequence[Exchange], str], Path]
"""Write a file that holds these exchanges under a title."""


def said(text: str, *, by_user: bool) -> dict[str, Any]:
    if by_user:
        return message_json(ModelRequest(parts=[UserPromptPart(text, timestamp=BEGINNING)]))
    return message_json(ModelResponse(parts=[TextPart(text)], timestamp=BEGINNING))


def _time(number: int, more_s: int = 0) -> str:
    return (BEGINNING + timedelta(minutes=number, seconds=more_s)).isoformat().replace("+00:00", "Z")


def claude_code(folder: Path, exchanges: Sequence[Exchange], title: str) -> Path:
    rows: list[Any] = []
    for number, prompt, reply in exchanges:
        rows.append(claude_row("user", prompt, uuid=f"u{number}") | {"timestamp": _time(number)})
        rows.append(claude_row("assistant", reply, uuid=f"a{number}") | {"timestamp": _time(number, 5)})
    return write_lines(folder / "claude.jsonl", [*rows, {"type": "custom-title", "customTitle": title}])


def codex(folder: Path, exchanges: Sequence[Exchange], title: str) -> Path:
    rows = [codex_row("session_meta", id="t1", cwd="/w")]
    for number, prompt, reply in exchanges:
        for role, words, kind in (("user", prompt, "input_text"), ("assistant", reply, "output_text")):
            item = codex_row("response_item", type="message", role=role, content=[{"type": kind, "text": words}])
            rows.append(item | {"timestamp": _time(number)})
    rows.append(codex_row("event_msg", type="thread_name_updated", thread_name=title))
    return write_lines(folder / "rollout.jsonl", rows)


def gemini(folder: Path, exchanges: Sequence[Exchange], title: str) -> Path:
    messages = [
        {"id": f"{kind}{number}", "type": kind, "timestamp": _time(number), "content": words}
        for number, prompt, reply in exchanges
        for kind, words in (("user", prompt), ("gemini", reply))
    ]
    head = {"sessionId": "g1", "projectHash": "x", "startTime": _time(0), "summary": title}
    file = folder / "session.json"
    file.write_text(json.dumps({**head, "messages": messages}, indent=1))
    return file


def opencode(folder: Path, exchanges: Sequence[Exchange], title: str) -> Path:
    def message(number: int, role: str, words: str) -> dict[str, Any]:
        time = int((BEGINNING + timedelta(minutes=number)).timestamp() * 1000)
        return {
            "info": {"id": f"msg_{role}{number}", "role": role, "time": {"created": time}},
            "parts": [{"type": "text", "text": words}],
        }

    messages = [
        message(number, role, words)
        for number, prompt, reply in exchanges
        for role, words in (("user", prompt), ("assistant", reply))
    ]
    info = {"id": "ses_1", "projectID": "p", "directory": "/w", "title": title, "time": {"created": 1740823200000}}
    file = folder / "opencode.json"
    file.write_text(json.dumps({"info": info, "messages": messages}))
    return file


def llm(folder: Path, exchanges: Sequence[Exchange], title: str) -> Path:
    file = folder / "logs.db"
    file.unlink(missing_ok=True)
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("CREATE TABLE conversations(id TEXT PRIMARY KEY, name TEXT, model TEXT)")
        connection.execute(
            "CREATE TABLE responses(id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,"
            " conversation_id TEXT, datetime_utc TEXT)"
        )
        connection.execute("INSERT INTO conversations VALUES('c1', ?, 'm')", (title,))
        connection.executemany(
            "INSERT INTO responses VALUES(?, 'm', ?, '', ?, 'c1', ?)",
            [(f"r{number}", prompt, reply, _time(number)) for number, prompt, reply in exchanges],
        )
    connection.close()
    return file


def own_log(folder: Path, exchanges: Sequence[Exchange], title: str) -> Path:
    """Of a session that goes on, on another machine."""
    facts: list[tuple[str, Fact]] = [(_time(0), SessionStart(cwd="/w", model="m"))]
    for turn, (number, prompt, reply) in enumerate(exchanges, 1):
        facts += [
            (_time(number), Message(turn=turn, message=said(prompt, by_user=True))),
            (_time(number, 5), Message(turn=turn, message=said(reply, by_user=False))),
        ]
        if turn == 1:
            facts.append((_time(number, 6), SessionRename(title="First name")))
    # A log only grows: the same name was always given at the same time.
    facts.append((_time(0, 10 + len(title)), SessionRename(title=title)))
    events = [
        Event(session_id="elsewhere", seq=seq, timestamp=time.replace("Z", ".000000Z"), fact=fact)
        for seq, (time, fact) in enumerate(facts, 1)
    ]
    file = folder / "log.jsonl"
    file.write_text("".join(f"{event_json(event)}\n" for event in events))
    return file


PROGRAMS: dict[str, Write] = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini-cli": gemini,
    "opencode": opencode,
    "llm": llm,
    "co-tui": own_log,
}
