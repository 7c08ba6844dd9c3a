"""Whether the policy compacts the conversation now, and which messages (G3). Pure."""

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.context.compact import by_code
from co_tui.context.compact.replacement import difference, first_and_last_texts
from co_tui.context.compact.thresholds import Thresholds, run_threshold, thresholds_of
from co_tui.context.indexed_history import REPLACEMENT, Cut, IndexedHistory, Tokens
from co_tui.context.measure.count import Reading
from co_tui.context.policy import CompactionRule, Policy, SummaryFallback, default_policy
from co_tui.context.policy_protocol import PolicyContext, PolicyMessages
from co_tui.events.triggers import Trigger
from co_tui.settings.rules import in_window

LEAST_FREED = 0.1
"""A compaction that frees a smaller share of the conversation loses more than it gains."""
WELL_BELOW = 0.85
"""Of the threshold: a compaction that ends higher would trigger the next one too soon."""
MUCH_NEW = 0.3
"""Of the threshold: after compactions that ended too high, another one waits until it can replace so much."""
PLANNED = 0.8
"""Of the threshold: the target, leaving room for headings and for messages that arrive until then."""
LEAST_LEFT_TOKENS = 200
"""In estimated tokens: a shorter summary is useless."""
LEAST_LEFT_SHARE = 0.025
"""Of the window: replaces `LEAST_LEFT_TOKENS` where it is less."""
RECENT_MESSAGES = 8
"""The longest of these predicts the length of the next message."""
MOST_GROWTH = 0.15
"""Of the room for a summary: at most this is reserved for messages that arrive until then."""
FIXED_PART_SHARE = 0.85
"""Of the window: if what cannot be compacted takes this much, compaction does not help."""


class Plan(NamedTuple):
    """A compaction to run."""

    cut: Cut
    waits: bool
    """Whether the request waits for it; otherwise it runs in the background."""
    drops_first: bool = False
    """The cut leaves at once; its summary joins the first prompt that is left, once it is written."""
    texts_only: bool = False
    """No summary: each turn keeps its first and last text."""
    focus: str = ""
    """What the summary should focus on."""
    room_tokens: float = math.inf
    """Maximum size of what replaces the cut."""


class Situation:
    """A conversation before a request, and what its policy decides. Never changes."""

    def __init__(
        self,
        history: IndexedHistory,
        reading: Reading,
        policy: Policy,
        tokens: Tokens,
        pinned: Collection[int] = (),
        ratio: float = 1.0,
        request: Sequence[ModelMessage] = (),
    ) -> None:
        """`ratio` is model tokens per estimated token; `request` is the history as it is sent, with its tool outputs
        shortened."""
        self.history, self.reading, self.policy, self.tokens = history, reading, policy, tokens
        self.pinned, self.ratio, self.request = pinned, ratio, request
        self.window_tokens = max(1, reading.window.tokens)
        self.thresholds = (
            Thresholds()  # its code decides, not a threshold
            if policy.rule is CompactionRule.PYTHON
            else thresholds_of(policy, self.window_tokens, reading.fixed_tokens)
        )
        share, blocking_share = self.thresholds.share, self.thresholds.blocking_share
        self.share = reading.share
        self.threshold_tokens = (share or 0.0) * self.window_tokens
        """Where compaction starts; 0 if the policy does not use tokens."""
        self.is_past_threshold = share is not None and self.share >= share
        """Whether the policy compacts at this fill level."""
        # The request would be truncated unless it waits, since its length is not known well enough. Other systems wait
        # by their thresholds alone.
        may_not_fit = bool(policy.compacted_share) and reading.most_tokens > self.window_tokens
        self.is_past_blocking_threshold = blocking_share is not None and (self.share >= blocking_share or may_not_fit)
        """Whether requests wait for a compaction at this fill level."""
        pinned_tokens = sum(tokens(history[index]) for index in pinned)
        self.is_fixed = reading.fixed_tokens + pinned_tokens >= FIXED_PART_SHARE * reading.window.tokens
        """Whether instructions, tools and pinned messages nearly fill the window, so that compaction cannot help."""

    def under(self, policy: Policy) -> "Situation":
        """The same under another policy."""
        return Situation(self.history, self.reading, policy, self.tokens, self.pinned, self.ratio, self.request)

    def held_tokens(self, indexes: Collection[int]) -> float:
        sent = self.request or self.history
        return sum(self.tokens(sent[index]) for index in indexes)

    @cached_property
    def plan(self) -> Plan | None:
        """The compaction the policy asks for; None if none is needed or it could not free enough. Raises `PolicyFailed`
        if the policy's own code fails."""
        return _decide(self)


def _decide(situation: Situation) -> Plan | None:
    policy, history = situation.policy, situation.history
    if len(history) < policy.min_compaction_messages:
        return None
    match policy.rule:
        case CompactionRule.WINDOW:
            return _window(situation)
        case CompactionRule.TURNS:
            return _turns(situation)
        case CompactionRule.COMPRESS | CompactionRule.BACKGROUND | CompactionRule.RUN:
            return _worth_it(situation, _by_tokens(situation))
        case CompactionRule.PYTHON:
            found = _asked(situation)
            return _worth_it(situation, Plan(found[1], found[0].waits, focus=found[0].focus)) if found else None
        case CompactionRule.NONE:
            return None


def next_cut(situation: Situation, *, waits: bool = False) -> Cut | None:
    """What the policy would replace if it compacted now, whether or not it does."""
    history, policy, pinned = situation.history, situation.policy, situation.pinned
    match policy.rule:
        case CompactionRule.WINDOW:
            return history.window_cut(policy.max_history_messages, pinned)
        case CompactionRule.TURNS:
            return history.turns_cut(len(history.turn_starts) // 2, Trigger.TURNS, pinned)
        case CompactionRule.COMPRESS:
            return history.share_cut(Trigger.BLOCKING, pinned=pinned)
        case CompactionRule.BACKGROUND:
            return _before_tail(situation, Trigger.BLOCKING if waits else Trigger.BACKGROUND)
        case CompactionRule.RUN:
            return history.run_cut(Trigger.BLOCKING, pinned)
        case CompactionRule.PYTHON:
            return asked_cut(situation, Trigger.BLOCKING)
        case CompactionRule.NONE:
            return None


def asked_cut(situation: Situation, trigger: Trigger) -> Cut | None:
    """What the policy's own code would replace if it were asked now; if it fails, what the default policy would."""
    try:
        found = _asked(situation, asked=True)
    except by_code.PolicyFailed:
        return next_cut(situation.under(default_policy()))
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


def frees_enough(situation: Situation, cut: Cut) -> bool:
    """Whether removing the cut would free a tenth of the conversation."""
    held = situation.held_tokens(cut.replaced)
    return held >= LEAST_FREED * max(1, situation.reading.conversation_tokens)


def would_end_well(situation: Situation, replacement_tokens: float) -> bool:
    """Whether a compaction would replace much that is new and end well below the threshold, though earlier ones did
    not: what they could not replace, because it had just come, may be behind now."""
    cut = next_cut(situation, waits=situation.is_past_blocking_threshold)
    if cut is None:
        return False
    new = [index for index in cut.replaced if not situation.history.kinds[index] & REPLACEMENT]
    left = situation.reading.current_tokens - situation.held_tokens(cut.replaced) + replacement_tokens
    threshold = situation.threshold_tokens
    return situation.held_tokens(new) >= MUCH_NEW * threshold and left <= WELL_BELOW * threshold


def fallback_cut(situation: Situation, cut: Cut) -> Cut | None:
    """The part of a cut to remove without a summary: under fixed limits, only what exceeds them."""
    policy, history = situation.policy, situation.history
    if policy.fallback is not SummaryFallback.LIMITS:
        return cut
    recent = history.recent_start(policy.fallback_tokens, situation.tokens)
    start = max(recent, history.cut_before(len(history) - policy.fallback_messages))
    beyond = tuple(index for index in cut.replaced if index < start)
    return Cut(beyond, cut.trigger) if beyond else None


def _before_tail(situation: Situation, trigger: Trigger) -> Cut | None:
    """Everything but the newest messages that fit the share kept verbatim."""
    history, policy = situation.history, situation.policy
    left_tokens = max(0, situation.window_tokens - situation.reading.fixed_tokens)
    room = in_window(policy.keep_recent_share, situation.window_tokens) * left_tokens
    if not room:
        return history.share_cut(trigger, pinned=situation.pinned)
    start = history.recent_start(min(room, policy.keep_recent_tokens or room), situation.tokens)
    if trigger is Trigger.BLOCKING:  # in the background the model sees everything before it is removed
        start = min(start, history.unseen_start())
    return history.share_cut(trigger, keep_from=start, pinned=situation.pinned)


def _window(situation: Situation) -> Plan | None:
    """Over the maximum of messages, what is in the middle."""
    history, most = situation.history, situation.policy.max_history_messages
    cut = next_cut(situation) if most and len(history) > most else None
    return Plan(cut, waits=True) if cut else None


def _by_tokens(situation: Situation) -> Plan | None:
    """Past the threshold, what the rule replaces."""
    if not situation.is_past_threshold:
        return None
    policy, rule = situation.policy, situation.policy.rule
    waits = rule is not CompactionRule.BACKGROUND or situation.is_past_blocking_threshold
    cut = next_cut(situation, waits=waits)
    if rule is CompactionRule.COMPRESS and situation.share >= run_threshold(policy, situation.window_tokens):
        history, pinned = situation.history, situation.pinned
        cut = cut if cut and frees_enough(situation, cut) else history.run_cut(Trigger.BLOCKING, pinned)
    return Plan(cut, waits) if cut else None


def _turns(situation: Situation) -> Plan | None:
    """Check the number of turns, then the token budget, in one pass (G3e, G3f)."""
    policy, history = situation.policy, situation.history
    turns = len(history.turn_starts)
    by_turns = next_cut(situation) if 0 < policy.agent_max_context_turns < turns else None
    held = sum(situation.tokens(history[index]) for index in by_turns.replaced) if by_turns else 0
    budget_tokens = min(policy.agent_max_context_tokens, situation.window_tokens)
    if not policy.agent_max_context_tokens or situation.reading.current_tokens - held <= budget_tokens:
        return Plan(by_turns, waits=False, drops_first=True) if by_turns else None
    gone = turns // 2 if by_turns else 0
    # Texts alone lose the identity of messages, and with it the pins.
    if turns - gone < policy.few_turns and not situation.pinned:
        if by_turns:
            return Plan(by_turns, waits=True)  # the rest is checked again before the request is sent
        cut = history.share_cut(Trigger.BUDGET)
        shortens = cut is not None and difference(history, first_and_last_texts(history)).replaced
        return Plan(cut, waits=True, texts_only=True) if cut and shortens else None
    cut = history.turns_cut(gone + (turns - gone) // 2, Trigger.BUDGET, situation.pinned)
    return Plan(cut, waits=True) if cut else None
