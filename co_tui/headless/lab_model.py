"""A real model as the lab's summariser."""

from co_tui.agent.models.open_model import ModelConfig, ModelHandle, open_model
from co_tui.events.triggers import Trigger
from co_tui.session.compaction.model_summaries import ModelSummaries
from co_tui.session.compaction.summaries import OFFLINE, Summary, SummaryRequest


class CountedSummaries:
    """Summaries by a model, with what came of them."""

    def __init__(self, model: ModelHandle, timeout_s: float) -> None:
        self._model = model
        self._summaries = ModelSummaries(model, timeout_s=timeout_s, is_used_meanwhile=False)
        self._by_model = self._offline = 0
        self._cost = 0.0
        self._note = ""

    @classmethod
    async def open(cls, name: str, config: ModelConfig, timeout_s: float) -> "CountedSummaries":
        """Raises `ModelUnusable`."""
        return cls(await open_model(name, config), timeout_s)

    async def write(self, request: SummaryRequest, trigger: Trigger) -> Summary:
        summary = await self._summaries.write(request, trigger)
        if summary.by == OFFLINE:
            self._offline, self._note = self._offline + 1, summary.note or self._note
        else:
            self._by_model += 1
        self._cost += request.bill.cost or 0.0
        return summary

    def report(self) -> str:
        """What came of it, in a sentence."""
        why = f" (last: {self._note})" if self._note else ""
        offline = f", {self._offline} by the offline summariser{why}" if self._offline else ""
        price = f" Cost: ${self._cost:.4f}." if self._cost else ""
        return f"{self._by_model} summaries by {self._model.name}{offline}.{price}"

    async def close(self) -> None:
        await self._model.close()
