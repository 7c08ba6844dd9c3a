"""Work in progress that a compaction carries along with the summary: plan, skills in use, running agents (C5)."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from co_tui.events import Json, Ref
from co_tui.inert import one_line
from co_tui.session.state.session_state import Entry, SessionState

LOAD_SKILL: Final = "load_capability"
"""The tool with which a model loads a skill."""
MOST_STEPS: Final = 40
TEXT_CHARS: Final = 300
SKILLS_CHARS: Final = 12_000
"""The most room for the instructions of all skills in use."""
CHARS_A_WINDOW_TOKEN: Final = 0.3
"""In a small window they get about a tenth of it."""
LEAST_SKILL_CHARS: Final = 200
"""With less room than this, a skill is only named."""
_SYMBOLS: Final = {"completed": "x", "done": "x", "in_progress": "▶", "cancelled": "-"}


def carried_on(
    state: SessionState,
    skill_loads: Sequence[Entry],
    leaving: Collection[Ref],
    window_tokens: int,
    instructions: Mapping[str, str],
) -> Mapping[str, str]:
    """Texts by title, to put next to the summary; empty ones are left out there.

    For the main agent only: a delegate has its task. `skill_loads` are the original messages behind the history
    that load skills, including those replaced earlier; `leaving` is what this compaction replaces; `instructions` are
    each skill's.
    """
    kept = {entry.ref for entry in state.history}.difference(leaving)
    room_chars = min(SKILLS_CHARS, int(window_tokens * CHARS_A_WINDOW_TOKEN))
    return {
        "The plan": _plan(state.plan),
        "Skills in use": _skills(_loaded(skill_loads, kept), instructions, room_chars),
        "Agents at work": "\n".join(_running(state)),
    }


def _plan(steps: Iterable[Json]) -> str:
    steps = list(steps)
    lines = [
        f"- [{_SYMBOLS.get(str(step.get('state')), ' ')}] {one_line(str(step.get('text', '')), TEXT_CHARS)}"
        for step in steps[:MOST_STEPS]
    ]
    more = [f"({len(steps) - MOST_STEPS} more steps)"] if len(steps) > MOST_STEPS else []
    return "\n".join([*lines, *more])


def _loaded(skill_loads: Iterable[Entry], kept: Collection[Ref]) -> list[str]:
    """The loaded skills, except those whose load call stays in the history and is sent anyway."""
    names: dict[str, str] = {}
    loaded: dict[str, None] = {}
    for entry in skill_loads:
        for part in skill_parts(entry.message):
            call_id = str(part.get("tool_call_id"))
            if part.get("part_kind") == "tool-call" and isinstance(name := _arguments(part).get("id"), str):
                names[call_id] = name
            elif part.get("part_kind") == "tool-return" and call_id in names:
                name = names[call_id]
                loaded.pop(name, None)
                if entry.ref not in kept:
                    loaded[name] = None
    return list(loaded)


def skill_parts(message: Json) -> list[Json]:
    """The calls that load a skill, and their results. Asked of every message, so this reads no text."""
    parts = message.get("parts")
    if not isinstance(parts, list | tuple):
        return []
    return [part for part in parts if isinstance(part, dict) and part.get("tool_name") == LOAD_SKILL]


def _skills(names: Sequence[str], instructions: Mapping[str, str], room_chars: int) -> str:
    return "\n\n".join(_skill(name, instructions.get(name, ""), room_chars // len(names)) for name in names)


def _skill(name: str, instructions: str, room_chars: int) -> str:
    name, text = one_line(name, 60), instructions.strip()
    how = f"`{LOAD_SKILL}` with id {name} reads all of it]"
    if not text:
        text = f"[{how}"
    elif len(text) > room_chars:
        shown = text[:room_chars] if room_chars >= LEAST_SKILL_CHARS else ""
        text = f"{shown}\n[…{len(text) - len(shown):,} more characters; {how}".lstrip()
    return f"### {name}\n{text}"


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
