"""Whether the policy wants the conversation compacted now, and what of it (G3). Pure: nothing is remembered here."""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.context.compact import cuts
from co_tui.context.compact.cuts import Cut, Tokens
from co_tui.context.compact.replacement import difference
from co_tui.context.compact.thresholds import Marks, marks, run_threshold
from co_tui.context.measure.count import Reading
from co_tui.context.policy import CompactionRule, Policy, SummaryFallback
from co_tui.context.turns import holds_summary, stands_in, turn_starts
from co_tui.events.triggers import Trigger
from co_tui.settings.by_window import in_window

LEAST_FREED = 0.1
"""A compaction that frees less of the conversation than this is not worth its loss."""
WELL_BELOW = 0.8
"""Of its mark: a compaction that ends higher would start the next one too soon."""
PLANNED = 0.75
"""Of its mark: aimed at, since headings and what is said meanwhile come on top."""
LEAST_LEFT_TOKENS = 200
"""As we estimate them: with less room a summary says nothing."""
LEAST_LEFT_SHARE = 0.025
"""Of a window so small that this is even less."""
RECENT_MESSAGES = 8
"""The longest of these is about what comes next."""
MOST_GROWTH = 0.5
"""Of the room for a summary: no more is kept free for what is said meanwhile."""
LEAST_SLIDE = 0.3
"""Of the window of messages: it does not slide for fewer."""


class Plan(NamedTuple):
    """What is to be summarised."""

    cut: Cut
    waits: bool
    """Whether the request has to wait for it; otherwise it runs beside the turn."""
    texts_only: bool = False
    """No summary is made: each turn keeps its first and last text."""
    focus: str = ""
    """What the summary should pay special attention to."""
    room_tokens: float = math.inf
    """The most that may take the place of the cut."""


class Situation(NamedTuple):
    """A conversation as it stands before a request."""

    history: Sequence[ModelMessage]
    reading: Reading
    policy: Policy
    tokens: Tokens
    pinned: Collection[int] = ()
    ratio: float = 1.0
    """Tokens of the model for each one we estimate."""
    request: Sequence[ModelMessage] = ()
    """The history as it is sent, with its tool outputs shortened."""

    @property
    def window_tokens(self) -> int:
        return max(1, self.reading.window.tokens)

    @property
    def left_tokens(self) -> int:
        """What instructions and tools leave of the window."""
        return max(0, self.window_tokens - self.reading.fixed_tokens)

    def held_tokens(self, indexes: Collection[int]) -> float:
        sent = self.request or self.history
        return sum(self.tokens(sent[index]) for index in indexes)

    @property
    def share(self) -> float:
        return self.reading.share

    @property
    def marks(self) -> Marks:
        return marks(self.policy, self.window_tokens, self.reading.fixed_tokens)

    @property
    def mark_tokens(self) -> float:
        """Where compaction is due; 0 when the policy does not go by tokens."""
        return (self.marks.share or 0.0) * self.window_tokens

    @property
    def is_past_mark(self) -> bool:
        """Whether the window is filled so far that the policy acts."""
        return self.marks.share is not None and self.share >= self.marks.share

    @property
    def is_past_waiting_mark(self) -> bool:
        """Whether it is filled so far that requests wait for a compaction."""
        waiting_share = self.marks.waiting_share
        return waiting_share is not None and self.share >= waiting_share


def decide(situation: Situation) -> Plan | None:
    """What the policy wants now; None when all is well or a compaction could not free enough."""
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
        case CompactionRule.NONE:
            return None


def next_cut(situation: Situation) -> Cut | None:
    """What the policy would have replaced if it acted on the conversation as it is, whether or not that is due."""
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
        case CompactionRule.NONE:
            return None


def _worth_it(situation: Situation, plan: Plan | None) -> Plan | None:
    """The plan with the room it has; None when no summary could be short enough."""
    if plan is None:
        return None
    room = room_for(situation, plan.cut)
    if not plan.waits:
        room -= min(room * MOST_GROWTH, _growth(situation))
    return plan._replace(room_tokens=room) if is_enough(room, situation.ratio, situation.window_tokens) else None


def _growth(situation: Situation) -> float:
    """By how much the conversation may grow until a summary that is written in the background is there."""
    return max(map(situation.tokens, situation.history[-RECENT_MESSAGES:]), default=0.0)


def room_for(situation: Situation, cut: Cut) -> float:
    """The most that may take the place of a cut, so that it frees a tenth of the conversation and ends well below the
    mark at which compaction is due."""
    held = situation.held_tokens(cut.replaced)
    room = held - LEAST_FREED * situation.reading.conversation_tokens
    if mark := situation.mark_tokens:
        room = min(room, PLANNED * mark - (situation.reading.current_tokens - held))
    return room


def is_enough(room_tokens: float, ratio: float, window_tokens: int) -> bool:
    """Whether a summary of any use fits."""
    return room_tokens >= min(LEAST_LEFT_TOKENS, LEAST_LEFT_SHARE * window_tokens) * ratio


def is_stuck(situation: Situation) -> bool:
    """Whether the window is as full as it may be and no compaction could end well below its mark."""
    return situation.is_past_waiting_mark and decide(situation) is None


def frees_enough(situation: Situation, cut: Cut) -> bool:
    """Whether even a summary of no length would free a tenth of the conversation."""
    held = situation.held_tokens(cut.replaced)
    return held >= LEAST_FREED * max(1, situation.reading.conversation_tokens)


def fallback_cut(situation: Situation, cut: Cut) -> Cut | None:
    """What of a cut goes without a summary: under fixed limits, only what is beyond them."""
    if situation.policy.fallback is not SummaryFallback.LIMITS:
        return cut
    policy = situation.policy
    start = cuts.newest_start(situation.history, policy.fallback_messages, policy.fallback_tokens, situation.tokens)
    beyond = tuple(index for index in cut.replaced if index < start)
    return Cut(beyond, cut.trigger) if beyond else None


def before_tail(situation: Situation, trigger: Trigger) -> Cut | None:
    """Everything but the newest messages that fit into the share kept word for word."""
    room = in_window(situation.policy.keep_recent_share, situation.window_tokens) * situation.left_tokens
    if not room:
        return cuts.share_cut(situation.history, trigger, pinned=situation.pinned)
    start = cuts.recent_start(situation.history, room, situation.tokens)
    if trigger is Trigger.BLOCKING:  # otherwise the model sees all of it before any of it goes
        start = min(start, cuts.unseen_start(situation.history))

    def cut_beside(kept: Sequence[int]) -> Cut | None:
        return cuts.share_cut(situation.history, trigger, keep_from=start, pinned=(*situation.pinned, *kept))

    standing = _standing_summaries(situation)
    cut = cut_beside(standing)
    if standing and (cut is None or not is_enough(room_for(situation, cut), situation.ratio, situation.window_tokens)):
        return cut_beside(()) or cut  # they become one where they leave too little room for another
    return cut


def _standing_summaries(situation: Situation) -> Sequence[int]:
    """Those that stay as they are, so that the beginning of the request stays the same."""
    found = [index for index, message in enumerate(situation.history) if holds_summary(message)]
    held = sum(situation.tokens(situation.history[index]) for index in found)
    most = in_window(situation.policy.merged_share, situation.window_tokens) * situation.left_tokens
    return found if held < most else ()


def _window(situation: Situation) -> Plan | None:
    most = situation.policy.max_history_messages
    cut = cuts.window_cut(situation.history, most, situation.pinned)
    # A long first run leaves little between it and the tail: then not for every message or two.
    new = sum(not stands_in(situation.history[index]) for index in cut.replaced) if cut else 0
    return Plan(cut, waits=True) if cut and new >= most * LEAST_SLIDE else None


def _compress(situation: Situation) -> Plan | None:
    policy = situation.policy
    if not situation.is_past_mark:
        return None
    cut = cuts.share_cut(situation.history, Trigger.BLOCKING, pinned=situation.pinned)
    if (cut is None or not frees_enough(situation, cut)) and situation.share >= run_threshold(
        policy, situation.window_tokens
    ):
        cut = cuts.run_cut(situation.history, Trigger.BLOCKING, situation.pinned)
    return Plan(cut, waits=True) if cut else None


def _run(situation: Situation) -> Plan | None:
    if not situation.is_past_mark:
        return None
    cut = cuts.run_cut(situation.history, Trigger.BLOCKING, situation.pinned)
    return Plan(cut, waits=True) if cut else None


def _turns(situation: Situation) -> Plan | None:
    """Too many turns, then too many tokens: one after the other, in one pass (G3e, G3f)."""
    policy = situation.policy
    by_turns = cuts.turns_cut(situation.history, policy.agent_max_context_turns, situation.pinned)
    held = sum(situation.tokens(situation.history[index]) for index in by_turns.replaced) if by_turns else 0
    if not policy.agent_max_context_tokens or situation.reading.current_tokens - held <= budget_tokens(situation):
        return Plan(by_turns, waits=False) if by_turns else None
    starts = turn_starts(situation.history)
    gone = len(starts) // 2 if by_turns else 0
    # Texts alone would lose which message is which, and with it what is pinned.
    if len(starts) - gone < policy.few_turns and not situation.pinned:
        if by_turns:
            return Plan(by_turns, waits=True)  # what is left is looked at again before the request goes out
        cut = cuts.share_cut(situation.history, Trigger.BUDGET, pinned=situation.pinned)
        shorter = difference(situation.history, cuts.first_and_last_texts(situation.history)).replaced
        return Plan(cut, waits=True, texts_only=True) if cut and shorter else None
    cut = cuts.oldest_turns(situation.history, gone + (len(starts) - gone) // 2, Trigger.BUDGET, situation.pinned)
    return Plan(cut, waits=True) if cut else None


def budget_tokens(situation: Situation) -> int:
    """The policy's budget, and never more than the window."""
    return min(situation.policy.agent_max_context_tokens, situation.window_tokens)


def _background(situation: Situation) -> Plan | None:
    if not situation.is_past_mark:
        return None
    waits = situation.is_past_waiting_mark
    cut = before_tail(situation, Trigger.BLOCKING if waits else Trigger.BACKGROUND)
    return Plan(cut, waits) if cut else None
