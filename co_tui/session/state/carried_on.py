"""What of the work under way a compaction carries on, beside the summary: plan, skills in use, running agents (C5)."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from co_tui.events import Json
from co_tui.events.messages import pieces
from co_tui.inert import one_line
from co_tui.session.state.session_state import SessionState

LOAD_SKILL: Final = "load_capability"
"""The tool by which a model takes up a skill."""
MOST_STEPS: Final = 40
TEXT_CHARS: Final = 300
_SIGNS: Final = {"completed": "x", "done": "x", "in_progress": "▶", "cancelled": "-"}


def carried_on(state: SessionState, agent: str = "") -> Mapping[str, str]:
    """Texts by title, as they stand beside the summary; an empty one is left out there.

    They are the main agent's: a delegate has its task, and is not told what others are asked to do.
    """
    if agent:
        return {}
    return {
        "The plan": _plan(state.plan),
        "Skills in use": _skills(state),
        "Agents at work": "\n".join(_running(state)),
    }


def _plan(steps: Iterable[Json]) -> str:
    steps = list(steps)
    lines = [
        f"- [{_SIGNS.get(str(step.get('state')), ' ')}] {one_line(str(step.get('text', '')), TEXT_CHARS)}"
        for step in steps[:MOST_STEPS]
    ]
    more = [f"({len(steps) - MOST_STEPS} more steps)"] if len(steps) > MOST_STEPS else []
    return "\n".join([*lines, *more])


def _skills(state: SessionState) -> str:
    """Their instructions went with the messages: the model takes them up again when it needs them."""
    taken = dict.fromkeys(name for entry in state.transcript if not entry.agent for name in _taken_up(entry.message))
    return "\n".join(f"- {one_line(name, 60)} (its instructions are read again with `{LOAD_SKILL}`)" for name in taken)


def _taken_up(message: Json) -> Iterable[str]:
    for role, _, part in pieces(message):
        if role == "tool_call" and part.get("tool_name") == LOAD_SKILL:
            name = _arguments(part).get("id")
            if isinstance(name, str):
                yield name


def _arguments(part: Json) -> Mapping[str, Any]:
    arguments = part.get("args")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {}
    return arguments if isinstance(arguments, Mapping) else {}


def _running(state: SessionState) -> Iterable[str]:
    for agent, each in state.delegations.items():
        if each.status == "running":
            yield f"- {one_line(each.name or agent, 60)}: {one_line(each.task, TEXT_CHARS)}"
