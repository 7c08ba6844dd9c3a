"""What requests to models cost: one bill for each that was sent, recorded however it ended."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from co_tui.agent.models.prices import assumed_price, empty_reply, price_of
from co_tui.agent.wire.model_errors import ReplyCutOff
from co_tui.context.measure.count import estimate_message, estimate_text, estimate_tools, with_estimated_usage
from co_tui.events import RequestBilled
from co_tui.events.facts.context import SUMMARY
from co_tui.events.stored_messages import text_of
from co_tui.session.run_to_completion import is_being_cancelled

RecordBill = Callable[[RequestBilled], Awaitable[None]]
"""Records one request. Never raises: what was paid is paid."""


@dataclass(slots=True)
class Bill:
    """What the requests of one piece of work used and cost so far."""

    what: str = SUMMARY
    agent: str = ""
    model: str = ""
    """The model that is asked, by our name for it."""
    record: RecordBill | None = None
    sent_tokens: Callable[[], int | None] = lambda: None
    """Returns the size of the request as it was measured; without it the request is estimated."""
    ratio: float = 1.0
    """The model's tokens for each one we estimate."""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of the input: read from the provider's cache."""
    cost: float | None = None
    request_id: str = ""

    @property
    def usage(self) -> dict[str, int]:
        """Empty if no request was sent."""
        if not self.requests:
            return {}
        names = ("requests", "input_tokens", "output_tokens", "cached_tokens")
        return {name: getattr(self, name) for name in names}

    def of(self, model: Model) -> Model:
        """The model, with each of its requests on this bill."""
        return BilledModel(model, self)

    async def add(self, reply: ModelResponse, sent_tokens: int, *, is_whole: bool = True) -> None:
        """Add a request by its reply as far as that came: as its provider counted it, else by our estimate."""
        is_counted = is_whole and bool(reply.usage.input_tokens)
        if not is_counted:
            reply = with_estimated_usage(reply, sent_tokens, "".join(_texts(reply)), self.ratio)
        usage, cost = reply.usage, price_of(reply)
        self.requests += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cached_tokens += usage.cache_read_tokens
        self.request_id = reply.provider_response_id or self.request_id
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        if self.record is not None:
            fact = RequestBilled(
                what=self.what,
                agent=self.agent,
                model=self.model,
                measured="provider" if is_counted else "estimate",
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cache_read_tokens,
                cost=cost,
                assumed_cost=assumed_price(reply, self.model) if cost is None else None,
            )
            await self.record(fact)


class BilledModel(WrapperModel):
    """A model whose requests are put on a bill, also those that are stopped or break off.

    A refused request costs nothing. A request that is cancelled though nobody cancels its task has failed.
    """

    def __init__(self, wrapped: Model, bill: Bill) -> None:
        super().__init__(wrapped)
        self._bill = bill

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        async with self._billed(messages, model_request_parameters) as received:
            reply = await self.wrapped.request(messages, model_settings, model_request_parameters)
            received.append(lambda: reply)
        return reply

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        async with self._billed(messages, model_request_parameters) as received:
            stream = self.wrapped.request_stream(messages, model_settings, model_request_parameters, run_context)
            async with stream as reply:
                received.append(reply.get)
                yield reply

    @asynccontextmanager
    async def _billed(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> AsyncGenerator[list[Callable[[], ModelResponse]]]:
        """Gives a list for what returns the reply as far as it came."""
        received: list[Callable[[], ModelResponse]] = []
        is_whole = may_be_refused = False
        try:
            yield received
            is_whole = True
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            may_be_refused = True
            raise ReplyCutOff("the request was cancelled from inside.") from None
        except Exception:
            may_be_refused = True
            raise
        finally:
            reply = received[0]() if received else empty_reply(self.wrapped)
            if reply.parts or reply.usage.has_values() or not may_be_refused:
                sent = self._bill.sent_tokens()
                tokens = sent or round(self._bill.ratio * _estimated(messages, parameters))
                await self._bill.add(reply, tokens, is_whole=is_whole)


def _estimated(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> float:
    instructions = sum(estimate_text(part.content) for part in parameters.instruction_parts or ())
    return instructions + sum(map(estimate_message, messages)) + estimate_tools(parameters.function_tools)


def _texts(reply: ModelResponse) -> Iterator[str]:
    for part in reply.parts:
        yield text_of(part.args) if isinstance(part, ToolCallPart) else str(getattr(part, "content", ""))
