"""Leave out of requests what a provider refused for its form, so that no earlier reply can end a conversation.

Thoughts are removed. Calls and their results are sent as text: a request in the middle of a turn must end with them.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from co_tui.agent.wire import overflow
from co_tui.sendable_reply import sendable, without_thinking

_STATUS: Final = frozenset({400, 404, 422})
"""404: OpenAI does not find a reasoning item that it did not store."""
_ABOUT_THINKING: Final = re.compile(
    r"signature|thinking`? (?:or `?redacted_thinking`? )?blocks?|cannot be `?thinking|content\[\]\.thinking"
    r"|'reasoning' (?:item|was provided)|reasoning_content|encrypted.content|item.{0,20}\bid\b|Item '",
    re.IGNORECASE,
)
"""Wording of errors about thoughts, and about ids that belong to them."""
_ABOUT_CALLS: Final = re.compile(
    r"tool_?(?:use|result|call)s?\b|function.?(?:call|response)s?\b|tool (?:calls?|outputs?|messages?)|role 'tool'"
    r"|call_id",
    re.IGNORECASE,
)
_NOT_OFFERED: Final = re.compile(r"not (?:supported|support|allowed|available)|unsupported", re.IGNORECASE)
"""Errors about what a model cannot do, not about the form of a message."""


class RefusedForm:
    """The thoughts and calls of one model's requests that its provider refused."""

    def __init__(self) -> None:
        self._thoughts: set[str] = set()
        self._calls: set[str] = set()

    def removed_from(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages without thoughts, and with calls and results as text, that were refused before."""
        if not self._thoughts and not self._calls:
            return list(messages)
        return sendable(
            [self._request(each) if isinstance(each, ModelRequest) else self._reply(each) for each in messages]
        )

    def after(self, error: Exception, messages: Sequence[ModelMessage]) -> str:
        """What is left out from now on, in words; empty when the error is not about the form, or nothing is left to
        leave out."""
        text = _refusal(error)
        if _ABOUT_THINKING.search(text) and (thoughts := set(_thoughts(messages))):
            self._thoughts |= thoughts
            return "the thinking of earlier replies"
        replies = [calls for message in messages if (calls := _calls(message))]
        if not replies or not _ABOUT_CALLS.search(text):
            return ""
        # Providers take the calls of a reply together.
        named = [calls for calls in replies if any(id in text for id in calls)]
        refused = set[str]().union(*(named or replies))
        self._calls |= refused
        return "an earlier tool call" if len(refused) == 1 else f"{len(refused):,} earlier tool calls"

    def _reply(self, reply: ModelResponse) -> ModelResponse:
        if not self._calls.isdisjoint(_calls(reply)):
            plain = without_thinking(reply)
            return replace(
                plain, parts=[_as_text(part) if isinstance(part, ToolCallPart) else part for part in plain.parts]
            )
        return reply if self._thoughts.isdisjoint(_thoughts([reply])) else without_thinking(reply)

    def _request(self, request: ModelRequest) -> ModelRequest:
        parts = [self._request_part(part) for part in request.parts]
        return replace(request, parts=parts) if parts != request.parts else request

    def _request_part(self, part: ModelRequestPart) -> ModelRequestPart:
        match part:
            case ToolReturnPart() if part.tool_call_id in self._calls:
                return _as_prompt(part.tool_name, part.model_response_str(), part.files)
            case RetryPromptPart() if part.tool_call_id in self._calls:
                return _as_prompt(part.tool_name, part.model_response())
            case _:
                return part


def _as_text(call: ToolCallPart) -> TextPart:
    return TextPart(f"[called the tool {call.tool_name} with {call.args_as_json_str()}]")


def _as_prompt(tool: str | None, result: str, files: Sequence[UserContent] = ()) -> UserPromptPart:
    """A result, marked as such: the user did not write it."""
    marked = f"[result of the tool {tool}, not written by the user]\n{result}\n[end of the result]"
    return UserPromptPart([marked, *files] if files else marked)


def _refusal(error: Exception) -> str:
    """What the provider says about the request's form; empty if it says something else."""
    if not isinstance(error, ModelHTTPError) or error.status_code not in _STATUS:
        return ""
    text = error.body if isinstance(error.body, str) else json.dumps(error.body, default=str, ensure_ascii=False)
    return "" if _NOT_OFFERED.search(text) or overflow.read(error.status_code, text) else text


def _thoughts(messages: Sequence[ModelMessage]) -> Iterator[str]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, ThinkingPart):
                yield f"{part.signature} {part.content}"


def _calls(message: ModelMessage) -> list[str]:
    return [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
