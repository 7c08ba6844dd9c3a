"""Where a turn meets the agent's loop."""

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext

from co_tui.context.count import Scaffold


class GovernedTurn(Protocol):
    """What a turn does about a request and its reply."""

    async def before_request(
        self, run_messages: Sequence[ModelMessage], messages: Sequence[ModelMessage], scaffold: Scaffold
    ) -> list[ModelMessage]: ...

    async def after_response(
        self, messages: Sequence[ModelMessage], scaffold: Scaffold, response: ModelResponse
    ) -> None: ...


class RequestHook(AbstractCapability[Any]):
    """Our hands inside the agent's loop: before each request and after each reply."""

    def __init__(self, turn: GovernedTurn) -> None:
        self._turn = turn
        self._scaffold = Scaffold()

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
        self._scaffold = Scaffold(instructions=instructions, tools=parameters.function_tools)
        request_context.messages = await self._turn.before_request(
            ctx.messages, request_context.messages, self._scaffold
        )
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        await self._turn.after_response(request_context.messages, self._scaffold, response)
        return response
