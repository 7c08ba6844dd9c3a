"""What tools, commands and background work report, without known keys: the one place on the way into the log."""

from typing import Any, Final

from co_tui.agent.known_keys import KnownKeys
from co_tui.events import (
    ApprovalRequested,
    BackgroundNews,
    CommandOutput,
    Fact,
    Message,
    SessionError,
    ToolActivity,
    ToolOutput,
)
from co_tui.events.stored_messages import COMMAND, NOTE

_RESULTS: Final = ("tool-return", "retry-prompt")
_OUTPUT: Final = frozenset((COMMAND, NOTE))
"""Marks of messages that are the output of the user's command, or a note: their text is not the user's."""


def without_keys(fact: Fact, keys: KnownKeys) -> Fact:
    """The fact without known keys in what tools returned. What the user typed and the model wrote is as it was, and so
    is each call, whose arguments providers compare."""
    match fact:
        case Message(message={"kind": "request"} as message):
            cleaned = _cleaned(message, keys)
            return fact if cleaned == message else fact.but(message=cleaned)
        case ToolActivity(stage="started"):
            return fact
        case ToolActivity(text=text, diff=diff):
            return fact.but(text=keys.removed_from(text), diff=keys.removed_from(diff))
        case ToolOutput(text=text) | CommandOutput(text=text):
            return fact.but(text=keys.removed_from(text)) if text else fact
        case ApprovalRequested(what=what):
            return fact.but(what=keys.removed_from(what))
        case BackgroundNews() | SessionError():
            return fact.but(what=keys.removed_from(fact.what), outcome=keys.removed_from(fact.outcome))
        case _:
            return fact


def _cleaned(message: Any, keys: KnownKeys) -> Any:
    is_output = not _OUTPUT.isdisjoint(message.get("metadata") or {})
    parts = [
        {name: value if name == "tool_call_id" else keys.removed_from_all(value) for name, value in part.items()}
        if is_output or part.get("part_kind") in _RESULTS
        else part
        for part in message.get("parts", ())
    ]
    return {**message, "parts": parts}
