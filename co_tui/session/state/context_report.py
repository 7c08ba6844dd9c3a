"""What the context is made of, in numbers: for `/context` and `co-tui context`."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from co_tui.agent.catalogue import EMBEDDED
from co_tui.events.messages import pieces
from co_tui.session.state.session_state import Entry, SessionState


def context_report(state: SessionState) -> dict[str, Any]:
    """The last measurement, with what the history is made of."""
    usage = state.usage
    board = state.board if state.model != EMBEDDED else None  # which is told nothing
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
        "measured": usage.measured if usage else "estimate",
        "messages_count": len(state.history),
        "roles": dict(roles),
        "characters": characters,
        "model": state.model,
        "policy": state.policy,
        "cost": _rounded(state.total_cost),
        "summary_cost": _rounded(state.summary_cost or None),
    }


def _rounded(dollars: float | None) -> float | None:
    return None if dollars is None else round(dollars, 6)


def _composition(entries: Iterable[Entry]) -> tuple[Counter[str], int]:
    roles: Counter[str] = Counter()
    characters = 0
    for entry in entries:
        for role, text, _ in pieces(entry.message):
            roles[role] += 1
            characters += len(text)
    return roles, characters
