"""The conversation as a file that hooks can read, in the form of Claude Code's transcripts."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from co_tui.events import Event, Json, Message
from co_tui.events.storable import dump
from co_tui.events.stored_messages import pieces
from co_tui.events.tool_wording import arguments_of
from co_tui.paths import OWNER_ONLY_FILE, ensure_dir
from co_tui.session.hooks.tool_forms import claude_name, given_input
from co_tui.store.port import Store

FILE: Final = "transcript.jsonl"
_LAST_BYTES: Final = 64 * 1024


class Transcript:
    """The main agent's messages, one a line, appended as they are logged. Written only for hooks that run."""

    def __init__(self, store: Store, session_id: str, folder: Path | None, cwd: Path) -> None:
        """`folder` is the session's; None if it keeps nothing."""
        self._store = store
        self._session_id = session_id
        self._file = folder / FILE if folder is not None else None
        self._cwd = cwd
        self._seq: int | None = None
        """The last event that the file has; None before it is opened."""
        self._one_at_a_time = asyncio.Lock()

    async def path(self) -> str:
        """The path of the file with all that is logged so far; empty if there is none."""
        if self._file is None:
            return ""
        async with self._one_at_a_time:
            try:
                await asyncio.to_thread(self._catch_up, self._file)
            except OSError:
                return ""
        return str(self._file)

    def _catch_up(self, file: Path) -> None:
        ensure_dir(file.parent)
        handle = os.open(file, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW, OWNER_ONLY_FILE)
        seq, self._seq = self._seq, None  # read again from the file if this fails
        with os.fdopen(handle, "r+b") as stream, self._store.reading() as reading:
            os.fchmod(handle, OWNER_ONLY_FILE)
            if seq is None:
                seq = _last_seq(handle)
            if not seq:
                stream.truncate(0)
            for event in reading.events(self._session_id, seq):
                seq = event.seq or seq
                if (line := self._line(event)) is not None:
                    stream.write(f"{dump(line)}\n".encode())
        self._seq = seq

    def _line(self, event: Event) -> Json | None:
        fact = event.fact
        if not isinstance(fact, Message) or fact.agent or not (blocks := list(message_blocks(fact.message, self._cwd))):
            return None
        role = "assistant" if fact.message.get("kind") == "response" else "user"
        return {
            "type": role,
            "message": {"role": role, "content": blocks},
            "timestamp": event.timestamp,
            "sessionId": self._session_id,
            "seq": event.seq,
        }


def message_blocks(message: Json, cwd: Path) -> Iterator[dict[str, Any]]:
    """A message as blocks of Claude Code's; tools and their input under its names, too."""
    for role, text, part in pieces(message):
        match role:
            case "tool_call":
                tool, arguments = str(part.get("tool_name", "")), arguments_of(text)
                given = given_input(tool, arguments, cwd)
                call_id = part.get("tool_call_id", "")
                yield {"type": "tool_use", "id": call_id, "name": claude_name(tool), "input": given}
            case "tool_result":
                failed = part.get("outcome", "failed") != "success"
                answer = {"type": "tool_result", "tool_use_id": part.get("tool_call_id", ""), "content": text}
                yield {**answer, "is_error": True} if failed else answer
            case "thinking":
                yield {"type": "thinking", "thinking": text, "signature": part.get("signature") or ""}
            case _:
                yield {"type": "text", "text": text}


def _last_seq(handle: int) -> int:
    """The event of the last line; 0 if that is not a whole line of ours."""
    size = os.fstat(handle).st_size
    last = os.pread(handle, size, max(0, size - _LAST_BYTES)).splitlines(keepends=True)[-1:]
    try:
        line: Any = json.loads(last[0]) if last and last[0].endswith(b"\n") else {}
    except ValueError:
        line = {}
    seq = line.get("seq") if isinstance(line, dict) else None
    return seq if isinstance(seq, int) else 0
