"""Where a policy acts by itself: the one place that says so, for deciding and for telling. Imports nothing heavy."""

from typing import NamedTuple

from co_tui.settings import Settings


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


def marks(settings: Settings, window_tokens: int) -> Marks:
    match settings.compaction:
        case "background":
            waiting = settings.buffer_exhaustion_threshold
            return Marks(share=min(settings.background_compaction_threshold, waiting), waiting_share=waiting)
        case "compress":
            return Marks(share=settings.compression_threshold)
        case "window":
            return Marks(messages=settings.max_history_messages or None)
        case "turns":
            budget = settings.agent_max_context_tokens
            share = min(1.0, budget / window_tokens) if budget and window_tokens > 0 else None
            return Marks(share=share, turns=settings.agent_max_context_turns or None)
        case _:
            return Marks()
