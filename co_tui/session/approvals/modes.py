"""Switch which calls run without asking (T3b)."""

from typing import Final

from co_tui.agent.permissions.sandbox import sandbox_failure
from co_tui.events import ModeChange
from co_tui.paths import recorded_path
from co_tui.session.recorder import Recorder
from co_tui.session.state.session_state import SessionState
from co_tui.settings.rules import ASK, AUTO, EDITS, NOT_AT_HOME, PLAN, SANDBOX, offered_modes

_TIGHTEST_FIRST: Final = (PLAN, ASK, EDITS, AUTO)
NO_SANDBOX: Final = "Mode auto needs a sandbox, which does not start here: {}."


class ModeRefused(Exception):
    """Why a mode cannot be used here: a sentence."""


async def switch_mode(recorder: Recorder, mode: str, *, at_home: bool) -> None:
    """Change the mode from the next call on. Raises `ModeRefused`."""
    if mode not in offered_modes(at_home=at_home):
        raise ModeRefused(NOT_AT_HOME.format(mode))
    if mode == recorder.state.mode:
        return
    folders = map(recorded_path, (recorder.state.cwd, *recorder.state.folders))
    if mode == AUTO and (failure := await sandbox_failure(SANDBOX, *folders)):
        raise ModeRefused(NO_SANDBOX.format(failure))
    await recorder.record(ModeChange(from_=recorder.state.mode, to=mode))


def tighter_mode(state: SessionState, usual: str) -> str:
    """The mode in which a session continues: its own, unless that is looser than the usual one, or it never had one."""
    own = next((event.fact.to for event in reversed(state.timeline) if isinstance(event.fact, ModeChange)), "")
    return min(own, usual, key=_TIGHTEST_FIRST.index) if own in _TIGHTEST_FIRST else usual


async def begin_in_mode(recorder: Recorder, mode: str, *, at_home: bool) -> str:
    """Start or resume in a mode. Returns why it is `ask` instead, or an empty text."""
    try:
        await switch_mode(recorder, mode, at_home=at_home)
    except ModeRefused as refused:
        await switch_mode(recorder, ASK, at_home=at_home)
        return str(refused)
    return ""
