"""What a compaction on demand replaces, and when automatic compactions stop (C15)."""

from collections.abc import Sequence
from typing import Final

from co_tui.context.compact import cuts
from co_tui.context.compact.cuts import Cut
from co_tui.context.compact.decide import WELL_BELOW, Plan, frees_enough
from co_tui.context.policy import CompactionRule
from co_tui.context.request.pipeline import Governor, Measured
from co_tui.context.turns import is_prompt, latest_prompt, turn_starts
from co_tui.events import Clear, CompactionComplete, CompactionUndone, ModelChange, PolicyChange, Ref, Rewind
from co_tui.events.triggers import Trigger
from co_tui.session.compaction.background_compaction import Urgency
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.state.session_state import Entry, SessionState


def requested_cut(governor: Governor, measured: Measured, trigger: Trigger) -> Cut | None:
    """What to replace on demand: all but the last turn if the policy keeps recent turns, else all answered messages."""
    live, pinned = measured.live, measured.pinned
    if trigger.is_emergency:
        situation = governor.situation(measured)
        earlier = (cuts.share_cut(live, trigger, pinned=pinned), cuts.run_cut(live, trigger, pinned))
        worth = (cut for cut in earlier if cut is not None and frees_enough(situation, cut))
        return next(worth, None) or cuts.whole_cut(live, trigger, pinned=pinned)
    if governor.policy.keep_recent_share and len(turn_starts(live)) > 1:
        cut = cuts.whole_cut(live, trigger, upto=latest_prompt(live), pinned=pinned)
        held = sum(governor.meter.tokens(live[index]) for index in cut.replaced) if cut else 0
        if held >= measured.reading.conversation_tokens / 2:
            return cut
    return cuts.whole_cut(live, trigger, pinned=pinned)


def cut_up_to(entries: Sequence[Entry], measured: Measured, trigger: Trigger, upto: Ref) -> Cut | None:
    """Everything before a message."""
    index = next((n for n, entry in enumerate(entries) if entry.ref == upto), len(entries))
    end = next((n for n, origin in enumerate(measured.origins) if origin == index), len(measured.live))
    return cuts.whole_cut(measured.live, trigger, upto=end, pinned=measured.pinned)


MOST_IN_A_ROW: Final = 2
SAME_MARK: Final = 0.1
"""A threshold that moved by more than this share: the window, the tools or the settings changed since."""


def is_thrashing(state: SessionState, agent: str, mark_tokens: float) -> bool:
    """Whether the last compactions ended too close to the threshold at which the next one starts."""
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


def stop_or_resume(history: GovernedHistory, measured: Measured) -> None:
    """Stop automatic compactions while the last two ended too close to their threshold."""
    governor = history.governor
    situation = governor.situation(measured)
    if situation.is_past_threshold and is_thrashing(history.state, history.agent, situation.threshold_tokens):
        governor.stop()
    elif governor.is_stopped:
        governor.suppressed_lengths = range(0)


def urgency_of(plan: Plan | None) -> Urgency:
    if plan is None:
        return ""
    return "now" if plan.waits or plan.texts_only else "background"


def is_within_turn(history: GovernedHistory, measured: Measured) -> bool:
    """Whether a finished compaction waits for the next turn: by turns, it applies from the next one on (G3e)."""
    return history.policy.rule is CompactionRule.TURNS and bool(measured.live) and not is_prompt(measured.live[-1])
