"""What a delegated agent sees of the conversation it works for: what was said, not what tools returned (T4)."""

from collections.abc import Iterable, Iterator
from typing import Final

from co_tui.events import Json
from co_tui.events.messages import pieces
from co_tui.session.state.session_state import Entry

_SAID: Final = frozenset({"system", "user", "assistant"})


def top_level(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The same messages with nothing but words in them; those without words are left out."""
    for entry in entries:
        if (said := only_words(entry.message)) is not None:
            yield entry._replace(message=said)


def only_words(message: Json) -> Json | None:
    """The message without calls, results and thoughts; None when nothing is left."""
    said = [part for role, text, part in pieces(message) if role in _SAID and text.strip()]
    return {**message, "parts": said} if said else None
