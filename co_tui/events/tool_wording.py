"""Tool calls and plans in words, for the screen, the command line and exports; light enough for the first paint."""

import json
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any, Final, Literal, TypeAlias

from co_tui.events.file_diff import read_diff
from co_tui.events.refusals import HOOK_REFUSED, read_refusal
from co_tui.events.storable import Json
from co_tui.events.tool_calls import GIST_CHARS, call_line, gist_of_call, objects_in, tool_label
from co_tui.inert import inert, one_line
from co_tui.late_pattern import late_pattern

STATUS_CHARS: Final = 40
_EXIT: Final = late_pattern(r"\[exit code: (-?\d+)\]")
_TOOK: Final = late_pattern(r"\[took ([\d.]+ s)\]\s*$")
_READ: Final = late_pattern(r"^\[.* \| (\d+) lines\]")
_LABEL: Final = late_pattern(r"\[(?:stdout|stderr|exit code: -?\d+|took [\d.]+ s|Command timed out.*)\]")
_CALLED_COMMANDS: Final = ("run_command", "you ran")
NO_OUTPUT: Final = "(no output)"
FIX_ERRORS: Final = "\n\nFix the errors and try again."
"""What the library adds to the reason of a failed call."""
FAILED_LINES, FAILED_CHARS = 4, 2_000
"""The most that is shown of a failed call before it is opened."""
_DONE: Final = ("completed", "done")
STEP_DONE: Final = "✓"
STEP_CURRENT: Final = "▶"
STEP_CHARS: Final = 300
BETWEEN_STEPS: Final = " · "
BETWEEN_FIGURES: Final = " · "
FAILED: Final = "failed"
TIMED_OUT: Final = "timed out"
DENIED: Final = "denied"
REFUSED_BY_HOOK: Final = "refused by a hook"
INTERRUPTED: Final = "interrupted"
"""How a call without a known result ended: it was stopped, or its process ended."""
CUT_SHORT: Final = "stopped"
"""How a delegation ended that reached the limit on steps or spending, and returned what it had."""
MOVED_TO_BACKGROUND: Final = "Moved to the background"
"""How the result of a command begins that the user moved there."""
IN_BACKGROUND: Final = "in the background"
_ALWAYS: Final = {"start_command": IN_BACKGROUND, "write_plan": "", "present_plan": "accepted"}
"""How calls that ran ended, whatever their result; a plan is presented only once it is accepted."""
Stage: TypeAlias = Literal["started", "finished", "failed", "refused", "stopped"]
_STAGES: Final[Mapping[str, Stage]] = {"success": "finished", "denied": "refused", "interrupted": "stopped"}


def arguments_of(text: str) -> Mapping[str, Any]:
    """The arguments of a call as they were written; empty when they cannot be read, or not yet."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def call_summary(tool: str, arguments: str) -> str:
    """What a call is about."""
    values = arguments_of(arguments)
    if not values:
        return one_line(arguments, GIST_CHARS) if arguments != "{}" else ""
    return gist_of_call(tool, values)


def piece_line(role: str, text: str, part: Json) -> str:
    """A part of a message for a line in a list: a tool by its name for people, a call with what it is about."""
    tool = part.get("tool_name")
    if not isinstance(tool, str) or not tool:
        return text
    return call_line(tool, call_summary(tool, text) if role == "tool_call" else text)


def piece_text(role: str, text: str, part: Json) -> str:
    """The whole of a part of a message; of a call, its tool and its arguments, one per line."""
    if role != "tool_call":
        return text
    return f"{tool_label(str(part.get('tool_name') or ''))}\n{argument_lines(text)}".strip()


def last_output_line(text: str) -> str:
    """What a command said last, while it runs."""
    return f"… {one_line(text.rstrip().rpartition(chr(10))[2], STATUS_CHARS)}"


def stage_of(outcome: str) -> Stage:
    """How a call ended, by the outcome in its return."""
    return _STAGES.get(outcome, "failed")


OTHER_LABELS: Final = {"agent_name": "agent"}
"""Arguments under names that people know."""


def argument_lines(text: str) -> str:
    """What a call was given, a line for each; as it was written when that cannot be read."""
    values = arguments_of(text)
    if not values:
        return "" if text == "{}" else inert(text)
    # Read as JSON, what stood there as an escape is a character now.
    shown = ((OTHER_LABELS.get(name, name), value) for name, value in values.items() if not _is_self(name, value))
    return inert("\n".join(f"{name}: {_as_written(value)}" for name, value in shown))


def _is_self(name: str, value: object) -> bool:
    """Whether it only says that the model delegates to itself."""
    return name == "agent_name" and value in ("", "self")


def _as_written(value: object) -> str:
    if isinstance(value, list):
        return "".join(f"\n  - {_in_a_line(each)}" for each in value)
    if not isinstance(value, str):
        return _in_a_line(value)
    return f"\n{indent(value, '  ')}" if "\n" in value else value


def _in_a_line(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_in_a_line(each)}" for name, each in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def result_summary(tool: str, arguments: str, result: str, stage: Stage = "finished", diff: str = "") -> str:
    """How a call ended, in a few words; `diff` is the change it made."""
    if stage != "finished":
        return _unfinished(result, stage)
    if diff:
        return change_summary(diff)
    if tool == "run_command":
        return _command_result(result)
    if tool in _ALWAYS:
        return _ALWAYS[tool]
    if tool == "ask_user_question" and (answers := arguments_of(result)):
        given = [each for value in answers.values() for each in (value if isinstance(value, list) else [value])]
        return one_line(", ".join(map(str, given)), STATUS_CHARS)
    if tool == "read_file" and (read := _READ.match(result)):
        return f"{int(read[1]):,} lines" if read[1] != "1" else "1 line"
    if tool in ("edit_file", "write_file") and (changed := diff_of(tool, arguments)):
        added, taken = (sum(line.startswith(sign) for line in changed) for sign in "+-")
        return f"+{added:,} −{taken:,}" if taken or tool == "edit_file" else f"+{added:,}"
    lines = result.count("\n") + 1
    return f"{lines:,} lines" if lines > 1 else one_line(result, STATUS_CHARS)


def _unfinished(result: str, stage: Stage) -> str:
    if stage == "refused":
        reason = one_line(read_refusal(result).reason, STATUS_CHARS)
        return REFUSED_BY_HOOK if result.startswith(HOOK_REFUSED) else f"{DENIED}: {reason}" if reason else DENIED
    return INTERRUPTED if stage == "stopped" else stage


def change_summary(diff: str) -> str:
    """How much a stored diff changes."""
    change = read_diff(diff)
    if change is not None:
        return change.figures
    return "no changes" if diff.startswith("No changes") else one_line(diff, STATUS_CHARS)


def diff_of(tool: str, arguments: str) -> list[str]:
    """The lines that a call takes away and puts there, by its arguments: sessions of older versions have no diff.

    Inert; empty for calls that change no text.
    """
    values = arguments_of(arguments)
    if tool == "write_file" and isinstance(content := values.get("content"), str):
        return [f"+{line}" for line in inert(content).splitlines()]
    if tool != "edit_file":
        return []
    lines: list[str] = []
    for each in objects_in(values.get("replacements")) or [values]:
        old, new = each.get("old_text"), each.get("new_text")
        if isinstance(old, str) and isinstance(new, str):
            lines += [f"-{line}" for line in inert(old).splitlines()]
            lines += [f"+{line}" for line in inert(new).splitlines()]
    return lines


def plan_progress(steps: Sequence[Json]) -> str:
    """A plan in one line: how much is done, and what comes."""
    if not steps:
        return "no steps"
    done = sum(step.get("state") in _DONE for step in steps)
    texts = [f"{'▶ ' if step.get('state') == 'in_progress' else ''}{step.get('text', '')}" for step in steps]
    return f"{done} of {len(steps)}  {BETWEEN_STEPS.join(texts)}"


def plan_step(steps: Sequence[Json]) -> str:
    """How far a plan is, and its current step; empty once no step is left, or without a plan."""
    states = [str(step.get("state")) for step in steps]
    at = next((n for n, state in enumerate(states) if state == "in_progress"), None)
    at = next((n for n, state in enumerate(states) if state not in (*_DONE, "cancelled")), None) if at is None else at
    if at is None:
        return ""
    done = sum(state in _DONE for state in states)
    return f"Plan {done}/{len(steps)} · {one_line(str(steps[at].get('text', '')), STEP_CHARS)}"


def plan_lines(steps: Sequence[Json]) -> str:
    """A plan as a checklist, a line for each step."""
    return "\n".join(f"{_step_symbol(step)} {one_line(str(step.get('text', '')), STEP_CHARS)}" for step in steps)


def _step_symbol(step: Json) -> str:
    if step.get("state") in _DONE:
        return STEP_DONE
    return STEP_CURRENT if step.get("state") == "in_progress" else "○"


def failed_part(tool: str, result: str) -> str:
    """What to show of a failed call before it is opened: the last lines of a command, the reason of another call."""
    if tool in _CALLED_COMMANDS:
        lines = [line for line in result[-FAILED_CHARS:].splitlines() if line.strip() and not _LABEL.fullmatch(line)]
        return "\n".join(lines[-FAILED_LINES:]) if lines != [NO_OUTPUT] else ""
    reason = result.partition(FIX_ERRORS)[0].strip()
    return "\n".join(reason[:FAILED_CHARS].splitlines()[:FAILED_LINES])


def _command_result(result: str) -> str:
    if result.startswith(f"[{MOVED_TO_BACKGROUND}"):
        return IN_BACKGROUND
    took = _TOOK.search(result)
    lasted = f" · {took[1]}" if took else ""
    if "[Command timed out" in result[-200:]:
        return TIMED_OUT
    codes = _EXIT.findall(result[-200:])
    return f"exit {codes[-1] if codes else 0}{lasted}"
