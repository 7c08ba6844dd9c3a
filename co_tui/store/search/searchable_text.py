"""The searchable texts of a message."""

from collections.abc import Iterator
from typing import NamedTuple

from co_tui.events import Message
from co_tui.events.storable import storable_text
from co_tui.events.stored_messages import Role, pieces

SAID: frozenset[Role] = frozenset({"user", "assistant", "tool_call", "tool_result", "attached", "command", "note"})
"""The roles that a search over all sessions covers; thinking and instructions are found only within their session."""


class SearchableText(NamedTuple):
    """One part of a message."""

    role: Role
    tool: str
    text: str


def searchable(fact: Message) -> Iterator[SearchableText]:
    """Each part of a message that says something or names a tool."""
    for role, text, part in pieces(fact.message):
        if fact.agent and role == "user":
            role = "tool_call"  # the task of a delegation: written by an agent, not the user
        tool = part.get("tool_name")
        tool = _indexable(tool) if isinstance(tool, str) else ""
        if tool or text.strip():
            yield SearchableText(role, tool, _indexable(text))


def _indexable(text: str) -> str:
    """Lone surrogates cannot be stored as UTF-8, and an index ends at a zero: only the log keeps them."""
    return storable_text(text).replace("\0", " ")
