"""What to compact: on demand, when the model asks, and automatically; and when that stops (C15)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelResponse

from co_tui.context.compact.decide import (
    LEAST_FREED,
    LEAST_LEFT_TOKENS,
    WELL_BELOW,
    Plan,
    Situation,
    asked_cut,
    frees_enough,
    would_end_well,
)
from co_tui.context.indexed_history import PROMPT, REPLACEMENT, REPLY, Cut
from co_tui.context.policy import CompactionRule, Policy
from co_tui.context.request.pipeline import Governor, Measured
from co_tui.events import (
    Clear,
    CompactionComplete,
    CompactionUndone,
    DelegationStart,
    ModelChange,
    PolicyChange,
    Ref,
    Rewind,
)
from co_tui.events.triggers import Trigger
from co_tui.session.compaction.background_compaction import Urgency
from co_tui.session.compaction.compaction_notices import FIXED_PART, NO_ROOM, STOPPED
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.state.session_state import Entry, SessionState

MUCH_FREED: Final = 0.5
"""Of the conversation: what is before the newest turn is compacted alone if it is this much."""


def requested_cut(governor: Governor, measured: Measured, trigger: Trigger, *, deep: bool = False) -> Cut | None:
    """What to replace on demand: all but the last turn if the policy keeps recent turns, else all answered messages;
    if `deep`, all but the newest step."""
    live, pinned = measured.live, measured.pinned
    if deep:
        return live.whole_cut(trigger, upto=live.latest(REPLY), pinned=pinned)
    if trigger.is_emergency:
        situation = governor.situation(measured)
        earlier = (live.share_cut(trigger, pinned=pinned), live.run_cut(trigger, pinned))
        worth = (cut for cut in earlier if cut is not None and frees_enough(situation, cut))
        return next(worth, None) or live.whole_cut(trigger, pinned=pinned)
    if governor.policy.rule is CompactionRule.PYTHON and (cut := asked_cut(governor.situation(measured), trigger)):
        return cut
    if governor.policy.keep_recent_share and len(live.turn_starts) > 1:
        cut = live.whole_cut(trigger, upto=live.latest_prompt, pinned=pinned)
        held = sum(governor.meter.tokens(live[index]) for index in cut.replaced) if cut else 0
        if cut is not None and held >= _least_before_newest(governor, measured, trigger):
            return cut
    return live.whole_cut(trigger, pinned=pinned)


def _least_before_newest(governor: Governor, measured: Measured, trigger: Trigger) -> float:
    """How many tokens before the newest turn are worth a compaction of their own.

    A person expects what was said last to stay, so that a little is enough, above all while that turn is not finished.
    Asked once more, the newest turn goes, too.
    """
    conversation = measured.reading.conversation_tokens
    if trigger is not Trigger.MANUAL:
        return MUCH_FREED * conversation
    last = measured.live[-1]
    is_unfinished = isinstance(last, ModelResponse) and last.state == "interrupted"
    a_summary = 0 if is_unfinished else 2 * LEAST_LEFT_TOKENS * governor.meter.ratio
    return min(MUCH_FREED * conversation, max(LEAST_FREED * conversation, a_summary))


def cut_up_to(entries: Sequence[Entry], measured: Measured, trigger: Trigger, upto: Ref) -> Cut | None:
    """Everything before a message."""
    index = next((n for n, entry in enumerate(entries) if entry.ref == upto), len(entries))
    origins = enumerate(measured.origins)
    end = next((n for n, origin in origins if origin is not None and origin >= index), len(measured.live))
    return measured.live.whole_cut(trigger, upto=end, pinned=measured.pinned)


def why_nothing(measured: Measured) -> str:
    """Why a compaction on demand has nothing to replace."""
    kinds = measured.live.kinds
    is_open = not kinds[-1] & (REPLY | REPLACEMENT)
    if measured.pinned or is_open or not any(kind & REPLACEMENT for kind in kinds):
        return "the rest is pinned or not answered yet"
    return "everything is summarised already"


MOST_IN_A_ROW: Final = 2
MUCH_FIXED: Final = 0.4
"""Share of the window: if instructions and tools take this much, they are why no compaction helps."""
SAME_MARK: Final = 0.1
"""A threshold that moved by more than this share: the window, the tools or the settings changed since."""


def is_thrashing(state: SessionState, agent: str, mark_tokens: float) -> bool:
    """Whether the last compactions ended too close to the threshold at which the next one starts."""
    above = 0
    for event in reversed(state.timeline):
        fact = event.fact
        if isinstance(fact, ModelChange | PolicyChange | Clear | Rewind | CompactionUndone):
            return False
        if isinstance(fact, DelegationStart) and fact.agent == agent:
            return False  # what happened before has nothing to do with it
        if not isinstance(fact, CompactionComplete) or not fact.success or fact.agent != agent:
            continue
        has_moved = abs(fact.mark_tokens - mark_tokens) > SAME_MARK * mark_tokens
        if has_moved or fact.post_tokens <= WELL_BELOW * fact.mark_tokens:
            return False
        above += 1
        if above == MOST_IN_A_ROW:
            return True
    return False


class Decision(NamedTuple):
    """What to do before a request."""

    plan: Plan | None
    """What the model or the policy asks for, if it may help."""
    notice: str = ""
    """The kind of notice that compacting does not help; empty if it may help."""

    @property
    def urgency(self) -> Urgency:
        if self.plan is None:
            return ""
        return "now" if self.plan.waits or self.plan.texts_only else "background"


def decide(history: GovernedHistory, measured: Measured, focus: str | None, *, turn_ended: bool = False) -> Decision:
    """What to do now; with a `focus` first what the model asked for, if that would free enough."""
    governor = history.governor
    situation = governor.situation(measured)
    plan = model_requested_plan(governor, measured, focus) if focus is not None else None
    if plan is None:
        _stop_or_resume(history, situation)
        plan = governor.decide(measured)
        fits = measured.reading.current_tokens <= measured.reading.window.tokens
        if governor.policy.holds_to_turn_end and not turn_ended and fits:
            plan = None
    if situation.is_fixed:
        return Decision(plan if plan is not None and plan.texts_only else None, FIXED_PART)
    return Decision(plan, _notice(governor, measured) if governor.is_stuck(measured) else "")


def model_requested_plan(governor: Governor, measured: Measured, focus: str) -> Plan | None:
    """What the model asked for, if it would free enough."""
    cut = measured.live.share_cut(Trigger.MODEL_REQUEST, pinned=measured.pinned)
    if cut is None or not frees_enough(governor.situation(measured), cut):
        return None
    return Plan(cut, waits=False, focus=focus)


def _stop_or_resume(history: GovernedHistory, situation: Situation) -> None:
    """Stop automatic compactions while the last two ended too close to their threshold and another one would, too."""
    governor = history.governor
    if (
        situation.is_past_threshold
        and is_thrashing(history.state, history.agent, situation.threshold_tokens)
        and not would_end_well(situation, governor.summary_tokens)
    ):
        governor.stop()
    elif governor.is_stopped:
        governor.suppressed_lengths = range(0)


def _notice(governor: Governor, measured: Measured) -> str:
    """The kind of notice for a request that no compaction helps; empty if that ends with a long turn."""
    if governor.is_stopped:
        return STOPPED
    reading = measured.reading
    return NO_ROOM if reading.fixed_tokens >= MUCH_FIXED * reading.window.tokens else ""


def is_within_turn(policy: Policy, measured: Measured) -> bool:
    """Whether a finished compaction waits for the next turn: by turns, it applies from the next one on (G3e)."""
    return policy.rule is CompactionRule.TURNS and bool(measured.live) and not measured.live.kinds[-1] & PROMPT
