"""Notes that the model gets with its next request: what hooks added, and what happened in the background."""

from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import ModelRequest, UserPromptPart

from co_tui.events.storable import storable_text
from co_tui.events.stored_messages import NOTE, note_heading


class PendingNotes:
    """The notes of one session that no request has taken yet, by agent."""

    def __init__(self) -> None:
        self._notes: dict[str, list[ModelRequest]] = {}

    def add(self, source: str, text: str, agent: str = "") -> None:
        """Add a note; `source` says in a few words where it comes from."""
        self._notes.setdefault(agent, []).append(note_message(source, text))

    def take(self, agent: str = "") -> list[ModelRequest]:
        """The notes for an agent, which must be logged then."""
        return self._notes.pop(agent, [])


def note_message(source: str, text: str, **more: Any) -> ModelRequest:
    """A note in the conversation, with more metadata. Its role is user, but it is no prompt."""
    source, text = storable_text(source), storable_text(text)
    return ModelRequest(
        parts=[UserPromptPart(f"{note_heading(source)}{text}")],
        timestamp=datetime.now(UTC),
        metadata={NOTE: source, **more},
    )
