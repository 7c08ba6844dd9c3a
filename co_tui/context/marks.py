"""Where a policy acts by itself: the one place that says so, for deciding and for telling. Imports nothing heavy."""

from typing import NamedTuple

from co_tui.context.policy import CompactionRule, Policy


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


def marks(policy: Policy, window_tokens: int) -> Marks:
    match policy.rule:
        case CompactionRule.BACKGROUND:
            waiting = policy.buffer_exhaustion_threshold
            return Marks(share=min(policy.background_compaction_threshold, waiting), waiting_share=waiting)
        case CompactionRule.COMPRESS:
            return Marks(share=policy.compression_threshold)
        case CompactionRule.WINDOW:
            return Marks(messages=policy.max_history_messages or None)
        case CompactionRule.TURNS:
            budget = policy.agent_max_context_tokens
            share = min(1.0, budget / window_tokens) if budget and window_tokens > 0 else None
            return Marks(share=share, turns=policy.agent_max_context_turns or None)
        case CompactionRule.NONE:
            return Marks()
