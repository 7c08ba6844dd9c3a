"""The reply that is being streamed, kept so that even a killed process loses little of it."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from co_tui.events.event import dump
from co_tui.store.log import REPLY_SLOT
from co_tui.store.writer import Writer

SAVE_EVERY_S = 0.2


@dataclass(slots=True)
class _Part:
    kind: str
    chunks: list[str]
    tool_name: str = ""
    tool_call_id: str = ""

    def as_json(self) -> dict[str, Any]:
        text = "".join(self.chunks)
        if self.kind == "tool_call":
            return {
                "part_kind": "tool-call",
                "tool_name": self.tool_name,
                "args": text,
                "tool_call_id": self.tool_call_id,
            }
        return {"part_kind": self.kind, "content": text}


@dataclass(slots=True)
class Draft:
    """Collects the pieces of one reply and saves them at most five times a second."""

    session_id: str
    turn: int
    model: str
    writer: Writer
    _parts: dict[int, _Part] = field(default_factory=dict)
    _saved_at: float = 0.0
    _started: str = field(default_factory=lambda: datetime.now(UTC).isoformat())

    def add(self, part: int, kind: str, text: str, tool_name: str = "", tool_call_id: str = "") -> None:
        present = self._parts.get(part)
        if present is None:
            self._parts[part] = _Part(kind, [text], tool_name, tool_call_id)
        else:
            present.chunks.append(text)
        now = time.monotonic()
        if now - self._saved_at >= SAVE_EVERY_S and (message := self.message()) is not None:
            self._saved_at = now
            self.writer.save_draft(self.session_id, REPLY_SLOT, dump({"turn": self.turn, "message": message}))

    @property
    def text(self) -> str:
        """What the user could read of the reply so far."""
        return "".join("".join(part.chunks) for part in self._parts.values() if part.kind == "text")

    def message(self) -> dict[str, Any] | None:
        """The reply as far as it came, as a stored message; None when nothing came."""
        # A call whose arguments are only half written was never made.
        parts = [part.as_json() for part in self._parts.values() if part.kind != "tool_call"]
        if not parts:
            return None
        return {
            "kind": "response",
            "parts": parts,
            "model_name": self.model,
            "timestamp": self._started,
            "state": "interrupted",
        }
