"""Facts recovered from a reply that was being written when its process ended."""

import json
from collections.abc import Iterable

from co_tui.events import Fact, Json, Message, SessionInterrupted
from co_tui.events.partial_reply import read_pieces, reply_so_far
from co_tui.events.storable import whole_number
from co_tui.events.stored_messages import command_in
from co_tui.store.timestamps import now


def recovered(bodies: Iterable[str]) -> tuple[Fact, ...]:
    """The partial reply in saved pieces and its interruption; empty when there is none."""
    found = _reply_in(bodies)
    if found is None:
        return ()
    turn, message = found
    what, kept = ("your command", "partial output") if command_in(message) else ("the reply", "partial reply")
    return (
        Message(turn=turn, message=message, interrupted=True),
        SessionInterrupted(
            what=f"co-tui ended before {what} was complete",
            where=f"turn {turn}",
            outcome=f"{kept} kept",
        ),
    )


def _reply_in(bodies: Iterable[str]) -> tuple[int, Json] | None:
    """The turn and the reply; unreadable pieces are skipped."""
    turn, model, started, pieces = 0, "", now(), []
    for body in bodies:
        try:
            row = json.loads(body)
        except (ValueError, RecursionError):
            continue
        if not isinstance(row, dict):
            continue
        turn = whole_number(row.get("turn")) or turn
        if isinstance(whole_message := row.get("message"), dict):
            return turn, whole_message  # a command's, or as older versions saved a reply
        model, started = str(row.get("model") or model), str(row.get("started") or started)
        pieces += read_pieces(row.get("pieces"))
    message = reply_so_far(pieces, model, started)
    return (turn, message) if message is not None else None
