"""Detect repeated tool calls: the model gets a note when results repeat; the turn stops when failures do."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.events.storable import storable
from co_tui.events.stored_messages import NOTE, text_of
from co_tui.events.tool_calls import tool_label
from co_tui.events.tool_wording import call_summary
from co_tui.inert import one_line

MOST_FAILURES_IN_A_ROW: Final = 5
"""Failures of one call, with the same arguments in consecutive replies, after which the run stops."""
SAME_RESULTS: Final = 4
"""Equal results of one call before the model gets a note."""
ERROR_CHARS: Final = 300
_ADVICE: Final = "Do not make it again: try something else, or say what is missing."
_TOOK: Final = re.compile(r"\n\[took [\d.]+ s\]$")
_FAILED: Final = ("failed", "retried")
"""Outcomes of a tool return that mean failure; a call that the user denied did not fail."""


class RepeatedCall(Exception):
    """The same call failed again and again. The text is a sentence for people."""

    def __init__(self, call: str, times: int, error: str) -> None:
        why = error if error.endswith((".", "!", "?", "…")) else f"{error}."
        super().__init__(f"Stopped: the same call failed {times} times in a row: {call}. Last error: {why}")


class _Call(NamedTuple):
    tool: str
    arguments: str


def check_repeated_calls(messages: Sequence[ModelMessage]) -> None:
    """Raise `RepeatedCall` if one call failed in each of the latest replies since the user last said something."""
    repeated: dict[_Call, ToolReturnPart] = {}
    for times, answered in enumerate(_answered_newest_first(messages), start=1):
        failures = {call: result for call, result in answered if result.outcome in _FAILED}
        same = failures if times == 1 else {call: last for call, last in repeated.items() if call in failures}
        repeated = dict(same)
        if not repeated:
            return
        if times == MOST_FAILURES_IN_A_ROW:
            call, last = next(iter(repeated.items()))
            raise RepeatedCall(_name(call), times, _error_text(last.content))


def repeated_results(messages: Sequence[ModelMessage]) -> dict[str, str]:
    """A sentence for the model about each call of the latest reply that had the same result several times since the
    user last said something, by the call's id."""
    latest, *earlier = [*_answered_newest_first(messages)] or [[]]
    notes = {}
    for call, result in dict(latest).items():
        text = _result_text(result)
        all_of_it = [each for answered in (latest, *earlier) for same, each in answered if same == call]
        times = sum(_result_text(each) == text for each in all_of_it)
        if times >= SAME_RESULTS:
            notes[result.tool_call_id] = f"The call {_name(call)} had the same result {times} times. {_ADVICE}"
    return notes


def _answered_newest_first(messages: Sequence[ModelMessage]) -> Iterator[list[tuple[_Call, ToolReturnPart]]]:
    """The calls of each reply with their results, back to the latest user prompt."""
    returns: dict[str, ToolReturnPart] = {}
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            if NOTE not in (message.metadata or {}) and any(isinstance(part, UserPromptPart) for part in message.parts):
                return
            returns.update({part.tool_call_id: part for part in message.parts if isinstance(part, ToolReturnPart)})
        elif isinstance(message, ModelResponse):
            yield [
                (_identity(part), found)
                for part in message.parts
                if isinstance(part, ToolCallPart) and (found := returns.get(part.tool_call_id)) is not None
            ]
            returns = {}


def _name(call: _Call) -> str:
    return f"{tool_label(call.tool)} {call_summary(*call)}".rstrip()


def _result_text(result: ToolReturnPart) -> str:
    """A result for comparing; how long it took does not count."""
    return _TOOK.sub("", text_of(storable(result.content)))  # a tool may return anything


def _identity(call: ToolCallPart) -> _Call:
    """Two calls are the same if their arguments are equal as JSON."""
    text = text_of(call.args)
    try:
        return _Call(call.tool_name, json.dumps(json.loads(text or "{}"), sort_keys=True))
    except (ValueError, RecursionError):
        return _Call(call.tool_name, text)


def _error_text(content: Any) -> str:
    """A tool's error in one line; validation errors as `argument: what is wrong`."""
    if isinstance(content, list) and all(isinstance(each, dict) and "msg" in each for each in content):
        content = "; ".join(
            f"{'.'.join(map(str, each.get('loc') or ()))}: {each['msg']}".removeprefix(": ") for each in content
        )
    return one_line(text_of(content) or "no reason given", ERROR_CHARS)
