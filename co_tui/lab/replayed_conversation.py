"""One recorded conversation under one policy, request by request."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.measure.count import Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import Policy
from co_tui.context.request.pipeline import Prepared
from co_tui.context.turns import kept_by_rule
from co_tui.exchange.openai_format import Conversation
from co_tui.lab.check import Inspector
from co_tui.lab.details import Details, Kept
from co_tui.lab.engine import OfflineSummaries, ReplayEngine, Sent
from co_tui.lab.summary_bill import BilledSummaries, SummaryBill
from co_tui.session.compaction.job import SummaryWriter

NEXT_MESSAGES = 6
"""A request should contain the details that this many next messages use."""


class Reuse(NamedTuple):
    """What one request shares with the last one."""

    tokens: float
    """Of the common prefix, which a provider could take from its prompt cache."""
    is_rewrite: bool
    """Whether part of the last request was changed or removed."""


class PromptCache:
    """Compares each request of a conversation with the last one."""

    def __init__(self, tokens: Callable[[ModelMessage], float]) -> None:
        self._tokens = tokens
        self._last: Sequence[ModelMessage] = ()

    def next(self, request: Sequence[ModelMessage]) -> Reuse:
        same = 0
        for message, before in zip(request, self._last, strict=False):
            if message is not before and message != before:
                break
            same += 1
        is_rewrite = same < len(self._last)
        self._last = request
        return Reuse(sum(map(self._tokens, request[:same])), is_rewrite)


class ReplayedRequest(NamedTuple):
    """One request of the replay with its figures."""

    number: int
    input_messages: int
    prepared: Prepared
    compactions: int
    """In total so far."""
    new_compactions: int
    waits: int
    is_long: bool
    """Whether the conversation before it exceeds the window; the same for every policy."""
    details: Kept
    """Details used by the next messages; counted for long requests only."""
    reuse: Reuse
    breaches: list[str]
    bill: SummaryBill = SummaryBill()
    """Summaries since the last request."""


@dataclass(slots=True)
class Tally:
    """The figures of a policy over a set of conversations."""

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
    """Requests after conversations longer than the window; the figures below are of these."""
    long_tokens: int = 0
    uncached_tokens: int = 0
    """Tokens beyond the prefix shared with the last request."""
    rewrites: int = 0
    """Requests that change part of the last one."""
    details_needed: int = 0
    details_kept: int = 0
    details_in_context: int = 0
    summaries: int = 0
    """Including those that were not used."""
    summary_input_tokens: int = 0
    summary_output_tokens: int = 0
    summary_cost: float = 0.0
    """In US dollars, at an assumed price if none is known."""

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
    """Build a request before every reply of the recording."""
    meter = Meter(ratio, margin=1.0)
    billed = BilledSummaries(summaries or OfflineSummaries())
    engine = ReplayEngine(policy, window, meter=meter, summaries=billed)
    figures = _Figures(policy, window, meter)
    messages = conversation.messages
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse) and index:
            upcoming = messages[index : index + NEXT_MESSAGES]
            yield figures.of(await engine.request(), upcoming, billed.take())
        await engine.receive(message)
        figures.add(message)


class _Figures:
    """The figures of each request, from the conversation before it."""

    def __init__(self, policy: Policy, window: Window, meter: Meter) -> None:
        self._policy = policy
        self._window = window
        self._meter = meter
        self._details, self._inspector, self._cache = Details(), Inspector(), PromptCache(meter.tokens)
        self._requests = self._compactions = self._messages = 0
        self._said_tokens = 0.0

    def add(self, message: ModelMessage) -> None:
        self._messages += 1
        self._inspector.add(message)
        self._details.add(message)
        self._said_tokens += self._meter.tokens(message)

    def of(self, sent: Sent, upcoming: Sequence[ModelMessage], bill: SummaryBill) -> ReplayedRequest:
        """`upcoming` are the next messages of the recording; `bill` is for the summaries since the last request."""
        prepared, done, waits = sent
        self._requests += 1
        self._compactions += len(done)
        details, is_long = self._details, self._said_tokens > self._window.tokens
        # Without truncation a request need not fit; nor if the prompt alone is too long.
        fits = prepared.overshoot_tokens == 0 or not self._policy.truncates or _is_smallest(prepared)
        return ReplayedRequest(
            number=self._requests,
            input_messages=self._messages,
            prepared=prepared,
            compactions=self._compactions,
            new_compactions=len(done),
            waits=waits,
            is_long=is_long,
            details=details.kept(details.needed_by(upcoming), prepared.messages) if is_long else Kept(),
            reuse=self._cache.next(prepared.messages),
            breaches=self._inspector.breaches(prepared.messages, fits=fits),
            bill=bill,
        )


def _is_smallest(prepared: Prepared) -> bool:
    """Whether only messages that no stage may remove are left."""
    return kept_by_rule(prepared.messages) == set(range(len(prepared.messages)))
