"""One recorded conversation under one policy, request by request."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NamedTuple

from pydantic_ai.messages import ModelResponse

from co_tui.context.measure.count import Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import Policy
from co_tui.context.request.pipeline import Prepared
from co_tui.context.turns import kept_by_rule
from co_tui.exchange.openai_format import Conversation
from co_tui.lab.check import Inspector
from co_tui.lab.details import Details, Kept
from co_tui.lab.engine import OfflineSummaries, ReplayEngine
from co_tui.lab.prompt_cache import PromptCache, Reuse
from co_tui.lab.summary_bill import BilledSummaries, SummaryBill
from co_tui.session.compaction.job import SummaryWriter

NEXT_MESSAGES = 6
"""What so many messages from here on use, a request should hold."""


class ReplayedRequest(NamedTuple):
    """One request of the replay, with what became of it."""

    number: int
    input_messages: int
    prepared: Prepared
    compactions: int
    """All until now."""
    new_compactions: int
    waits: int
    is_long: bool
    """Whether all that was said before it is more than the window takes: so it is the same for every policy."""
    details: Kept
    """Of what the next messages use; counted for long requests only."""
    reuse: Reuse
    breaches: list[str]
    bill: SummaryBill = SummaryBill()
    """Of the summaries since the request before."""


@dataclass(slots=True)
class Tally:
    """What a policy did to a set of conversations."""

    policy: str
    conversations: int = 0
    requests: int = 0
    peak_tokens: int = 0
    total_tokens: int = 0
    compactions: int = 0
    truncations: int = 0
    waits: int = 0
    too_long: int = 0
    breaches: int = 0
    long_requests: int = 0
    """Those with more said before them than the window takes; all figures below are of these."""
    long_tokens: int = 0
    uncached_tokens: int = 0
    """Sent beyond what the request shares with the one before."""
    rewrites: int = 0
    """Requests that change what the one before had sent."""
    details_needed: int = 0
    details_kept: int = 0
    details_in_context: int = 0
    summaries: int = 0
    """Asked for, also those that were not used."""
    summary_input_tokens: int = 0
    summary_output_tokens: int = 0
    summary_cost: float = 0.0
    """In US dollars; at an assumed price where none is known."""

    def add(self, request: ReplayedRequest) -> None:
        prepared = request.prepared
        tokens = prepared.reading.current_tokens
        self.requests += 1
        self.peak_tokens = max(self.peak_tokens, tokens)
        self.total_tokens += tokens
        self.compactions += request.new_compactions
        self.waits += request.waits
        self.truncations += prepared.truncation is not None
        self.too_long += prepared.overshoot_tokens > 0
        self.breaches += len(request.breaches)
        self.summaries += request.bill.summaries
        self.summary_input_tokens += request.bill.input_tokens
        self.summary_output_tokens += request.bill.output_tokens
        self.summary_cost += request.bill.cost
        if request.is_long:
            self.long_requests += 1
            self.long_tokens += tokens
            self.uncached_tokens += max(0, tokens - round(request.reuse.tokens))
            self.rewrites += request.reuse.is_rewrite
            self.details_needed += request.details.needed
            self.details_kept += request.details.kept
            self.details_in_context += request.details.in_context

    def shares(self) -> dict[str, float]:
        """The figures that can be compared between sets of conversations."""
        needed, requests = self.details_needed, self.long_requests
        return {
            "details_kept_share": _share(self.details_kept, needed),
            "details_in_context_share": _share(self.details_in_context, needed),
            "mean_tokens": round(self.total_tokens / self.requests) if self.requests else 0,
            "mean_long_tokens": round(self.long_tokens / requests) if requests else 0,
            "prefix_reused_share": _share(self.long_tokens - self.uncached_tokens, self.long_tokens),
            "rewrites_per_hundred": round(100 * self.rewrites / requests, 1) if requests else 0.0,
        }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


async def replay(
    conversation: Conversation,
    policy: Policy,
    window: Window,
    *,
    ratio: float = 1.0,
    summaries: SummaryWriter | None = None,
) -> AsyncIterator[ReplayedRequest]:
    """A request before every reply of the recording, from what was said until then."""
    meter = Meter(ratio, margin=1.0)
    billed = BilledSummaries(summaries or OfflineSummaries())
    engine = ReplayEngine(policy, window, meter=meter, summaries=billed)
    details, inspector, cache = Details(), Inspector(), PromptCache(meter.tokens)
    number = compactions = 0
    said_tokens = 0.0
    messages = conversation.messages
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse) and index:
            prepared, done, waits = await engine.request()
            number += 1
            compactions += len(done)
            is_long = said_tokens > window.tokens
            upcoming = messages[index : index + NEXT_MESSAGES]
            # Without truncation nothing promises to fit; a prompt that alone is too long is said, not hidden.
            fits = prepared.overshoot_tokens == 0 or not policy.truncates or _is_smallest(prepared)
            yield ReplayedRequest(
                number=number,
                input_messages=index,
                prepared=prepared,
                compactions=compactions,
                new_compactions=len(done),
                waits=waits,
                is_long=is_long,
                details=details.kept(details.needed_by(upcoming), prepared.messages) if is_long else Kept(),
                reuse=cache.next(prepared.messages),
                breaches=inspector.breaches(prepared.messages, fits=fits),
                bill=billed.take(),
            )
        await engine.say(message)
        inspector.said(message)
        details.said(message)
        said_tokens += meter.tokens(message)


def _is_smallest(prepared: Prepared) -> bool:
    """Only what no stage may remove is left."""
    return kept_by_rule(prepared.messages) == set(range(len(prepared.messages)))
