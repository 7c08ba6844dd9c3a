"""Whether there is something to go on with: how the latest turn ended."""

from collections.abc import Iterator, Mapping
from itertools import chain

from co_tui.events.stored_messages import REPLACES, command_in, pieces
from co_tui.session.state.session_state import Entry, SessionState


def is_finished(state: SessionState) -> bool:
    """Whether the latest turn ended with a whole reply; also where nothing was said yet."""
    latest = next(_said(state), None)
    return latest is None or _ends_a_turn(latest)


def _said(state: SessionState) -> Iterator[Entry]:
    """By user and main agent, the newest first: what the model sees of it, then what it no longer sees."""
    for entry in chain(reversed(state.history), reversed(state.transcript)):
        metadata = entry.message.get("metadata")
        stands_for_others = isinstance(metadata, Mapping) and REPLACES in metadata
        if not (entry.agent or stands_for_others or command_in(entry.message)):
            yield entry


def _ends_a_turn(entry: Entry) -> bool:
    message = entry.message
    is_whole = not entry.interrupted and message.get("finish_reason") != "length"
    return message.get("kind") == "response" and is_whole and all(role != "tool_call" for role, _, _ in pieces(message))
