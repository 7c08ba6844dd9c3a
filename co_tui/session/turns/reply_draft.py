"""The streaming reply, saved so that even a killed process loses little of it."""

import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from co_tui.events.partial_reply import DraftPiece, joined, reply_so_far
from co_tui.events.storable import dump
from co_tui.store.port import LogWriting

SAVE_EVERY_S = 0.2


@dataclass(slots=True)
class Draft:
    """Collects the pieces of one reply; saves new ones at most five times a second, each once."""

    session_id: str
    turn: int
    model: str
    writer: LogWriting
    _pieces: list[DraftPiece] = field(default_factory=list)
    _worth_saving: bool = False
    _saved_pieces: int = 0
    _saved_rows: int = 0
    _saving: Future[None] | None = None
    _pieces_in_saving: int = 0
    _saved_at: float = float("-inf")
    _started: str = field(default_factory=lambda: datetime.now(UTC).isoformat())

    def add(self, piece: DraftPiece) -> None:
        self._pieces.append(piece)
        self._worth_saving = self._worth_saving or piece.kind != "tool_call"
        now = time.monotonic()
        if self._worth_saving and now - self._saved_at >= SAVE_EVERY_S:
            self._saved_at = now
            self._save()

    def _save(self) -> None:
        if self._saving is not None:
            if not self._saving.done():
                return
            if self._saving.exception() is None:  # otherwise it is retried: no gap may be left
                self._saved_pieces = self._pieces_in_saving
                self._saved_rows += 1
        new = joined(self._pieces[self._saved_pieces :])
        body = {"turn": self.turn, "model": self.model, "started": self._started, "pieces": new}
        self._pieces_in_saving = len(self._pieces)
        self._saving = self.writer.save_reply(self.session_id, self._saved_rows, dump(body))

    @property
    def text(self) -> str:
        """The reply's visible text so far."""
        return "".join(piece.text for piece in self._pieces if piece.kind == "text")

    def message(self) -> dict[str, Any] | None:
        """The partial reply as a stored message; None if nothing arrived."""
        return reply_so_far(self._pieces, self.model, self._started)
