"""What a request costs: the part that a provider's prompt cache could serve, and the requests for summaries."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.agent.summariser import INSTRUCTIONS
from co_tui.context.measure.count import estimate_text
from co_tui.events.triggers import Trigger
from co_tui.lab.message_text import blocks
from co_tui.session.compaction.job import SummaryWriter
from co_tui.session.compaction.summaries import Summary, SummaryRequest

INPUT_PRICE, OUTPUT_PRICE = 3.0, 15.0
"""Assumed if no price is known, in US dollars per million tokens."""
MILLION: Final = 1_000_000


class Reuse(NamedTuple):
    """What one request shares with the last one."""

    tokens: float
    """Of the common prefix, up to the first character that differs: most providers cache by tokens."""
    is_rewrite: bool
    """Whether part of the last request was changed or removed."""
    block_tokens: float = 0.0
    """Of the common prefix in whole content blocks, as Anthropic caches."""


class PromptCache:
    """Compares each request of a conversation with the last one."""

    def __init__(self, tokens: Callable[[ModelMessage], float]) -> None:
        self._tokens = tokens
        self._last: Sequence[ModelMessage] = ()

    def next(self, request: Sequence[ModelMessage]) -> Reuse:
        last, self._last = self._last, request
        same = 0
        for message, before in zip(request, last, strict=False):
            if message is not before and message != before:
                break
            same += 1
        whole = sum(map(self._tokens, request[:same]))
        if same == len(last) or same == len(request):
            return Reuse(whole, same < len(last), whole)
        text, block = _shares(request[same], last[same])
        tokens = self._tokens(request[same])
        return Reuse(whole + text * tokens, True, whole + block * tokens)


def _shares(message: ModelMessage, before: ModelMessage) -> tuple[float, float]:
    """The share of a message that an earlier one begins with: by characters, and in whole blocks."""
    if message.kind != before.kind:
        return 0.0, 0.0
    now, then = list(blocks(message)), list(blocks(before))
    characters = sum(map(len, now))
    if not characters:
        return 0.0, 0.0
    equal = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(now, then, strict=False))))
    in_blocks = sum(map(len, now[:equal]))
    rest = _common(now[equal], then[equal]) if equal < min(len(now), len(then)) else 0
    return (in_blocks + rest) / characters, in_blocks / characters


def _common(text: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((index for index, (one, two) in pairs if one != two), min(len(text), len(other)))


class SummaryBill(NamedTuple):
    """Number, tokens and cost of summaries."""

    summaries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def plus(self, other: "SummaryBill") -> "SummaryBill":
        return SummaryBill(
            self.summaries + other.summaries,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


class BilledSummaries:
    """Forwards requests and counts them, including those whose summary is not used."""

    def __init__(self, summaries: SummaryWriter) -> None:
        self._summaries = summaries
        self._bill = SummaryBill()

    async def write(self, request: SummaryRequest, trigger: Trigger) -> Summary:
        summary = await self._summaries.write(request, trigger)
        self._bill = self._bill.plus(_bill_of(request, summary))
        return summary

    def take(self) -> SummaryBill:
        """The bill since the last call."""
        bill, self._bill = self._bill, SummaryBill()
        return bill


def _bill_of(request: SummaryRequest, summary: Summary) -> SummaryBill:
    """As reported by the model, else as if a model had written it; nothing for what no model is asked for."""
    asked = request.bill
    if summary.is_grown or request.by_code:
        return SummaryBill()
    if asked.requests:
        tokens = asked.input_tokens, asked.output_tokens
    else:
        held = request.ratio * estimate_text(request.folding) if request.folding else request.held_tokens
        written = min(request.ratio * estimate_text(summary.text), request.budget_tokens)
        tokens = round(held + request.ratio * estimate_text(INSTRUCTIONS)), round(written)
    assumed = (tokens[0] * INPUT_PRICE + tokens[1] * OUTPUT_PRICE) / MILLION
    return SummaryBill(1, *tokens, assumed if asked.cost is None else asked.cost)
