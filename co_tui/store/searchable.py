"""The texts of a message that a search over all sessions looks at."""

from collections.abc import Iterator

from co_tui.events import Json
from co_tui.events.messages import Role, pieces
from co_tui.events.storable import storable_text

_SEARCHED: frozenset[Role] = frozenset({"user", "assistant", "tool_call", "tool_result"})


def searchable(message: Json) -> Iterator[tuple[Role, str]]:
    """Each part that people said or tools told, with its role."""
    for role, text, _ in pieces(message):
        if role in _SEARCHED and text.strip():
            # Lone surrogates cannot be stored as UTF-8; the log keeps them, the search does without.
            yield role, storable_text(text)
