"""A session that is left brings the context board up to date in a process of its own: nobody waits for it."""

import contextlib
import subprocess
import sys
from typing import Final

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.events import BoardChanged
from co_tui.session.environment import Environment
from co_tui.session.state.session_state import SessionState

LEAST_MESSAGES: Final = 4
"""Fewer than so many new ones teach nothing."""
_started: list["subprocess.Popen[bytes]"] = []
"""Kept so that those which ended while this process goes on are noticed."""


def update_beside(environment: Environment, state: SessionState, began: SessionState) -> None:
    """Start it when the settings want it, and there is something to learn: turns since the session was opened, as it
    was in `began`, and enough messages since the board last learnt from it."""
    if environment.settings.board_updates != "on" or environment.private or state.model == EMBEDDED:
        return
    if state.turn == began.turn or new_messages(state) < LEAST_MESSAGES:
        return
    _started[:] = [each for each in _started if each.poll() is None]
    with contextlib.suppress(OSError):  # a comfort: the session is kept, and can still be learnt from
        _started.append(
            subprocess.Popen(
                # Without -P a module of the folder's own could be taken for one of ours.
                [sys.executable, "-P", "-m", "co_tui", "subconscious", state.session_id],
                cwd=environment.cwd,
                env=dict(environment.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what ends the terminal must not end it
            )
        )


def new_messages(state: SessionState) -> int:
    """How many messages of the history the board has not learnt from."""
    learnt = (event.seq or 0 for event in state.timeline if isinstance(event.fact, BoardChanged) and event.fact.model)
    last = max(learnt, default=0)
    return sum(entry.seq > last for entry in state.history)
