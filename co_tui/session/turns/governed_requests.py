"""The requests of one history, as turns, delegations and the lab make them."""

from collections.abc import Awaitable, Callable

from pydantic_ai.messages import ModelResponse

from co_tui.context.request.pipeline import Prepared
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.compaction.job import Compactable
from co_tui.session.history.fit_request import fit_request


class GovernedRequests:
    """Compacts the history as the policy asks, then fits it into a request; measures it by each reply."""

    def __init__(
        self, on: Compactable, compactor: Compactor, log_archived: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """`log_archived` logs the tool results that measuring put into the archive."""
        self.history = on.history
        self._on = on
        self._compactor = compactor
        self._log_archived = log_archived

    async def next(self) -> Prepared:
        """The request to send now. Everything done for it is logged."""
        measured = await self._compactor.before_request(self._on)
        if self._log_archived is not None:
            await self._log_archived()
        return await fit_request(self.history, measured)

    async def answered(self, response: ModelResponse) -> None:
        """Measure the context by the reply to the last request, and log it."""
        await self.history.record_reply(response)

    async def after_turn(self) -> None:
        """Use the time until the next prompt for what the policy asks for."""
        await self._compactor.after_turn(self._on)

    async def close(self) -> None:
        """Discard what is compacted in the background."""
        await self._compactor.close()
