"""Hooks of turns and delegations in the library's agent loop."""

import asyncio
from collections.abc import AsyncIterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RunCancelled, ToolFailed
from pydantic_ai.messages import AgentStreamEvent, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from co_tui.agent.tool_names import DELEGATE_TOOL
from co_tui.context.measure.count import Scaffold
from co_tui.events.storable import storable_text
from co_tui.session.history.governed_history import RequestForm
from co_tui.session.run_to_completion import is_being_cancelled
from co_tui.session.turns.delegations import Delegations
from co_tui.session.turns.governed_run import GovernedRun
from co_tui.session.turns.repeated_calls import check_repeated_calls
from co_tui.store.store_errors import StoreError


class RequestHook(AbstractCapability[Any]):
    """Called before each request and after each reply of the main run and of its delegations, which use the same
    agent."""

    def __init__(self, turn: GovernedRun, delegations: Delegations) -> None:
        self._turn = turn
        self._delegations = delegations

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if (delegated := self._delegations.current()) is not None:
            await delegated.choose_model(request_context)
        request_context.model_request_parameters = sendable(request_context.model_request_parameters)
        self._current.asks_as(
            RequestForm(request_context.model, request_context.model_settings, request_context.model_request_parameters)
        )
        request_context.messages = await self._current.before_request(ctx.messages, scaffold_of(request_context))
        check_repeated_calls(ctx.messages)  # after the failures are logged
        request_context.model = self._current.billed(request_context.model)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        await self._current.after_response(response)
        return response

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """Delegations begin inside of the toolset that asks: one that hooks or the user refuse never begins."""
        return _DelegatingToolset(toolset, self._delegations)

    async def on_tool_execute_error(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, error: Exception
    ) -> Any:
        """Report a tool's crash to the model. What ends a run, and failures inside a delegation, are raised again."""
        if call.tool_name == DELEGATE_TOOL or isinstance(error, RunCancelled | StoreError):
            raise error
        raise ToolFailed(f"{type(error).__name__}: {error}") from error

    async def wrap_run_event_stream(
        self, ctx: RunContext[Any], *, stream: AsyncIterable[AgentStreamEvent]
    ) -> AsyncIterable[AgentStreamEvent]:
        run = self._delegations.current()
        async for event in stream:
            if run is not None:
                run.on_event(event)
            yield event

    @property
    def _current(self) -> GovernedRun:
        return self._delegations.current() or self._turn


@dataclass
class _DelegatingToolset(WrapperToolset[Any]):
    """Runs delegating calls as delegations, once they are approved."""

    delegations: Delegations

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        call = partial(super().call_tool, name, tool_args, ctx, tool)
        if name != DELEGATE_TOOL:
            try:
                return await call()
            except asyncio.CancelledError:
                if is_being_cancelled():
                    raise
                raise ToolFailed(f"{name} was cancelled from inside.") from None
            except BaseExceptionGroup as group:
                _, others = group.split((Exception, asyncio.CancelledError))
                ends_run = others or group.subgroup((RunCancelled, StoreError))
                if isinstance(group, Exception) or ends_run or is_being_cancelled():
                    raise
                failures = ", ".join(f"{type(each).__name__}: {each}".rstrip(": ") for each in group.exceptions)
                raise ToolFailed(f"{name} failed: {failures}") from group
        return await self.delegations.run_call(ctx, tool_args, call)


def sendable(parameters: ModelRequestParameters) -> ModelRequestParameters:
    """Remove characters from project files that no request can carry."""
    parts = parameters.instruction_parts
    return replace(
        parameters,
        instruction_parts=parts and [replace(part, content=storable_text(part.content)) for part in parts],
        function_tools=[_with_storable_text(tool) for tool in parameters.function_tools],
    )


def _with_storable_text(tool: ToolDefinition) -> ToolDefinition:
    text = tool.description and storable_text(tool.description)
    return tool if text == tool.description else replace(tool, description=text)


def scaffold_of(request: ModelRequestContext) -> Scaffold:
    """What a request sends besides the conversation."""
    parameters = request.model_request_parameters
    instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
    return Scaffold(instructions=instructions, tools=parameters.function_tools, was_sent=True)
