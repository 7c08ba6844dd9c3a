"""Calls that a model writes in its text, for agents without tool calls, and the observations that answer them."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from co_tui.context.journal.net_changes import patch_changes
from co_tui.context.journal.shell_files import patched_files
from co_tui.context.memory.unwrap import edit_blocks
from co_tui.late_pattern import late_pattern

_READ_CHARS: Final = 200_000
_FUNCTION: Final = late_pattern(r"<function=([\w.-]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER: Final = late_pattern(r"<parameter=([\w.-]+)>(.*?)</parameter>", re.DOTALL)
_TAGGED: Final = late_pattern(
    r"^[ \t]*<(execute_bash|execute_ipython|command|bash)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.MULTILINE
)
_NESTED: Final = late_pattern(
    r"^<(execute_command|read_file|write_to_file|replace_in_file|list_files|search_files|apply_diff|insert_content)>"
    r"(.*?)(?:</\1>|\Z)",
    re.DOTALL | re.MULTILINE,
)
_FIELD: Final = late_pattern(r"<(\w+)>(.*?)</\1>", re.DOTALL)
_FENCE: Final = late_pattern(r"(`{3,})([\w.+-]*)[ \t]*")
"""A line that begins a block of code, or ends one."""
_FENCES: Final = ("```", "<source>", "<code>", "<pre>", "<codeblock>", "<sourcecode>")
"""How the line before an edit block may begin."""
_SHELL_FENCES: Final = frozenset(("", "bash", "sh", "shell", "console", "zsh", "mswea_bash_command", "action"))
_NAME_CHARS: Final = 300
_OBSERVATION: Final = late_pattern(
    r"\s*(?:<returncode>|<args>\s*\[|<output>|<stdout>|<tool_response>|<function_results?>|EXECUTION RESULT of \["
    r"|OBSERVATION:|Observation:|\[[\w ]+ for '.*?'\] Result:|Exit code: \d|Command output:)"
)
_PROMPT: Final = late_pattern(
    r"^\(Current directory: .*\)\s*bash-\$\s*\Z|^\[Command finished with exit code -?\d+\]\s*\Z", re.MULTILINE
)


class TextCall(NamedTuple):
    """A call in a text."""

    tool: str
    values: Mapping[str, Any]
    is_sure: bool = True
    """Else it counts only once an observation answers it: a command in a reply may be a suggestion."""
    is_answered: bool = True
    """Whether an observation follows; edit blocks are applied without a word."""
    changed: Sequence[str] = ()
    """The lines that an edit block removes and adds."""


def calls_in_text(text: str) -> list[TextCall]:
    """The calls that a text makes, in the form of the agent that wrote it."""
    text = text[:_READ_CHARS]
    found = list(_functions(text)) or list(_tagged(text))
    edits = list(_edits(text))
    return found or edits or list(_fenced(text))


def is_observation(text: str) -> bool:
    """Whether a message after a call in text is what a tool printed, not what the user wrote."""
    return _OBSERVATION.match(text) is not None or _PROMPT.search(text[-600:]) is not None


def _functions(text: str) -> Iterator[TextCall]:
    if "<function=" in text:
        for found in _FUNCTION.finditer(text):
            yield TextCall(found[1], {name: value.strip("\n") for name, value in _PARAMETER.findall(found[2])})
    for piece in text.split("<tool_call>")[1:]:
        try:
            call = json.loads(piece.partition("</tool_call>")[0])
        except (ValueError, RecursionError):
            continue
        if isinstance(call, dict) and isinstance(values := call.get("arguments"), dict):
            yield TextCall(str(call.get("name") or "tool"), values)


def _tagged(text: str) -> Iterator[TextCall]:
    for found in _NESTED.finditer(text):
        yield TextCall(found[1], {name: value.strip() for name, value in _FIELD.findall(found[2])})
    for found in _TAGGED.finditer(text):
        if body := found[2].strip():
            key = "code" if found[1] == "execute_ipython" else "command"
            yield TextCall(found[1], {key: body}, is_sure=found[1].startswith("execute"))


def _fenced(text: str) -> Iterator[TextCall]:
    """The last fenced command: agents with this protocol run one a reply."""
    last = next(reversed(list(_fences(text))), None)
    if last is not None and last.language in _SHELL_FENCES and last.text.strip():
        yield TextCall("bash", {"command": last.text.strip("\n")}, is_sure=last.language.startswith("mswea"))


class _Fence(NamedTuple):
    language: str
    text: str


def _fences(text: str) -> Iterator[_Fence]:
    """The blocks of code, each between lines with equal marks. In one pass: a pattern would search from each mark."""
    lines = text.split("\n") if "```" in text else []
    marks = [_FENCE.fullmatch(line) for line in lines]
    ends: dict[str, list[int]] = {}
    for number, mark in enumerate(marks):
        if mark and not mark[2]:
            ends.setdefault(mark[1], []).append(number)
    behind = 0
    for number, mark in enumerate(marks):
        if mark is None or number < behind:
            continue
        closing = ends.get(mark[1], [])
        if (at := bisect_right(closing, number)) < len(closing):
            behind = closing[at] + 1
            yield _Fence(mark[2], "\n".join(lines[number + 1 : closing[at]]))


def _edits(text: str) -> Iterator[TextCall]:
    """Files that edit blocks change, each once."""
    found: dict[str, list[str]] = {}
    last, lines = "", text.split("\n") if "SEARCH" in text else []
    for block in edit_blocks(lines):
        last = _name_before(lines[max(0, block.begin - 3) : block.begin]) or last
        if last:
            found.setdefault(last, []).extend(block.changed)
    for fence in _FENCE.finditer(text) if "\n+++ " in text else ():
        if fence[2] in ("diff", "patch", "udiff"):
            of_patch = patch_changes(fence[3])
            found.update((path, of_patch.get(path, [])) for path, *_ in patched_files(fence[3]))
    for path, changed in found.items():
        yield TextCall("edit", {"path": path}, is_answered=False, changed=changed)


def _name_before(lines: Sequence[str]) -> str:
    """The file name on the lines before an edit block, with or without a fence between."""
    for line in reversed(lines):
        name = line[-_NAME_CHARS:].strip().strip("*`#:").strip()
        if not name or line.startswith(_FENCES):
            continue
        return name if " " not in name and ("." in name or "/" in name or name.istitle()) else ""
    return ""
