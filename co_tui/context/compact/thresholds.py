"""Where a policy compacts automatically; used to decide and to display. Imports nothing heavy."""

import math
from typing import NamedTuple

from co_tui.context.policy import CompactionRule, Policy
from co_tui.settings.rules import ByWindow, in_window

SMALL_WINDOW, LARGE_WINDOW = 8_000, 1_000_000
"""Between these window sizes, the run threshold rises from its low to its high value."""
LATEST_SHARE = 0.95
"""Of the window: the rest is for the reply, even if instructions and tools raise the thresholds."""


class Thresholds(NamedTuple):
    """How far a conversation may grow before compaction; None where the policy sets no limit."""

    share: float | None = None
    """Of the window: compaction starts here."""
    blocking_share: float | None = None
    """Of the window: requests wait for the compaction from here on."""
    messages: int | None = None
    """The maximum number of messages."""
    turns: int | None = None
    """The maximum number of turns."""


def run_threshold(policy: Policy, window_tokens: int) -> float:
    """The share of the window at which a run is compressed; higher for larger windows."""
    low, high = policy.run_compression_low, policy.run_compression_high
    reach = math.log(max(1, window_tokens) / SMALL_WINDOW) / math.log(LARGE_WINDOW / SMALL_WINDOW)
    return low + (high - low) * min(1.0, max(0.0, reach))


def thresholds_of(policy: Policy, window_tokens: int, fixed_tokens: float = 0.0) -> Thresholds:
    """The thresholds of a policy; `fixed_tokens` are instructions and tools."""
    match policy.rule:
        case CompactionRule.BACKGROUND:
            waiting = _threshold(policy.buffer_exhaustion_threshold, window_tokens, fixed_tokens)
            starts_at = policy.note_threshold if policy.writes_notes else policy.background_compaction_threshold
            begins = _threshold(starts_at, window_tokens, fixed_tokens)
            return Thresholds(share=min(begins, waiting), blocking_share=waiting)
        case CompactionRule.COMPRESS:
            return Thresholds(share=policy.compression_threshold)
        case CompactionRule.WINDOW:
            return Thresholds(messages=policy.max_history_messages or None)
        case CompactionRule.TURNS:
            budget = policy.agent_max_context_tokens
            share = min(1.0, budget / window_tokens) if budget and window_tokens > 0 else None
            return Thresholds(share=share, turns=policy.agent_max_context_turns or None)
        case CompactionRule.RUN:
            return Thresholds(share=run_threshold(policy, window_tokens))
        case CompactionRule.PYTHON:
            return Thresholds(share=policy.policy_code.compacts_at if policy.policy_code else None)
        case CompactionRule.NONE:
            return Thresholds()


def _threshold(number: float | ByWindow, window_tokens: int, fixed_tokens: float) -> float:
    """A plain number is a share of the window, as in the systems we reproduce. A number by window is a share of what
    instructions and tools leave."""
    share = in_window(number, window_tokens)
    if not isinstance(number, ByWindow) or window_tokens <= 0:
        return share
    fixed = min(1.0, fixed_tokens / window_tokens)
    return min(fixed + share * (1 - fixed), max(share, LATEST_SHARE))
