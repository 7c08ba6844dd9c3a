"""One recorded conversation under one policy, request by request."""

from collections.abc import AsyncIterator, Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.indexed_history import IndexedHistory
from co_tui.context.measure.count import Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import Policy
from co_tui.context.request.pipeline import Prepared
from co_tui.exchange.openai_format import Conversation
from co_tui.lab.check import Inspector
from co_tui.lab.details import Details, Kept
from co_tui.lab.engine import OfflineSummaries, ReplayEngine, Sent
from co_tui.lab.prompt_cache import PromptCache
from co_tui.lab.readability import Originals, Readability
from co_tui.lab.state.work_state import Stated, WorkState
from co_tui.lab.summary_bill import BilledSummaries, SummaryBill
from co_tui.lab.tally import ReplayedRequest
from co_tui.session.compaction.job import SummaryWriter

NEXT_MESSAGES = 6
"""A request should contain the details that this many next messages use."""


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
