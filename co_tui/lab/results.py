"""What a policy made of each recorded conversation."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from co_tui.context.compact.by_code import first_failure
from co_tui.context.measure.count import Window
from co_tui.context.policy import Policy
from co_tui.exchange.openai_format import Conversation
from co_tui.lab.replayed_conversation import replay
from co_tui.lab.tally import ReplayedRequest, Tally, means, summed
from co_tui.session.compaction.job import SummaryWriter


class ConversationResult(NamedTuple):
    """One conversation under one policy."""

    id: str
    tally: Tally
    fill: tuple[int, ...] = ()
    """The tokens of each request."""
    compacted: tuple[int, ...] = ()
    """The requests before which the history was compacted, counted from 0."""
    failure: str = ""
    """What went wrong in a policy written in Python, so far in this process."""


class PolicyResult(NamedTuple):
    """One policy over all conversations."""

    policy: str
    conversations: Sequence[ConversationResult]

    @property
    def tallies(self) -> list[Tally]:
        return [each.tally for each in self.conversations]

    @property
    def total(self) -> Tally:
        return summed(self.policy, self.tallies)

    def record(self, window: Window) -> dict[str, Any]:
        """All figures by name: sums, shares, and means over conversations with their interval."""
        total = self.total
        record: dict[str, Any] = {**asdict(total), **total.shares(), "window": window.tokens}
        for name, mean in means(self.tallies).items():
            record[f"{name}_mean"] = round(mean.mean, 4)
            record[f"{name}_interval"] = [round(mean.low, 4), round(mean.high, 4)]
            record[f"{name}_conversations"] = mean.conversations
        return record


async def replayed(
    name: str,
    policy: Policy,
    conversation: Conversation,
    window: Window,
    *,
    ratio: float = 1.0,
    summaries: SummaryWriter | None = None,
    on_request: Callable[[ReplayedRequest], None] | None = None,
) -> ConversationResult:
    """Replay one conversation under a policy; `on_request` gets each request as it would be sent."""
    tally = Tally(name, conversations=1)
    fill: list[int] = []
    compacted: list[int] = []
    async for request in replay(conversation, policy, window, ratio=ratio, summaries=summaries):
        tally.add(request)
        if request.new_compactions:
            compacted.append(len(fill))
        fill.append(request.prepared.reading.current_tokens)
        if on_request is not None:
            on_request(request)
    failure = first_failure(policy.policy_code) if policy.policy_code is not None else ""
    return ConversationResult(conversation.id, tally, tuple(fill), tuple(compacted), failure)
