"""What the context is made of, in numbers: for `/context` and `co-tui context`."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, Final

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.events import Json
from co_tui.events.stored_messages import as_sent, pieces
from co_tui.session.state.session_state import Entry, SessionState

_REQUEST_ROLES: Final = ("command", "note", "user", "tool_result", "system")
"""A request's role is the first of these that one of its parts has."""


def context_report(state: SessionState) -> dict[str, Any]:
    """The last measurement, with the composition of the history."""
    usage = state.usage
    board = state.board if state.model != EMBEDDED else None  # the embedded model does not get the board
    roles, characters = _composition(state.history)
    return {
        "token_limit": usage.token_limit if usage else 0,
        "current_tokens": usage.current_tokens if usage else 0,
        "system_tokens": usage.system_tokens if usage else 0,
        "board_tokens": board.tokens if board else 0,
        "board_entries": board.entries if board else 0,
        "tool_definition_tokens": usage.tool_definition_tokens if usage else 0,
        "conversation_tokens": usage.conversation_tokens if usage else 0,
        "share": round(usage.share, 4) if usage else 0.0,
        "limit_known": usage.limit_known if usage else False,
        "limit_source": usage.limit_source if usage else "",
        "measured": usage.measured if usage else "estimate",
        "messages_count": len(state.history),
        "messages_not_sent": state.not_sent,
        "roles": dict(roles),
        "characters": characters,
        "model": state.model,
        "policy": state.policy,
        "cost": _rounded(state.total_cost),
        "assumed_cost": _rounded(state.assumed_cost or None),
        "summary_cost": _rounded(state.summary_cost or None),
    }


def _rounded(dollars: float | None) -> float | None:
    return None if dollars is None else round(dollars, 6)


def _composition(entries: Iterable[Entry]) -> tuple[Counter[str], int]:
    """The number of messages of each role, and their characters."""
    roles: Counter[str] = Counter()
    characters = 0
    for entry in entries:
        said = list(pieces(as_sent(entry.message)))
        roles[_role(entry.message, {role for role, *_ in said})] += 1
        characters += sum(len(text) for _, text, _ in said)
    return roles, characters


def _role(message: Json, of_parts: Collection[str]) -> str:
    """One role per message, so that roles add up to the number of messages."""
    if message.get("kind") == "response":
        return "assistant"
    return next((role for role in _REQUEST_ROLES if role in of_parts), "user")
