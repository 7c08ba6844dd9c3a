"""What summaries cost in the lab: as a model reports it, or as one would count it."""

from typing import Final, NamedTuple

from co_tui.agent.summariser import INSTRUCTIONS
from co_tui.context.measure.count import estimate_text
from co_tui.events.triggers import Trigger
from co_tui.session.compaction.job import SummaryWriter
from co_tui.session.compaction.summaries import Summary, SummaryRequest

INPUT_PRICE, OUTPUT_PRICE = 3.0, 15.0
"""Assumed where no price is known, in US dollars a million tokens."""
MILLION: Final = 1_000_000


class SummaryBill(NamedTuple):
    """What was asked of whoever summarises."""

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
    """Passes requests on and counts them, also those whose summary is not used."""

    def __init__(self, summaries: SummaryWriter) -> None:
        self._summaries = summaries
        self._bill = SummaryBill()

    async def write(self, request: SummaryRequest, trigger: Trigger) -> Summary:
        summary = await self._summaries.write(request, trigger)
        self._bill = self._bill.plus(_bill_of(request, summary))
        return summary

    def take(self) -> SummaryBill:
        """The bill since it was last taken."""
        bill, self._bill = self._bill, SummaryBill()
        return bill


def _bill_of(request: SummaryRequest, summary: Summary) -> SummaryBill:
    """As the model reported; without one, as if a model had read the messages and written the same."""
    asked = request.bill
    if asked.requests:
        tokens = asked.input_tokens, asked.output_tokens
    else:
        tokens = (
            round(request.held_tokens + request.ratio * estimate_text(INSTRUCTIONS)),
            round(request.ratio * estimate_text(summary.text)),
        )
    assumed = (tokens[0] * INPUT_PRICE + tokens[1] * OUTPUT_PRICE) / MILLION
    return SummaryBill(1, *tokens, assumed if asked.cost is None else asked.cost)
