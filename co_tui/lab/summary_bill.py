"""What summaries cost in the lab: as reported by a model, or estimated."""

from typing import Final, NamedTuple

from co_tui.agent.summariser import INSTRUCTIONS
from co_tui.context.measure.count import estimate_text
from co_tui.events.triggers import Trigger
from co_tui.session.compaction.job import SummaryWriter
from co_tui.session.compaction.summaries import Summary, SummaryRequest

INPUT_PRICE, OUTPUT_PRICE = 3.0, 15.0
"""Assumed if no price is known, in US dollars per million tokens."""
MILLION: Final = 1_000_000


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
    """As reported by the model, else as if a model had written it; nothing for a journal that only grew."""
    asked = request.bill
    if summary.is_grown:
        return SummaryBill()
    if asked.requests:
        tokens = asked.input_tokens, asked.output_tokens
    else:
        held = request.ratio * estimate_text(request.folding) if request.folding else request.held_tokens
        written = min(request.ratio * estimate_text(summary.text), request.budget_tokens)
        tokens = round(held + request.ratio * estimate_text(INSTRUCTIONS)), round(written)
    assumed = (tokens[0] * INPUT_PRICE + tokens[1] * OUTPUT_PRICE) / MILLION
    return SummaryBill(1, *tokens, assumed if asked.cost is None else asked.cost)
