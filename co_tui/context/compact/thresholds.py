"""Where a policy acts by itself: the one place that says so, for deciding and for telling. Imports nothing heavy."""

import math
from typing import NamedTuple

from co_tui.context.policy import CompactionRule, Policy
from co_tui.settings.by_window import ByWindow, in_window

SMALL_WINDOW, LARGE_WINDOW = 8_000, 1_000_000
"""Between these, the share at which a run is compressed rises from its low to its high value."""
LATEST_SHARE = 0.95
"""Of the window: the rest is for the reply, also where instructions and tools move the marks up."""


class Marks(NamedTuple):
    """How far a conversation may grow before it is compacted; None where the policy does not look at that."""

    share: float | None = None
    """Of the window: from here on compaction is due."""
    waiting_share: float | None = None
    """Of the window: from here on the request waits for it."""
    messages: int | None = None
    """More messages than this are too many."""
    turns: int | None = None
    """More turns than this are too many."""


def run_threshold(policy: Policy, window_tokens: int) -> float:
    """The share of the window at which a run's own results are compressed: the larger the model, the later."""
    low, high = policy.run_compression_low, policy.run_compression_high
    reach = math.log(max(1, window_tokens) / SMALL_WINDOW) / math.log(LARGE_WINDOW / SMALL_WINDOW)
    return low + (high - low) * min(1.0, max(0.0, reach))


def marks(policy: Policy, window_tokens: int, fixed_tokens: float = 0.0) -> Marks:
    """`fixed_tokens` is what instructions and tools take of the window."""
    match policy.rule:
        case CompactionRule.BACKGROUND:
            waiting = _mark(policy.buffer_exhaustion_threshold, window_tokens, fixed_tokens)
            begins = _mark(policy.background_compaction_threshold, window_tokens, fixed_tokens)
            return Marks(share=min(begins, waiting), waiting_share=waiting)
        case CompactionRule.COMPRESS:
            return Marks(share=policy.compression_threshold)
        case CompactionRule.WINDOW:
            return Marks(messages=policy.max_history_messages or None)
        case CompactionRule.TURNS:
            budget = policy.agent_max_context_tokens
            share = min(1.0, budget / window_tokens) if budget and window_tokens > 0 else None
            return Marks(share=share, turns=policy.agent_max_context_turns or None)
        case CompactionRule.RUN:
            return Marks(share=run_threshold(policy, window_tokens))
        case CompactionRule.NONE:
            return Marks()


def _mark(number: float | ByWindow, window_tokens: int, fixed_tokens: float) -> float:
    """A plain number is a share of the window, as the systems we reproduce have it. A number by window is a share of
    what instructions and tools leave of the window."""
    share = in_window(number, window_tokens)
    if not isinstance(number, ByWindow) or window_tokens <= 0:
        return share
    fixed = min(1.0, fixed_tokens / window_tokens)
    return min(fixed + share * (1 - fixed), max(share, LATEST_SHARE))
