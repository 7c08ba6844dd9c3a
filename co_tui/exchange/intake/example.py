"""The example session: a recorded job to try things on, copied like any other session from a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from co_tui.events import Event, ModeChange, SessionEnd, SessionOrigin, SessionResume
from co_tui.events.model_names import EXAMPLE_MODEL
from co_tui.exchange.importers import load
from co_tui.exchange.intake.take_in import take_in
from co_tui.store.port import Store
from co_tui.store.session_ids import new_session_id

EXAMPLE: Final = Path(__file__).with_name("example.jsonl")
"""As `co-tui export` writes it; made by `python -m tests.example`."""
_UNCHANGED: Final = (SessionResume, SessionEnd, ModeChange)
"""What a session logs if it is only opened and left."""
MOST_SEARCHED: Final = 50


def copy_example(store: Store) -> str:
    """Copy the recorded job to a session of the user's own; returns its id. A recent copy with which nothing was done
    is used again, so that looking at it twice leaves one session. Raises `StoreError`."""
    (recorded,) = load(EXAMPLE)
    if unchanged := _unchanged(store, recorded.log):
        return unchanged
    session_id = new_session_id()
    log = tuple(_copied(event, session_id) for event in recorded.log)
    return take_in(store, recorded.but(session_id=session_id, log=log)).session_id


def _copied(event: Event, session_id: str) -> Event:
    """An event of the copy. Files choose no model, but this one is the package's own."""
    fact = event.fact
    named = fact.but(model=EXAMPLE_MODEL) if isinstance(fact, SessionOrigin) else fact
    return event.but(session_id=session_id, fact=named)


def _unchanged(store: Store, recorded: Sequence[Event]) -> str:
    """The newest copy that is not open and has all of the recording and nothing more; empty if there is none."""
    open_now = store.claimed()
    with store.reading() as reading:
        for row in reading.sessions(limit=MOST_SEARCHED):
            is_copy = row.model == EXAMPLE_MODEL and row.id not in open_now
            if is_copy and _is_untouched(list(reading.events(row.id)), recorded):
                return row.id
    return ""


def _is_untouched(log: Sequence[Event], recorded: Sequence[Event]) -> bool:
    """Whether a log is the whole recording, followed at most by what a session logs if it is only opened and left."""
    copied, added = log[: len(recorded)], log[len(recorded) :]
    same = [(each.type, each.timestamp) for each in copied] == [(each.type, each.timestamp) for each in recorded]
    return same and all(isinstance(each.fact, _UNCHANGED) for each in added)
