"""The part of the conversation that a delegated agent gets (T4)."""

from collections.abc import Iterable, Iterator
from typing import Final

from co_tui.agent.tool_names import DELEGATE_TOOL
from co_tui.events import Json
from co_tui.events.stored_messages import pieces
from co_tui.session.state.session_state import Entry

_SAID: Final = frozenset({"system", "user", "assistant"})
_TOOLS: Final = frozenset({"tool_call", "tool_result"})
_OF_PROVIDER: Final = frozenset({"id", "provider_name", "provider_details"})
"""Data of a part that refers to the thinking before it, without which its provider refuses it."""


def top_level(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The messages without thinking, without calls that have no result yet or that the provider answered itself, and
    without other delegations."""
    entries = list(entries)
    answered = _answered_calls(entries)
    for entry in entries:
        kept = [
            {key: value for key, value in part.items() if key not in _OF_PROVIDER}
            for role, text, part in pieces(entry.message)
            if (role in _SAID and text.strip())
            or role in ("command", "note")
            or (role in _TOOLS and _call_id(part) in answered)
        ]
        if kept:
            yield entry._replace(message={**entry.message, "parts": kept})


def _answered_calls(entries: Iterable[Entry]) -> set[str]:
    """The ids of the main agent's own calls that have a result."""
    found: dict[str, set[str]] = {role: set() for role in _TOOLS}
    delegating = set()
    for entry in entries:
        for role, _, part in pieces(entry.message):
            if role in _TOOLS and not str(part.get("part_kind")).startswith("builtin-"):
                found[role].add(_call_id(part))
                if part.get("tool_name") == DELEGATE_TOOL:
                    delegating.add(_call_id(part))
    return found["tool_call"] & found["tool_result"] - delegating


def _call_id(part: Json) -> str:
    return str(part.get("tool_call_id"))


def only_text(message: Json) -> Json | None:
    """The message without calls, results and thinking; None if nothing is left."""
    said = [part for role, text, part in pieces(message) if role in _SAID and text.strip()]
    return {**message, "parts": said} if said else None
