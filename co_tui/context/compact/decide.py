"""Whether the policy compacts the conversation now, and which messages (G3). Pure."""

import math
from typing import NamedTuple

from co_tui.context.compact import by_code, cuts
from co_tui.context.compact.cuts import Cut
from co_tui.context.compact.replacement import difference
from co_tui.context.compact.situation import Situation
from co_tui.context.compact.thresholds import run_threshold
from co_tui.context.policy import CompactionRule, SummaryFallback, default_policy
from co_tui.context.policy_protocol import PolicyContext, PolicyMessages
from co_tui.context.turns import is_replacement, turn_starts
from co_tui.events.triggers import Trigger
from co_tui.settings.rules import in_window

LEAST_FREED = 0.1
"""A compaction that frees a smaller share of the conversation loses more than it gains."""
WELL_BELOW = 0.85
"""Of the threshold: a compaction that ends higher would trigger the next one too soon."""
PLANNED = 0.8
"""Of the threshold: the target, leaving room for headings and for messages that arrive meanwhile."""
LEAST_LEFT_TOKENS = 200
"""In estimated tokens: a shorter summary is useless."""
LEAST_LEFT_SHARE = 0.025
"""Of the window: replaces `LEAST_LEFT_TOKENS` where it is less."""
RECENT_MESSAGES = 8
"""The longest of these predicts the length of the next message."""
MOST_GROWTH = 0.5
"""Of the room for a summary: at most this is reserved for messages that arrive meanwhile."""
LEAST_SLIDE = 0.3
"""Of the message window: it does not slide by less."""


class Plan(NamedTuple):
    """A compaction to run."""

    cut: Cut
    waits: bool
    """Whether the request waits for it; otherwise it runs in the background."""
    texts_only: bool = False
    """No summary: each turn keeps its first and last text."""
    focus: str = ""
    """What the summary should focus on."""
    room_tokens: float = math.inf
    """Maximum size of what replaces the cut."""


def decide(situation: Situation) -> Plan | None:
    """The compaction the policy asks for; None if none is needed or it could not free enough.

    Raises `PolicyFailed` if the policy's own code fails.
    """
    if len(situation.history) < situation.policy.min_compaction_messages:
        return None
    match situation.policy.rule:
        case CompactionRule.WINDOW:
            return _window(situation)
        case CompactionRule.TURNS:
            return _turns(situation)
        case CompactionRule.COMPRESS:
            return _worth_it(situation, _compress(situation))
        case CompactionRule.BACKGROUND:
            return _worth_it(situation, _background(situation))
        case CompactionRule.RUN:
            return _worth_it(situation, _run(situation))
        case CompactionRule.PYTHON:
            return _worth_it(situation, _by_code(situation))
        case CompactionRule.NONE:
            return None


def next_cut(situation: Situation) -> Cut | None:
    """What the policy would replace if it compacted now, whether or not it does."""
    history, policy, pinned = situation.history, situation.policy, situation.pinned
    match policy.rule:
        case CompactionRule.WINDOW:
            return cuts.beyond_window(history, policy.max_history_messages, pinned)
        case CompactionRule.TURNS:
            return cuts.oldest_turns(history, len(turn_starts(history)) // 2, Trigger.TURNS, pinned)
        case CompactionRule.COMPRESS:
            return cuts.share_cut(history, Trigger.BLOCKING, pinned=pinned)
        case CompactionRule.BACKGROUND:
            return before_tail(situation, Trigger.BACKGROUND)
        case CompactionRule.RUN:
            return cuts.run_cut(history, Trigger.BLOCKING, pinned)
        case CompactionRule.PYTHON:
            return asked_cut(situation, Trigger.BLOCKING)
        case CompactionRule.NONE:
            return None


def asked_cut(situation: Situation, trigger: Trigger) -> Cut | None:
    """What the policy's own code would replace if it were asked now; if it fails, what the default policy would."""
    try:
        found = _asked(situation, asked=True)
    except by_code.PolicyFailed:
        return next_cut(situation._replace(policy=default_policy()))
    return found[1]._replace(trigger=trigger) if found is not None else None


def _asked(situation: Situation, *, asked: bool = False) -> tuple[by_code.Decision, Cut] | None:
    """What the policy's own code decides. Raises `PolicyFailed`."""
    assert situation.policy.policy_code is not None
    context = PolicyContext(
        PolicyMessages(situation.history, situation.pinned, situation.tokens),
        situation.window_tokens,
        situation.reading.current_tokens,
        situation.reading.fixed_tokens,
        asked,
        situation.ratio,
    )
    return by_code.ask(situation.policy.policy_code, context)


def _by_code(situation: Situation) -> Plan | None:
    found = _asked(situation)
    if found is None:
        return None
    decision, cut = found
    return Plan(cut, decision.waits, focus=decision.focus)


def _worth_it(situation: Situation, plan: Plan | None) -> Plan | None:
    """The plan with its room; None if no summary could be short enough."""
    if plan is None:
        return None
    room = room_for(situation, plan.cut)
    if not plan.waits:
        room -= min(room * MOST_GROWTH, _growth(situation))
    return plan._replace(room_tokens=room) if is_enough(room, situation.ratio, situation.window_tokens) else None


def _growth(situation: Situation) -> float:
    """How much the conversation may grow while a summary is written in the background."""
    return max(map(situation.tokens, situation.history[-RECENT_MESSAGES:]), default=0.0)


def room_for(situation: Situation, cut: Cut) -> float:
    """The maximum size of what replaces a cut, so that it frees a tenth of the conversation and ends well below the
    compaction threshold."""
    held = situation.held_tokens(cut.replaced)
    room = held - LEAST_FREED * situation.reading.conversation_tokens
    if threshold := situation.threshold_tokens:
        room = min(room, PLANNED * threshold - (situation.reading.current_tokens - held))
    return room


def is_enough(room_tokens: float, ratio: float, window_tokens: int) -> bool:
    """Whether a useful summary fits."""
    return room_tokens >= min(LEAST_LEFT_TOKENS, LEAST_LEFT_SHARE * window_tokens) * ratio


def is_stuck(situation: Situation) -> bool:
    """Whether requests would have to wait, but no compaction could end well below the threshold."""
    return situation.is_past_blocking_threshold and decide(situation) is None


def frees_enough(situation: Situation, cut: Cut) -> bool:
    """Whether removing the cut would free a tenth of the conversation."""
    held = situation.held_tokens(cut.replaced)
    return held >= LEAST_FREED * max(1, situation.reading.conversation_tokens)


def fallback_cut(situation: Situation, cut: Cut) -> Cut | None:
    """The part of a cut to remove without a summary: under fixed limits, only what exceeds them."""
    if situation.policy.fallback is not SummaryFallback.LIMITS:
        return cut
    policy = situation.policy
    start = cuts.newest_start(situation.history, policy.fallback_messages, policy.fallback_tokens, situation.tokens)
    beyond = tuple(index for index in cut.replaced if index < start)
    return Cut(beyond, cut.trigger) if beyond else None


def before_tail(situation: Situation, trigger: Trigger) -> Cut | None:
    """Everything but the newest messages that fit the share kept verbatim."""
    room = in_window(situation.policy.keep_recent_share, situation.window_tokens) * situation.left_tokens
    if not room:
        return cuts.share_cut(situation.history, trigger, pinned=situation.pinned)
    room = min(room, situation.policy.keep_recent_tokens or room)
    start = cuts.recent_start(situation.history, room, situation.tokens)
    if trigger is Trigger.BLOCKING:  # in the background the model sees everything before it is removed
        start = min(start, cuts.unseen_start(situation.history))

    return cuts.share_cut(situation.history, trigger, keep_from=start, pinned=situation.pinned)


def _window(situation: Situation) -> Plan | None:
    most = situation.policy.max_history_messages
    cut = cuts.window_cut(situation.history, most, situation.pinned)
    # A long first run leaves little between it and the tail: do not compact for every message or two.
    new = sum(not is_replacement(situation.history[index]) for index in cut.replaced) if cut else 0
    return Plan(cut, waits=True) if cut and new >= most * LEAST_SLIDE else None


def _compress(situation: Situation) -> Plan | None:
    policy = situation.policy
    if not situation.is_past_threshold:
        return None
    cut = cuts.share_cut(situation.history, Trigger.BLOCKING, pinned=situation.pinned)
    if (cut is None or not frees_enough(situation, cut)) and situation.share >= run_threshold(
        policy, situation.window_tokens
    ):
        cut = cuts.run_cut(situation.history, Trigger.BLOCKING, situation.pinned)
    return Plan(cut, waits=True) if cut else None


def _run(situation: Situation) -> Plan | None:
    if not situation.is_past_threshold:
        return None
    cut = cuts.run_cut(situation.history, Trigger.BLOCKING, situation.pinned)
    return Plan(cut, waits=True) if cut else None


def _turns(situation: Situation) -> Plan | None:
    """Check the number of turns, then the token budget, in one pass (G3e, G3f)."""
    policy = situation.policy
    by_turns = cuts.turns_cut(situation.history, policy.agent_max_context_turns, situation.pinned)
    held = sum(situation.tokens(situation.history[index]) for index in by_turns.replaced) if by_turns else 0
    if not policy.agent_max_context_tokens or situation.reading.current_tokens - held <= budget_tokens(situation):
        return Plan(by_turns, waits=False) if by_turns else None
    starts = turn_starts(situation.history)
    gone = len(starts) // 2 if by_turns else 0
    # Texts alone lose the identity of messages, and with it the pins.
    if len(starts) - gone < policy.few_turns and not situation.pinned:
        if by_turns:
            return Plan(by_turns, waits=True)  # the rest is checked again before the request is sent
        cut = cuts.share_cut(situation.history, Trigger.BUDGET, pinned=situation.pinned)
        shorter = difference(situation.history, cuts.first_and_last_texts(situation.history)).replaced
        return Plan(cut, waits=True, texts_only=True) if cut and shorter else None
    cut = cuts.oldest_turns(situation.history, gone + (len(starts) - gone) // 2, Trigger.BUDGET, situation.pinned)
    return Plan(cut, waits=True) if cut else None


def budget_tokens(situation: Situation) -> int:
    """The policy's token budget, at most the window."""
    return min(situation.policy.agent_max_context_tokens, situation.window_tokens)


def _background(situation: Situation) -> Plan | None:
    if not situation.is_past_threshold:
        return None
    waits = situation.is_past_blocking_threshold
    cut = before_tail(situation, Trigger.BLOCKING if waits else Trigger.BACKGROUND)
    return Plan(cut, waits) if cut else None
