"""Replies and the output limit of their model: room for long ones, and a notice when one is cut at the limit."""

import json
from typing import Any, Final

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelResponse, ThinkingPart, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext, ToolDefinition

from co_tui.agent.models.request_settings import output_limit, with_output_room
from co_tui.events import SessionError, UsageInfo
from co_tui.inert import one_line
from co_tui.session.recorder import Recorder
from co_tui.session.turns.current_agent import CURRENT_AGENT

ESTIMATE_MARGIN: Final = 1.1
"""How far an estimate of the input may be below what the provider counts."""
NAME_CHARS: Final = 60
CALL_CUT: Final = (
    "Your reply reached its output limit in the middle of this call, so the call is incomplete and was not run. Make "
    "shorter calls: write a long file in several parts."
)
"""The error the model gets."""


class ReplyRoom(AbstractCapability[Any]):
    """Allows as long a reply as fits. Runs after the request was prepared and measured."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        limit, usage = output_limit(request_context.model), self._usage()
        if limit is not None and usage is not None:
            room = usage.token_limit - int(usage.current_tokens * ESTIMATE_MARGIN)
            request_context.model_settings = with_output_room(request_context.model_settings or {}, limit, room)
        return request_context

    def _usage(self) -> UsageInfo | None:
        """The measurement of the request about to be sent."""
        state = self._recorder.state
        if not (agent := CURRENT_AGENT.get()):
            return state.usage
        delegation = state.delegations.get(agent)
        return delegation.usage if delegation is not None else None


class CutReplies(AbstractCapability[Any]):
    """Reports a reply that its model's output limit cut: to the user, and for an incomplete call to the model."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        if response.finish_reason == "length" and any(not isinstance(part, ThinkingPart) for part in response.parts):
            written = response.usage.output_tokens
            at = f" after {written:,} tokens" if written else ""
            model = one_line(request_context.model.model_name, NAME_CHARS)
            what = f"{model} reached its output limit{at}; the reply is cut off."
            outcome = "partial reply kept"
            if (call := incomplete_call(response)) is not None:
                what = f"{what} Its call of {one_line(call.tool_name, NAME_CHARS)} was not run."
                outcome = "asked the model for shorter calls"
            error = SessionError(what=what, outcome=outcome, kind="length", agent=CURRENT_AGENT.get())
            await self._recorder.record(error)
        return response

    async def before_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any
    ) -> Any:
        last = next((each for each in reversed(ctx.messages) if isinstance(each, ModelResponse)), None)
        cut = incomplete_call(last) if last is not None else None
        if cut is not None and cut.tool_call_id == call.tool_call_id:
            raise ToolFailed(CALL_CUT)
        return args


def incomplete_call(response: ModelResponse) -> ToolCallPart | None:
    """The call that was cut when the reply reached its limit; None if the last call is complete."""
    last = response.parts[-1] if response.parts else None
    if response.finish_reason != "length" or not isinstance(last, ToolCallPart):
        return None
    if isinstance(last.args, dict):
        return None
    try:
        return None if isinstance(json.loads(last.args or ""), dict) else last
    except (ValueError, RecursionError):
        return last
