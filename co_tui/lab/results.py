"""What a policy made of each recorded conversation."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.compact.by_code import first_failure
from co_tui.context.indexed_history import IndexedHistory
from co_tui.context.measure.count import Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import Policy
from co_tui.context.request.pipeline import Prepared
from co_tui.exchange.openai_format import Conversation
from co_tui.lab.check import Inspector
from co_tui.lab.costs import BilledSummaries, PromptCache, SummaryBill
from co_tui.lab.details import Details, Kept
from co_tui.lab.engine import OfflineSummaries, ReplayEngine, Sent
from co_tui.lab.readability import Originals, Readability
from co_tui.lab.state.work_state import Stated, WorkState
from co_tui.lab.tally import ReplayedRequest, Tally, means, summed
from co_tui.session.compaction.job import SummaryWriter

NEXT_MESSAGES = 6
"""A request should contain the details that this many next messages use."""


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
        self._state, self._originals = WorkState(), Originals()
        self._unread: list[ModelMessage] = []
        """Messages that the measures of long requests have not read yet; most conversations never need them."""
        self._requests = self._compactions = self._messages = 0
        self._said_tokens = 0.0

    def add(self, message: ModelMessage) -> None:
        self._messages += 1
        self._inspector.add(message)
        self._unread.append(message)
        self._said_tokens += self._meter.tokens(message)

    def of(self, sent: Sent, upcoming: Sequence[ModelMessage], bill: SummaryBill) -> ReplayedRequest:
        """`upcoming` are the next messages of the recording; `bill` is for the summaries since the last request."""
        prepared, done, waits = sent
        self._requests += 1
        self._compactions += len(done)
        details, is_long = self._details, self._said_tokens > self._window.tokens
        if is_long:
            self._read()
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
            stated=self._state.stated_in(prepared.messages) if is_long else Stated(),
            readability=self._originals.readability(prepared.messages) if is_long else Readability(),
        )

    def _read(self) -> None:
        for message in self._unread:
            self._details.add(message)
            self._state.add(message)
            self._originals.add(message)
        self._unread.clear()


def _is_smallest(prepared: Prepared) -> bool:
    """Whether only messages that no stage may remove are left."""
    return IndexedHistory(prepared.messages).kept_by_rule() == set(range(len(prepared.messages)))
