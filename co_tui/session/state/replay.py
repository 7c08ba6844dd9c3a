"""A session's state from its log."""

from collections.abc import Iterable
from functools import reduce

from co_tui.events import Event
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState


def replay(events: Iterable[Event], since: SessionState | None = None) -> SessionState:
    """Fold the events into a state; no model is called, nothing is written."""
    return reduce(apply, events, since or SessionState())
