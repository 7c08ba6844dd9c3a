"""Keep calls and returns paired: providers reject a return without its call, and a call without its return."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from operator import is_
from typing import NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)

INTERRUPTED = "Interrupted by user."


class Repaired(NamedTuple):
    """Messages that can be sent, and the index of each in the input; None for added ones."""

    messages: list[ModelMessage]
    origins: list[int | None]


def repair(messages: Sequence[ModelMessage], pending: Collection[str] = ()) -> list[ModelMessage]:
    """The same messages with every call answered exactly once and no answer without its call.

    Calls of the last step whose ids are `pending` stay open: they wait for an approval.
    """
    return repair_traced(messages, pending).messages


def repair_traced(messages: Sequence[ModelMessage], pending: Collection[str] = ()) -> Repaired:
    """Like `repair`, with the origin of each message.

    Pairing goes by position: the answers to a response's calls are in the requests that follow it, up to
    the next response or prompt. Real transcripts reuse call ids, so an id alone identifies nothing.
    """
    repaired: list[ModelMessage] = []
    origins: list[int | None] = []
    calls = _OpenCalls()
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            _close(repaired, origins, calls)
            calls = _OpenCalls(message)
            repaired.append(message)
            origins.append(index)
            continue
        answers, others = _divided(message, calls)
        if others:
            # A prompt ends the step: calls still open before it will never be answered.
            if answers:
                answers += calls.interrupted()
            else:
                _close(repaired, origins, calls)
        parts = [*answers, *others]
        if parts:
            repaired.append(message if _same(parts, message.parts) else replace(message, parts=parts))
            origins.append(index)
    calls.leave_open(pending)
    _close(repaired, origins, calls)
    return Repaired(repaired, origins)


def open_calls(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """The unanswered calls of the last step; none once a prompt followed them."""
    calls = _OpenCalls()
    for message in last_step(messages):
        if isinstance(message, ModelResponse):
            calls = _OpenCalls(message)
        else:
            _divided(message, calls)
    return calls.left


def last_step(messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """The last response with the answers to its calls; empty if a prompt came after it."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, ModelResponse):
            return messages[index:]
        if any(answered_id(part) is None for part in message.parts):
            break
    return ()


def _divided(message: ModelRequest, calls: "_OpenCalls") -> tuple[list[ModelRequestPart], list[ModelRequestPart]]:
    """The answers to open calls, and the other parts; answers without an open call are in neither."""
    answers: list[ModelRequestPart] = []
    others: list[ModelRequestPart] = []
    for part in message.parts:
        found = answered_id(part)
        if found is None:
            others.append(part)
        elif calls.take(found):
            answers.append(part)
    return answers, others


class _OpenCalls:
    """The unanswered calls of one response."""

    def __init__(self, response: ModelResponse | None = None) -> None:
        self._calls: list[ToolCallPart] = list(response.tool_calls) if response else []
        self._timestamp: datetime | None = response.timestamp if response else None

    def take(self, call_id: str) -> bool:
        """Close the call with this id; whether there was one."""
        for index, call in enumerate(self._calls):
            if call.tool_call_id == call_id:
                del self._calls[index]
                return True
        return False

    @property
    def left(self) -> list[ToolCallPart]:
        return list(self._calls)

    def leave_open(self, pending: Collection[str]) -> None:
        """Keep the calls with these ids open."""
        self._calls = [call for call in self._calls if call.tool_call_id not in pending]

    def interrupted(self) -> list[ModelRequestPart]:
        """Close all open calls with an answer that says they were interrupted."""
        left, self._calls = self._calls, []
        assert self._timestamp is not None or not left
        return [
            ToolReturnPart(
                tool_name=call.tool_name,
                content=INTERRUPTED,
                tool_call_id=call.tool_call_id,
                outcome="interrupted",
                timestamp=self._timestamp or datetime.min,
            )
            for call in left
        ]


def _close(messages: list[ModelMessage], origins: list[int | None], calls: _OpenCalls) -> None:
    """Answer open calls, in the request with the other returns if there is one."""
    missing = calls.interrupted()
    if not missing:
        return
    last = messages[-1]
    if isinstance(last, ModelRequest):
        messages[-1] = replace(last, parts=[*last.parts, *missing])
    else:
        messages.append(ModelRequest(parts=missing, timestamp=last.timestamp))
        origins.append(None)


def answered_id(part: ModelRequestPart) -> str | None:
    """The id of the call a part answers. `retry-prompt` is the older form of a return that asks again."""
    if part.part_kind == "tool-return" or (part.part_kind == "retry-prompt" and part.tool_name is not None):
        return part.tool_call_id
    return None


def _same(parts: Sequence[object], others: Sequence[object]) -> bool:
    return len(parts) == len(others) and all(map(is_, parts, others))
