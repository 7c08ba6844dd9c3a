"""Notices, given once, that compacting does not help, and what would (C15)."""

from typing import Final

from co_tui.context.request.pipeline import Measured
from co_tui.events import ModelChange, PolicyChange, SessionError, share_of
from co_tui.events.wording import percent
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.settings import Settings

FIXED_PART: Final = "fixed_part"
NO_ROOM: Final = "no_room"
STOPPED: Final = "compaction_stopped"
POLICY_FAILED: Final = "policy_failed"
MUCH_SHARE: Final = 0.1
"""Share of the window above which a part is named."""


class Notices:
    """The notices of one session or delegation. Each kind is logged once per model and policy."""

    def __init__(self) -> None:
        self._given: set[tuple[str, str, str]] = set()

    async def give(self, kind: str, history: GovernedHistory, measured: Measured) -> None:
        key = (kind, history.model, history.state.policy)
        if key in self._given:
            return
        self._given.add(key)
        if not _is_logged(kind, history):
            what, outcome = _WORDING[kind]
            help_ = _what_helps(measured)
            error = SessionError(what=f"{what} {help_}", kind=kind, outcome=outcome, agent=history.agent)
            await history.recorder.record(error)

    async def give_policy_failure(self, history: GovernedHistory) -> None:
        """Say that the policy's own code failed, and what decides instead."""
        key = (POLICY_FAILED, history.model, history.state.policy)
        if key not in self._given:
            self._given.add(key)
            if not _is_logged(POLICY_FAILED, history):
                outcome = f"{Settings().policy} decides where it fails"
                what = history.governor.policy_failure
                fact = SessionError(what=what, kind=POLICY_FAILED, outcome=outcome, agent=history.agent)
                await history.recorder.record(fact)


_WORDING: Final = {
    FIXED_PART: (
        "Instructions, tools and pinned messages almost fill the context. Compacting does not help.",
        "nothing was compacted",
    ),
    NO_ROOM: (
        "The window is too small for a summary: it would fill up again at once.",
        "older messages are left out of requests instead",
    ),
    STOPPED: (
        "Automatic compaction stopped: the last two freed too little.",
        "older messages are left out of requests instead",
    ),
}


def _what_helps(measured: Measured) -> str:
    """What fills the window, and what to do about it."""
    reading = measured.reading
    window = reading.window.tokens
    parts = (
        ("tools", reading.tool_definition_tokens),
        ("instructions", reading.system_tokens),
    )
    shares = [
        f"{name} take {percent(share)}" for name, tokens in parts if (share := share_of(tokens, window)) > MUCH_SHARE
    ]
    of_window = f"{_capitalised(' and '.join(shares))} of the window of {window:,} tokens. " if shares else ""
    advice = ["use a model with a larger window", "choose another policy (/policy)"]
    if share_of(reading.tool_definition_tokens, window) > MUCH_SHARE:
        advice.insert(0, "offer fewer tools (/config tools)")
    if measured.pinned:
        advice.insert(0, "unpin messages")
    return f"{of_window}Try this: {', '.join(advice[:-1])}, or {advice[-1]}."


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_logged(kind: str, history: GovernedHistory) -> bool:
    """Whether it was logged since the model or the policy last changed, even before a resume."""
    for event in reversed(history.state.timeline):
        fact = event.fact
        if isinstance(fact, ModelChange | PolicyChange):
            return False
        if isinstance(fact, SessionError) and fact.kind == kind and fact.agent == history.agent:
            return True
    return False
