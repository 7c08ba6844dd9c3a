"""Update the context board in a separate process when a session is closed, so that closing does not wait for it."""

import contextlib
import subprocess
import sys
from typing import Final

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.events import BoardChanged
from co_tui.session.environment import Environment
from co_tui.session.state.session_state import SessionState

LEAST_MESSAGES: Final = 4
"""New messages a session needs before an update is worth it."""
_started: list["subprocess.Popen[bytes]"] = []
"""Kept to reap those that end while this process still runs."""


def update_in_background(environment: Environment, state: SessionState, began: SessionState) -> None:
    """Start an update if the settings ask for it and there is something to learn: turns since the session was opened
    (its state then is `began`), and enough messages since the last update."""
    if environment.settings.board_updates != "on" or environment.private or state.model == EMBEDDED:
        return
    if state.turn == began.turn or new_messages(state) < LEAST_MESSAGES:
        return
    _started[:] = [each for each in _started if each.poll() is None]
    with contextlib.suppress(OSError):  # not needed now: the session is stored, and can be learned from later
        _started.append(
            subprocess.Popen(
                # Without -P, a module in the user's folder could shadow one of ours.
                [sys.executable, "-P", "-m", "co_tui", "subconscious", state.session_id],
                cwd=environment.cwd,
                env=dict(environment.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # it must survive the end of the terminal
            )
        )


def new_messages(state: SessionState) -> int:
    """How many messages of the history are newer than the last board update."""
    updates = (event.seq or 0 for event in state.timeline if isinstance(event.fact, BoardChanged) and event.fact.model)
    last = max(updates, default=0)
    return sum(entry.seq > last for entry in state.history)
