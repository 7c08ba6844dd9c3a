"""Calls that a model writes in its text, for agents without tool calls, and the observations that answer them."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from co_tui.context.memory.unwrap import edit_blocks, edit_in, with_edits_marked
from co_tui.events.content import content_text
from co_tui.late_pattern import late_pattern

_READ_CHARS: Final = 200_000
_FUNCTION: Final = late_pattern(r"<function=([\w.-]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER: Final = late_pattern(r"<(parameter)=([\w.-]+)>")
_TAGGED: Final = late_pattern(
    r"^[ \t]*<(execute_bash|execute_ipython|command|bash)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.MULTILINE
)
_NESTED: Final = late_pattern(
    r"^<(execute_command|read_file|write_to_file|replace_in_file|list_files|search_files|apply_diff|insert_content)>"
    r"(.*?)(?:</\1>|\Z)",
    re.DOTALL | re.MULTILINE,
)
_FIELD: Final = late_pattern(r"<((\w+))>")
"""The tag before a value of a call: the name of the closing tag, and the name of the value. The same for both."""
_FENCE: Final = late_pattern(r"(`{3,})([\w.+-]*)[ \t]*")
"""A line that begins a block of code, or ends one."""
_FENCES: Final = ("```", "<source>", "<code>", "<pre>", "<codeblock>", "<sourcecode>")
"""How the line before an edit block may begin."""
_CLOSED_FENCES: Final = [[fence.replace("<", "</")] for fence in _FENCES]
_SHELL_FENCES: Final = frozenset(("", "bash", "sh", "shell", "console", "zsh", "mswea_bash_command", "action"))
_EDIT: Final = "edit"
_PATCHES: Final = frozenset(("diff", "patch", "udiff"))
_PATCHED: Final = late_pattern(r"^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_CALL, _CALLED = "<tool_call>", "</tool_call>"
_NAME_CHARS: Final = 300
MOST_UNCLOSED: Final = 100
"""After so many kinds of tags without an end, stop looking for values."""
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
    begin: int
    """Where it is in the text."""
    end: int
    text: str
    """What it says, in lines."""
    is_sure: bool = True
    """Else it may be a suggestion: a command counts only once an observation answers it."""
    is_answered: bool = True
    """Whether an observation follows; edit blocks are applied without a word."""


class Piece(NamedTuple):
    """A call in a text, or what is said before or after it."""

    text: str
    call: TextCall | None = None


def pieces_of(text: str) -> list[Piece]:
    """A text in pieces, in order; blank ones only if there is nothing else."""
    pieces: list[Piece] = []
    said = 0
    for call in calls_in_text(text):
        pieces += [Piece(with_edits_marked(text[said : call.begin])), Piece(call.text, call)]
        said = call.end
    pieces.append(Piece(with_edits_marked(text[said:])))
    return [piece for piece in pieces if piece.call or piece.text.strip()] or pieces[-1:]


def values_text(values: Mapping[str, Any]) -> str:
    """The values of a call on separate lines, texts as they are, an edit as what it changes."""
    found = edit_in(values) or values.values()
    return "\n".join(value if isinstance(value, str) else content_text(value) for value in found)


def calls_in_text(text: str) -> list[TextCall]:
    """The calls that a text makes, in order, in the form of the agent that wrote it."""
    text = text[:_READ_CHARS]
    found = list(_functions(text)) or list(_tagged(text)) or list(_edits(text)) or list(_fenced(text))
    return _apart(sorted(found, key=lambda call: call.begin))


def _apart(calls: Sequence[TextCall]) -> list[TextCall]:
    """The calls without those that are inside another."""
    kept: list[TextCall] = []
    for call in calls:
        if not kept or call.begin >= kept[-1].end:
            kept.append(call)
    return kept


def is_observation(text: str) -> bool:
    """Whether a message after a call in text is what a tool printed, not what the user wrote."""
    return _OBSERVATION.match(text) is not None or _PROMPT.search(text[-600:]) is not None


def _functions(text: str) -> Iterator[TextCall]:
    for found in _FUNCTION.finditer(text) if "<function=" in text else ():
        fields = _fields(found[2], _PARAMETER)
        if fields.values or found[0].endswith("</function>"):
            yield TextCall(found[1], fields.values, *found.span(), fields.text)
    at = len(text.partition(_CALL)[0])
    for piece in text.split(_CALL)[1:]:
        inside, closed, _ = piece.partition(_CALLED)
        begin, at = at, at + len(_CALL) + len(piece)
        try:
            call = from_json(inside)  # it refuses half of an escaped pair, which cannot be stored
        except (ValueError, TypeError, RecursionError):
            continue
        if isinstance(call, dict) and isinstance(given := call.get("arguments"), dict):
            end = begin + len(_CALL + inside + closed)
            yield TextCall(str(call.get("name") or "tool"), given, begin, end, values_text(given))


def _tagged(text: str) -> Iterator[TextCall]:
    for found in _NESTED.finditer(text):
        fields = _fields(found[2], _FIELD)
        values = {name: value.strip() for name, value in fields.values.items()}
        yield TextCall(found[1], values, *found.span(), fields.text)
    for found in _TAGGED.finditer(text):
        if body := found[2].strip():
            key = "code" if found[1] == "execute_ipython" else "command"
            yield TextCall(found[1], {key: body}, *found.span(), body, is_sure=found[1].startswith("execute"))


class _Fields(NamedTuple):
    values: Mapping[str, str]
    text: str
    """All values; the text itself, if it says more."""


def _fields(text: str, begins: re.Pattern[str]) -> _Fields:
    """The values in a text, read in one pass: a closing tag that is missing is searched for once."""
    values: dict[str, str] = {}
    others: list[str] = []
    unclosed: set[str] = set()
    end, count = 0, 0
    for found in begins.finditer(text):
        closing = f"</{found[1]}>"
        if found.start() < end or closing in unclosed:
            continue
        if (at := text.find(closing, found.end())) < 0:
            unclosed.add(closing)
            if len(unclosed) > MOST_UNCLOSED:
                break
            continue
        values[found[2]] = text[found.end() : at].strip("\n")
        others.append(text[end : found.start()])
        end, count = at + len(closing), count + 1
    is_all = len(values) == count and not "".join((*others, text[end:])).strip()
    return _Fields(values, values_text(values) if is_all else text)


def _fenced(text: str) -> Iterator[TextCall]:
    """The last fenced command: agents with this protocol run one a reply."""
    last = next(reversed(list(_fences(text))), None)
    if last is not None and last.language in _SHELL_FENCES and last.text.strip():
        command = last.text.strip("\n")
        is_sure = last.language.startswith("mswea")
        yield TextCall("bash", {"command": command}, last.begin, last.end, command, is_sure)


class _Fence(NamedTuple):
    language: str
    text: str
    begin: int
    end: int


def _fences(text: str) -> Iterator[_Fence]:
    """The blocks of code, each between lines with equal marks. In one pass: a pattern would search from each mark."""
    lines = text.split("\n") if "```" in text else []
    starts = _starts(lines)
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
            inside = "\n".join(lines[number + 1 : closing[at]])
            yield _Fence(mark[2], inside, starts[number], starts[behind] - 1)


def _starts(lines: Sequence[str]) -> list[int]:
    """Where each line begins, and what comes after the last."""
    return [0, *accumulate(len(line) + 1 for line in lines)]


def _edits(text: str) -> Iterator[TextCall]:
    """The edits of files: edit blocks, those of one file together if nothing is said between them, and patches."""
    last, lines = "", text.split("\n") if "SEARCH" in text else []
    starts = _starts(lines)
    call: TextCall | None = None
    for block in edit_blocks(lines):
        named = _name_before(lines[max(0, block.begin - 3) : block.begin])
        behind = block.end + (lines[block.end : block.end + 1] in _CLOSED_FENCES)
        begin, end = starts[block.begin - len(named.lines)], starts[behind] - 1
        edit = {"old": block.old, "new": block.new}
        is_same = named.name in ("", last)
        last = named.name or last
        if call is not None and is_same and not _says(text[call.end : begin]):
            call = call._replace(values={**call.values, "edits": [*call.values["edits"], edit]}, end=end)
            continue
        if call is not None:
            yield call._replace(text=values_text(call.values))
        call = TextCall(_EDIT, {"path": last, "edits": [edit]}, begin, end, "", is_answered=False) if last else None
    if call is not None:
        yield call._replace(text=values_text(call.values))
    for fence in _fences(text) if "\n+++ " in text else ():
        if fence.language in _PATCHES and (name := _PATCHED.search(fence.text)):
            values = {"path": name[1], "patch": fence.text}
            yield TextCall(_EDIT, values, fence.begin, fence.end, fence.text, is_sure=False, is_answered=False)


def _says(text: str) -> bool:
    """Whether a text between two edit blocks says anything."""
    return any(line.strip() and not line.startswith(_FENCES) for line in text.split("\n"))


class _Named(NamedTuple):
    name: str
    lines: Sequence[str]
    """The name and the fence below it."""


def _name_before(lines: Sequence[str]) -> _Named:
    """The file name on the lines before an edit block, with or without a fence between."""
    for at in range(len(lines) - 1, -1, -1):
        name = lines[at][-_NAME_CHARS:].strip().strip("*`#:").strip()
        if not name or lines[at].startswith(_FENCES):
            continue
        is_name = " " not in name and ("." in name or "/" in name or name.istitle())
        return _Named(name, lines[at:]) if is_name else _Named("", lines[at + 1 :])
    return _Named("", lines)
