"""The text of a call or its result: without the envelope of a program, an edit as lines removed and added."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from co_tui.late_pattern import late_pattern

_TEXTS: Final = ("stdout", "output", "stderr", "result", "content", "text", "message", "error", "llmContent")
"""Where programs that wrap a result in JSON put it, in the order it is shown in."""
_CODES: Final = ("exit_code", "exitCode", "returncode")
_PRINTED: Final = frozenset(("stdout", "output", "stderr", "llmContent", "metadata", "is_error", "isError", *_CODES))
"""What only an envelope has."""
_AROUND: Final = frozenset((
    *_CODES, "metadata", "duration", "duration_seconds", "duration_ms", "truncated", "success", "is_error", "isError",
    "type", "call_id", "tool_use_id", "interrupted", "isImage", "signal", "wall_time", "cwd", "annotations",
    "sandboxed", "timed_out",
))  # fmt: skip
"""What else such an envelope has: it says how a call ended, which its outcome tells."""
_DATA: Final = frozenset(("status", "id", "name", "title", "code"))
"""Part of an envelope only if something else shows that it is one; a service's data has these, too."""
_OLD: Final = frozenset(("oldstring", "oldstr", "oldtext", "old", "search", "oldcode", "oldcontent", "targetcontent"))
_NEW: Final = frozenset(
    ("newstring", "newstr", "newtext", "new", "replace", "newcode", "newcontent", "replacementcontent", "replacement")
)
_BLOCK: Final = late_pattern(
    r"^<{5,9} ?SEARCH[ \t]*\n(.*?)^={5,9}[ \t]*\n(.*?)^>{5,9} ?REPLACE[ \t]*$", re.MULTILINE | re.DOTALL
)
_ANSI: Final = late_pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
MOST_COMPARED: Final = 1_000
"""Lines of an edit; those of a longer one are not compared."""
MOST_PAIRS: Final = 10_000
"""Of equal lines before and after, for the same reason: comparing lines that repeat takes their cube."""


def without_colours(text: str) -> str:
    """A text without the escape codes of a terminal."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def unwrapped(result: str) -> str:
    """A result without escape codes; of an envelope of JSON, the text inside, with an exit code other than 0 last."""
    result = without_colours(result)
    if result[:1] not in ("{", "["):
        return result
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return result
    found = _inside(value)
    return result if found is None else found


def _inside(value: Any) -> str | None:
    """The text of an envelope; None for data."""
    if isinstance(value, list):
        inside = [_inside(each) if isinstance(each, dict) else None for each in value]
        return "\n".join(filter(None, inside)) if value and None not in inside else None
    texts = [(key, value[key]) for key in _TEXTS if isinstance(value.get(key), str)]
    around = _AROUND | _DATA if not _PRINTED.isdisjoint(value) or value.get("type") == "text" else _AROUND
    if not texts or not all(key in around or value[key] in (None, "") for key in value.keys() - dict(texts).keys()):
        return None
    metadata = value.get("metadata")
    names = (*_CODES, "code") if isinstance(value.get("stdout", value.get("output")), str) else _CODES
    codes = [holder.get(key) for holder in (value, metadata) if isinstance(holder, dict) for key in names]
    code = next((each for each in codes if isinstance(each, int) and not isinstance(each, bool)), 0)
    # Wrapped once more, as some programs do.
    lines = [unwrapped(text).rstrip() for _, text in texts if text.strip()]
    return "\n".join((*lines, f"[exit code: {code}]") if code else lines)


def with_edits_marked(text: str) -> str:
    """A reply with its edit blocks as lines removed and added."""
    if "SEARCH" not in text:
        return text
    return _BLOCK.sub(lambda found: "\n".join(edited_lines(found[1], found[2])), text)


def edit_in(values: Mapping[str, Any]) -> list[str]:
    """The arguments of a call that replaces text, with the edit as lines removed and added; empty for another call."""
    old, new = _one_of(values, _OLD), _one_of(values, _NEW)
    if old is not None and new is not None:
        rest = [value for key, value in values.items() if _plain(key) not in _OLD | _NEW and isinstance(value, str)]
        return [*rest, *edited_lines(old, new)]
    edits = values.get("edits")
    if isinstance(edits, list) and edits and all(isinstance(each, dict) for each in edits):
        parts = [edit_in(each) for each in edits]
        if all(parts):
            paths = [value for value in values.values() if isinstance(value, str)]
            return [*paths, *(line for part in parts for line in part)]
    return []


def _one_of(values: Mapping[str, Any], names: frozenset[str]) -> str | None:
    return next((value for key, value in values.items() if _plain(key) in names and isinstance(value, str)), None)


def _plain(key: str) -> str:
    return key.replace("_", "").lower()


def edited_lines(old: str, new: str) -> list[str]:
    """The lines of an edit, with `-` before those that go and `+` before those that come."""
    return list(_changes(*_dedented(_lines(old), _lines(new))))


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    times = Counter(before)
    if len(before) + len(after) > MOST_COMPARED or sum(times[line] for line in after) > MOST_PAIRS:
        steps = [("replace", 0, len(before), 0, len(after))]
    else:
        steps = list(SequenceMatcher(None, before, after, autojunk=False).get_opcodes())
    for kind, from_, to, new_from, new_to in steps:
        if kind == "equal":
            yield from (f" {line}" for line in before[from_:to])
        else:
            yield from (f"-{line}" for line in before[from_:to])
            yield from (f"+{line}" for line in after[new_from:new_to])


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _dedented(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    blanks = min((len(line) - len(line.lstrip()) for line in (*before, *after)), default=0)
    return [line[blanks:] for line in before], [line[blanks:] for line in after]
