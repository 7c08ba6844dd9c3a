"""Calls that Cline and Roo Code had the model write as XML in its text, and the results that followed as text."""

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from co_tui.exchange.importers.foreign_files import Record

_TOOLS: Final = "|".join(
    (
        *("access_mcp_resource", "act_mode_respond", "apply_diff", "ask_followup_question", "attempt_completion"),
        *("browser_action", "codebase_search", "condense", "edit_file", "execute_command", "fetch_instructions"),
        *("generate_image", "insert_content", "list_code_definition_names", "list_files", "load_mcp_documentation"),
        *("new_rule", "new_task", "plan_mode_respond", "read_file", "replace_in_file", "report_bug"),
        *("run_slash_command", "search_and_replace", "search_files", "search_replace", "summarize_task"),
        *("switch_mode", "update_todo_list", "use_mcp_tool", "use_skill", "web_fetch", "web_search", "write_to_file"),
    )
)
_CALL: Final = re.compile(rf"^<({_TOOLS})>", re.MULTILINE)
_PARAMETER: Final = re.compile(r"\s*<([a-z_]{1,40})>")
_LONG: Final = ("content", "diff", "arguments", "args", "result")
"""Parameters whose value may hold tags: their end is the last one."""
_RESULT: Final = re.compile(rf"^\[({_TOOLS})(?: [^\n]{{1,2000}})?\] Result:[ \t]*", re.MULTILINE)
_MOST_MISSING: Final = 50
_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_ASKING: Final = (
    *("act_mode_respond", "ask_followup_question", "attempt_completion", "condense", "new_task", "plan_mode_respond"),
    *("report_bug", "summarize_task"),
)
"""Tools whose result is what the user says; that of others may hold such tags as well."""
_BY_USER: Final = re.compile(r"<(feedback|user_message|answer)>")
_FEEDBACK: Final = re.compile(r"^The user [^\n]{1,200}\n<(feedback)>", re.MULTILINE)
"""What the user says to a call of any tool, as the program announces it."""


class WrittenResult(NamedTuple):
    """What a tool returned, as a text that names it."""

    tool: str
    text: str


class Tagged(NamedTuple):
    """A piece of a text between two tags, which are inside of `start` and `end`."""

    name: str
    body: str
    start: int
    end: int


def blocks_of_text(said: str, answered: Collection[str] = ()) -> Iterator[Record]:
    """The words of a reply and the calls in them, in order; a call that is not complete stays text.

    One in a code block is only quoted, unless a tool of this name answered.
    """
    end = 0
    for call in _calls(said, answered):
        yield {"type": "text", "text": said[end : call.start].strip()}
        yield {"type": "tool_use", "name": call.name, "input": _parameters(call.body)}
        end = call.end
    yield {"type": "text", "text": said[end:].strip()}


def has_calls(said: str) -> bool:
    return next(_calls(said, ()), None) is not None


def _calls(said: str, answered: Collection[str]) -> "Iterator[Tagged]":
    fences = end = 0
    for call in tagged(said, _CALL):
        fences += len(_FENCE.findall(said[end : call.start]))
        end = call.start
        if fences % 2 == 0 or call.name in answered:
            end = call.end
            yield call


def results_in(said: str) -> list[WrittenResult]:
    """The results that a text says, each up to the next; none if it does not begin with one."""
    said = said.strip()
    places = list(_RESULT.finditer(said)) if _RESULT.match(said) else []
    ends = [*(found.start() for found in places[1:]), len(said)]
    return [WrittenResult(found[1], said[found.end() : end].strip()) for found, end in zip(places, ends, strict=False)]


def user_words_in(result: WrittenResult) -> str:
    """What the user answered or said next to a result."""
    opening = _BY_USER if result.tool in _ASKING else _FEEDBACK
    return "\n\n".join(found.body.strip() for found in tagged(result.text, opening))


def tagged(said: str, opening: re.Pattern[str]) -> Iterator[Tagged]:
    """What is between such a tag and the next that closes it. Each closing tag that is missing is searched for once,
    and only a few of them."""
    end = 0
    missing: set[str] = set()
    for opened in opening.finditer(said):
        name, closing = opened[1], f"</{opened[1]}>"
        if len(missing) > _MOST_MISSING:
            return
        if opened.start() < end or name in missing:
            continue
        close = said.find(closing, opened.end())
        if close < 0:
            missing.add(name)
            continue
        end = close + len(closing)
        yield Tagged(name, said[opened.end() : close], opened.start(), end)


def _parameters(body: str) -> dict[str, str]:
    found: dict[str, str] = {}
    end = 0
    while opened := _PARAMETER.match(body, end):
        closing = f"</{opened[1]}>"
        close = body.rfind(closing) if opened[1] in _LONG else body.find(closing, opened.end())
        if close < opened.end():
            break
        found[opened[1]] = body[opened.end() : close].strip("\n")
        end = close + len(closing)
    return found
