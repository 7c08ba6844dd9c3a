"""Whether the policy wants the conversation compacted now, and what of it (G3). Pure: nothing is remembered here."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.context import cuts
from co_tui.context.count import Reading
from co_tui.context.cuts import Cut, Tokens
from co_tui.context.marks import Marks, marks, run_threshold
from co_tui.context.policy import CompactionRule, Policy, SummaryFallback
from co_tui.context.replacement import difference
from co_tui.context.turns import holds_summary, stands_in, turn_starts
from co_tui.events.triggers import Trigger
from co_tui.settings.by_window import in_window

LEAST_FREED = 0.1
"""A compaction that frees less of the conversation than this is not worth its loss."""
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


class Situation(NamedTuple):
    """A conversation as it stands before a request."""

    history: Sequence[ModelMessage]
    reading: Reading
    policy: Policy
    tokens: Tokens
    pinned: Collection[int] = ()

    @property
    def window_tokens(self) -> int:
        return max(1, self.reading.window.tokens)

    @property
    def share(self) -> float:
        return self.reading.share

    @property
    def marks(self) -> Marks:
        return marks(self.policy, self.window_tokens)

    @property
    def is_past_mark(self) -> bool:
        """Whether the window is filled so far that the policy acts."""
        return self.marks.share is not None and self.share >= self.marks.share


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
    return plan if plan and frees_enough(situation, plan.cut) else None


def frees_enough(situation: Situation, cut: Cut) -> bool:
    """Whether even a summary of no length would free a tenth of the conversation."""
    held = sum(situation.tokens(situation.history[index]) for index in cut.replaced)
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
    room = in_window(situation.policy.keep_recent_share, situation.window_tokens) * situation.window_tokens
    if not room:
        return cuts.share_cut(situation.history, trigger, pinned=situation.pinned)
    start = cuts.recent_start(situation.history, room, situation.tokens)
    if trigger is Trigger.BLOCKING:  # otherwise the model sees all of it before any of it goes
        start = min(start, cuts.unseen_start(situation.history))
    return cuts.share_cut(
        situation.history, trigger, keep_from=start, pinned=(*situation.pinned, *_standing_summaries(situation))
    )


def _standing_summaries(situation: Situation) -> Sequence[int]:
    """Those that stay as they are, so that the beginning of the request stays the same."""
    found = [index for index, message in enumerate(situation.history) if holds_summary(message)]
    held = sum(situation.tokens(situation.history[index]) for index in found)
    most = in_window(situation.policy.merged_share, situation.window_tokens) * situation.window_tokens
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
    waiting_share = situation.marks.waiting_share
    waits = waiting_share is not None and situation.share >= waiting_share
    cut = before_tail(situation, Trigger.BLOCKING if waits else Trigger.BACKGROUND)
    return Plan(cut, waits) if cut else None
