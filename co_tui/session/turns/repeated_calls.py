"""Detect repeated tool calls: the model gets a note when results repeat; the turn stops when failures do."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

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
    for times, reply in enumerate(_replies_newest_first(messages), start=1):
        failures = {call: result for call, result in _answered(*reply) if result.outcome in _FAILED}
        same = failures if times == 1 else {call: last for call, last in repeated.items() if call in failures}
        repeated = dict(same)
        if not repeated:
            return
        if times == MOST_FAILURES_IN_A_ROW:
            call, last = next(iter(repeated.items()))
            raise RepeatedCall(_name(call), times, _error_text(last.content))


class RepeatedResults:
    """Counts equal results of equal calls in one run; each reply is read once, however long the run is."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()
        """By the hash of the call and its result."""
        self._latest: ModelResponse | None = None
        """The last reply that is counted."""
        self._noted: set[str] = set()
        """Calls that the model has a note about: a request may be made again."""

    def new_notes(self, messages: Sequence[ModelMessage]) -> Iterator[str]:
        """A sentence for the model about each call of the latest reply that had the same result several times since the
        user last said something, once for each call."""
        new = []
        for reply, returns in _replies_newest_first(messages):
            if reply is self._latest:
                break
            new.append((reply, _answered(reply, returns)))
        else:
            self._times.clear()  # the user said something since, or this is another run
        self._times.update(_hashed(*each) for _, answered in new for each in answered)
        self._latest, latest = new[0] if new else (self._latest, [])
        for call, result in dict(latest).items():
            times, call_id = self._times[_hashed(call, result)], result.tool_call_id
            if times >= SAME_RESULTS and call_id not in self._noted:
                self._noted.add(call_id)
                yield f"The call {_name(call)} had the same result {times} times. {_ADVICE}"


def _hashed(call: _Call, result: ToolReturnPart) -> int:
    return hash((call, _result_text(result)))


_Returns: TypeAlias = dict[str, ToolReturnPart]
"""Results by the ids of their calls."""


def _replies_newest_first(messages: Sequence[ModelMessage]) -> Iterator[tuple[ModelResponse, _Returns]]:
    """Each reply with the results of its calls, back to the latest user prompt."""
    returns: _Returns = {}
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            if NOTE not in (message.metadata or {}) and any(isinstance(part, UserPromptPart) for part in message.parts):
                return
            returns.update({part.tool_call_id: part for part in message.parts if isinstance(part, ToolReturnPart)})
        elif isinstance(message, ModelResponse):
            yield message, returns
            returns = {}


def _answered(reply: ModelResponse, returns: _Returns) -> list[tuple[_Call, ToolReturnPart]]:
    """The calls of a reply that have results."""
    calls = (part for part in reply.parts if isinstance(part, ToolCallPart))
    return [(_identity(part), returns[part.tool_call_id]) for part in calls if part.tool_call_id in returns]


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
