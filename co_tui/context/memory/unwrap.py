"""The text of a call or its result: without the envelope of a program, an edit as lines removed and added."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from co_tui.late_pattern import late_pattern
from co_tui.terminal_text import without_escapes

_TEXTS: Final = ("stdout", "output", "stderr", "result", "content", "text", "message", "error", "llmContent")
"""Where programs that wrap a result in JSON put it, in the order it is shown in."""
_CODES: Final = ("exit_code", "exitCode", "returncode", "code")
_PRINTED: Final = frozenset(("stdout", "stderr", "output"))
_AROUND: Final = frozenset((
    *_CODES, "duration", "duration_seconds", "duration_ms", "call_id", "tool_use_id", "isImage", "wall_time", "cwd",
    "annotations", "sandboxed",
))  # fmt: skip
"""What else such an envelope has and no one needs: how long a call took, and how it ended, which its outcome says."""
_STATED: Final = frozenset((
    "status", "type", "id", "name", "title", "success", "is_error", "isError", "truncated", "interrupted", "timed_out",
    "signal",
))  # fmt: skip
"""What else an envelope has and may matter: stated after the text, unless it is as usual."""
_USUAL: Final = frozenset((
    ("success", True), ("is_error", False), ("isError", False), ("truncated", False), ("interrupted", False),
    ("timed_out", False), ("type", "text"), ("type", "tool_result"), ("type", "output_text"),
    ("type", "function_call_output"), ("status", "success"), ("status", "completed"), ("status", "ok"),
))  # fmt: skip
_OLD: Final = frozenset(("oldstring", "oldstr", "oldtext", "old", "search", "oldcode", "oldcontent", "targetcontent"))
_NEW: Final = frozenset(
    ("newstring", "newstr", "newtext", "new", "replace", "newcode", "newcontent", "replacementcontent", "replacement")
)
_MARKER: Final = late_pattern(r"(<{5,9} ?SEARCH|={5,9}|>{5,9} ?REPLACE)[ \t]*")
"""A line that begins, divides or ends an edit block."""
MOST_COMPARED: Final = 1_000
"""Lines of an edit between its first and last change; those of a longer one are not compared."""
MOST_PAIRS: Final = 10_000
"""Equal lines before and after; with more, such as those of a table of zeros, comparing would take long."""


def unwrapped(result: str) -> str:
    """A result without escape codes; of an envelope of JSON, the text inside, then what else it states, with an exit
    code other than 0 last."""
    result = without_escapes(result)
    if result[:1] not in ("{", "["):
        return result
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return result
    found = _inside(value)
    # Half of an escaped pair, where a text was cut, cannot be stored.
    return result if found is None else found.encode("utf-8", "replace").decode()


def _inside(value: Any) -> str | None:
    """The text of an envelope; None for data."""
    if isinstance(value, list):
        inside = [_inside(each) if isinstance(each, dict) else None for each in value]
        return "\n".join(filter(None, inside)) if value and None not in inside else None
    texts = {key: value[key] for key in _TEXTS if isinstance(value.get(key), str)}
    metadata = value.get("metadata")
    holders = [value, metadata] if isinstance(metadata, dict) else [value]
    around = {key: each for holder in holders for key, each in holder.items() if key not in texts and key != "metadata"}
    if not texts or not all(key in _AROUND | _STATED or each in (None, "") for key, each in around.items()):
        return None
    if (isinstance(metadata, str | list) and metadata) or ("code" in around and not _PRINTED & texts.keys()):
        return None
    stated = [(key, each) for key, each in around.items() if key in _STATED and each not in (None, "")]
    if not all(isinstance(each, str | int | float) for _, each in stated):
        return None
    codes = (around.get(key) for key in _CODES)
    code = next((each for each in codes if isinstance(each, int) and not isinstance(each, bool)), 0)
    # Wrapped once more, as some programs do.
    lines = [unwrapped(text).rstrip() for text in texts.values() if text.strip()]
    if unusual := [f"{key}: {json.dumps(each)}" for key, each in stated if (key, each) not in _USUAL]:
        lines.append(", ".join(unusual))
    return "\n".join((*lines, f"[exit code: {code}]") if code else lines)


class EditBlock(NamedTuple):
    """A text to search and what replaces it, as a reply writes them."""

    begin: int
    """The number of its first line, with the marker; that of the line behind the last is `end`."""
    end: int
    old: str
    new: str


def edit_blocks(lines: Sequence[str]) -> Iterator[EditBlock]:
    """The whole edit blocks in the lines of a reply."""
    block: list[int] = []
    for number, line in enumerate(lines):
        found = _MARKER.fullmatch(line)
        mark = found[1][0] if found else ""
        if mark == "<":
            block = [number]
        elif mark == "=" and len(block) == 1:
            block.append(number)
        elif mark == ">" and len(block) == 2:
            begin, middle = block
            old, new = "\n".join(lines[begin + 1 : middle]), "\n".join(lines[middle + 1 : number])
            yield EditBlock(begin, number + 1, old, new)
            block = []


def with_edits_marked(text: str) -> str:
    """A reply with its edit blocks as lines removed and added."""
    if "SEARCH" not in text:
        return text
    lines = text.split("\n")
    shown: list[str] = []
    last = 0
    for block in edit_blocks(lines):
        shown += (*lines[last : block.begin], *edited_lines(block.old, block.new))
        last = block.end
    return "\n".join((*shown, *lines[last:]))


def edit_in(values: Mapping[str, Any]) -> list[Any]:
    """The arguments of a call that replaces text, with the edit as lines removed and added; empty for another call."""
    old, new = _one_of(values, _OLD), _one_of(values, _NEW)
    if old is not None and new is not None:
        rest = [value for key, value in values.items() if key not in (old, new)]
        return [*rest, *edited_lines(values[old], values[new])]
    edits = values.get("edits")
    if isinstance(edits, list) and edits and all(isinstance(each, dict) for each in edits):
        parts = [edit_in(each) for each in edits]
        if all(parts):
            rest = [value for key, value in values.items() if key != "edits"]
            return [*rest, *(line for part in parts for line in part)]
    return []


def _one_of(values: Mapping[str, Any], names: frozenset[str]) -> str | None:
    """The first argument with one of these names that is a text."""
    return next((key for key, value in values.items() if _plain(key) in names and isinstance(value, str)), None)


def _plain(key: str) -> str:
    return key.replace("_", "").lower()


def edited_lines(old: str, new: str) -> list[str]:
    """The lines of an edit, with `-` before those that go and `+` before those that come."""
    before, after = _dedented(_lines(old), _lines(new))
    return list(_changes(before, after))


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    steps = line_steps(before, after)
    for kind, from_, to, new_from, new_to in steps or [("replace", 0, len(before), 0, len(after))]:
        if kind == "equal":
            yield from (f" {line}" for line in before[from_:to])
        else:
            yield from (f"-{line}" for line in before[from_:to])
            yield from (f"+{line}" for line in after[new_from:new_to])


def line_steps(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """How lines become others, as `SequenceMatcher.get_opcodes` says it; empty if comparing them would take long."""
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    times = Counter(old)
    if len(old) + len(new) > MOST_COMPARED or sum(times[line] for line in new) > MOST_PAIRS:
        return []
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [
        ("equal", 0, start, 0, start),
        *((kind, start + at, start + to, start + new_at, start + new_to) for kind, at, to, new_at, new_to in steps),
        ("equal", len(before) - end, len(before), len(after) - end, len(after)),
    ]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (line, same) in pairs if line != same), min(len(one), len(other)))


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _dedented(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    blanks = min((len(line) - len(line.lstrip()) for line in (*before, *after)), default=0)
    return [line[blanks:] for line in before], [line[blanks:] for line in after]
