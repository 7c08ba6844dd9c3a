"""When automatic compactions stop: the last two ended too close to where the next one starts (C15). From the log."""

from typing import Final

from co_tui.context.compact.decide import WELL_BELOW
from co_tui.events import Clear, CompactionComplete, CompactionUndone, ModelChange, PolicyChange, Rewind
from co_tui.session.state.session_state import SessionState

MOST_IN_A_ROW: Final = 2
SAME_MARK: Final = 0.1
"""A mark that moved by more than this share: the window, the tools or the settings changed since."""


def is_strained(state: SessionState, agent: str, mark_tokens: float) -> bool:
    """Whether another compaction at this mark would end too close to it as well, as far as the last ones show."""
    above = 0
    for event in reversed(state.timeline):
        fact = event.fact
        if isinstance(fact, ModelChange | PolicyChange | Clear | Rewind | CompactionUndone):
            return False
        if not isinstance(fact, CompactionComplete) or not fact.success or fact.agent != agent:
            continue
        has_moved = abs(fact.mark_tokens - mark_tokens) > SAME_MARK * mark_tokens
        if has_moved or fact.post_tokens <= WELL_BELOW * fact.mark_tokens:
            return False
        above += 1
        if above == MOST_IN_A_ROW:
            return True
    return False
