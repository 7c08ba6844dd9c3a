"""A conversation before a request: what a policy decides on."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.context.compact.cuts import Tokens
from co_tui.context.compact.thresholds import Thresholds, thresholds_of
from co_tui.context.measure.count import Reading
from co_tui.context.policy import CompactionRule, Policy


class Situation(NamedTuple):
    """A conversation before a request."""

    history: Sequence[ModelMessage]
    reading: Reading
    policy: Policy
    tokens: Tokens
    pinned: Collection[int] = ()
    ratio: float = 1.0
    """Model tokens per estimated token."""
    request: Sequence[ModelMessage] = ()
    """The history as it is sent, with its tool outputs shortened."""

    @property
    def window_tokens(self) -> int:
        return max(1, self.reading.window.tokens)

    @property
    def left_tokens(self) -> int:
        """The window minus instructions and tools."""
        return max(0, self.window_tokens - self.reading.fixed_tokens)

    def held_tokens(self, indexes: Collection[int]) -> float:
        sent = self.request or self.history
        return sum(self.tokens(sent[index]) for index in indexes)

    @property
    def share(self) -> float:
        return self.reading.share

    @property
    def thresholds(self) -> Thresholds:
        if self.policy.rule is CompactionRule.PYTHON:
            return Thresholds()  # its code decides, not a threshold
        return thresholds_of(self.policy, self.window_tokens, self.reading.fixed_tokens)

    @property
    def threshold_tokens(self) -> float:
        """Where compaction starts; 0 if the policy does not use tokens."""
        return (self.thresholds.share or 0.0) * self.window_tokens

    @property
    def is_past_threshold(self) -> bool:
        """Whether the policy compacts at this fill level."""
        return self.thresholds.share is not None and self.share >= self.thresholds.share

    @property
    def is_past_blocking_threshold(self) -> bool:
        """Whether requests wait for a compaction at this fill level."""
        blocking_share = self.thresholds.blocking_share
        return blocking_share is not None and (self.share >= blocking_share or self._may_not_fit)

    @property
    def _may_not_fit(self) -> bool:
        """Whether the request would be truncated unless it waits, since its length is not known well enough. Other
        systems wait by their thresholds alone."""
        return bool(self.policy.compacted_share) and self.reading.most_tokens > self.window_tokens
