"""What came of a call, in a few words under the head of its entry."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from co_tui.context.journal.calls import Begun
from co_tui.context.journal.net_changes import GAP
from co_tui.context.journal.outcomes import REPLACED, Ending
from co_tui.context.journal.outline import outline_of
from co_tui.context.journal.shown_lines import clean, is_empty
from co_tui.inert import one_line

ANSWER_CHARS: Final = 60
GIST_CHARS: Final = 100
CHANGED_LINES, CHANGED_CHARS = 5, 100
"""Of the lines that an edit removes, and of those that it adds; of each of them."""
FEW_CHANGED_LINES: Final = 2
"""So many are shown on one line."""
_MADE: Final = re.compile(r"success|edited|updated|replaced|applied|changed|modified|\bdone\b|\bok\b", re.IGNORECASE)
_NOT_MADE: Final = re.compile(
    r"\b(?:0|no|not|none|nothing|problems?|errors?|warnings?|wait\w*|propos\w*|pending|fail\w*|\w+n't"
    r"|unsuccess\w*|reject\w*|denied)\b",
    re.IGNORECASE,
)
FOUND_CHARS: Final = 80
"""Of each line that a search found."""
MOST_FOUND: Final = 3
"""Of more lines than this, a search shows the first."""
_RULES: Final = tuple(3 * sign for sign in "=*#~_-")
RECORD_CHARS: Final = 160
WHOLE_RECORD_CHARS: Final = 1_000
"""A record that is no longer than this is shown whole, instead of its lines."""
NO_EDITS: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})
MOST_RECORDS, VALUES_OF_A_RECORD, DEEPEST = 12, 14, 5
_READ_CHARS: Final = 100_000


class Answer(NamedTuple):
    """What came of a call."""

    short: str = ""
    """A result of a few words, all values of a small record, or what a script that was just written printed last: it
    says more than its text."""
    gist: str = ""
    """For an entry without lines: why it failed, what a file defines, the end of what a command printed, what a
    service answered, or how much was read."""


def answer_of(begun: Begun, ending: Ending, result: str, edits: Mapping[str, Sequence[str]] = NO_EDITS) -> Answer:
    """What to say of a call that ended; `edits` are the lines that it removed and added, by file, as recorded."""
    if ending.outcome and ending.outcome != REPLACED:
        return Answer(gist=one_line(ending.error, GIST_CHARS))
    lines = _telling_lines(result)
    if _confirms(lines) and (changed := _changed_lines(begun, edits)):
        return Answer(gist=changed)
    if begun.outline:
        has_run = begun.line is not None and lines
        return Answer(short=_last_of(lines)) if has_run else Answer(gist=begun.outline)
    if not lines:
        return Answer(short="nothing" if begun.reads else "")
    if len(lines) == 1 and len(lines[0]) <= ANSWER_CHARS:
        text = one_line(lines[0], ANSWER_CHARS)
        return Answer(gist=text) if begun.writes else Answer(short=text)  # what was changed says more
    if begun.read and (outline := outline_of(result[:_READ_CHARS].splitlines())):
        return Answer(gist=outline)
    if begun.line is None and not begun.read and (record := _record(result, begun.head)):
        return record
    if begun.reads and len(lines) > 1 and not _counts(begun):
        return Answer(gist=f"{len(lines)} lines" + ("" if begun.read else f": {_first_found(lines)}"))
    if begun.line is None:
        return Answer(gist=one_line(lines[0], GIST_CHARS))
    return Answer(gist=_last_of(lines))


def _counts(begun: Begun) -> bool:
    """Whether a command ends with a count, which is not that of the lines it printed."""
    line = begun.line or ()
    return bool(line) and line[-1].program == "wc"


def only_confirms(result: str) -> bool:
    """Whether an editor said no more than that the edit was made."""
    return _confirms(_telling_lines(result))


def _telling_lines(result: str) -> list[str]:
    return [line.strip() for line in map(clean, result[:_READ_CHARS].splitlines()) if not is_empty(line)]


def _confirms(lines: Sequence[str]) -> bool:
    return not lines or (len(lines) == 1 and bool(_MADE.search(lines[0])) and not _NOT_MADE.search(lines[0]))


def _changed_lines(begun: Begun, edits: Mapping[str, Sequence[str]]) -> str:
    """The first lines that an edit of one file removes and adds; of a command, its head has them."""
    if begun.line is not None or len(edits) != 1:
        return ""
    (lines,) = edits.values()
    shown = [line for sign in "-+" for line in _first_of(lines, sign)]
    return ("\n" if len(shown) > FEW_CHANGED_LINES else " ").join(shown)


def _first_of(lines: Sequence[str], sign: str) -> Iterator[str]:
    """The first lines with a sign."""
    found = (clean(line[: 2 * CHANGED_CHARS])[1:].strip() for line in lines if line.startswith(sign))
    telling = [*islice((line for line in found if not is_empty(line)), CHANGED_LINES + 1)]
    yield from (one_line(f"{sign}{line}", CHANGED_CHARS) for line in telling[:CHANGED_LINES])
    if len(telling) > CHANGED_LINES:
        yield f"{sign}{GAP}"


def _first_found(lines: Sequence[str]) -> str:
    """The first lines that a search found; of few, all."""
    shown = [one_line(line, FOUND_CHARS) for line in lines[:MOST_FOUND]] if len(lines) <= MOST_FOUND else []
    return " · ".join(shown) or f"{one_line(lines[0], FOUND_CHARS)}, …"


def _last_of(lines: Sequence[str]) -> str:
    """The end of what was printed."""
    return one_line(next((line for line in reversed(lines) if not _sets_off(line)), lines[-1]), GIST_CHARS)


def _sets_off(line: str) -> bool:
    """Whether a line only sets off a part of what is printed. Not by a pattern: a long rule would take minutes."""
    return line.startswith(_RULES) and line.endswith(line[:3])


def _record(result: str, head: str) -> Answer | None:
    """The data that a service answered with, in a line: its values by their names, but for those of the call."""
    if result[:1] not in ("{", "[") or len(result) > _READ_CHARS:
        return None
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        first = "; ".join(filter(None, (_brief(each, head) for each in value[:MOST_RECORDS])))
        text = f"{len(value)} × {first}" if first and len(value) > 1 else first
    else:
        fields = ((key, _brief(each, head)) for key, each in value.items())
        text = ", ".join(f"{key} {brief}" for key, brief in fields if brief)
    if not text:
        return None
    is_whole = len(text) <= WHOLE_RECORD_CHARS and _is_shown_whole(value)
    return Answer(short=one_line(text, WHOLE_RECORD_CHARS)) if is_whole else Answer(gist=one_line(text, RECORD_CHARS))


def _is_shown_whole(value: Any, depth: int = 0) -> bool:
    """Whether nothing is left out of data for its size."""
    if not isinstance(value, Mapping | list):
        return True
    most = VALUES_OF_A_RECORD if isinstance(value, Mapping) else MOST_RECORDS
    inner = value.values() if isinstance(value, Mapping) else value
    return (
        depth < DEEPEST
        and (len(value) <= most or (depth == 0 and isinstance(value, Mapping)))
        and all(_is_shown_whole(each, depth + 1) for each in inner)
    )


def _brief(value: Any, head: str, depth: int = 0) -> str:
    """A value that the call does not name; of a list those of each, of a record the first ones; none too deep."""
    if isinstance(value, Mapping | list) and depth == DEEPEST:
        return ""
    if _are_numbers(value):
        return ", ".join(f"{key} {each}" for key, each in islice(value.items(), VALUES_OF_A_RECORD))
    if isinstance(value, Mapping):
        fields = ((key, each, _brief(each, head, depth + 1)) for key, each in value.items())
        named = (f"{key} ({brief})" if _are_numbers(each) else brief for key, each, brief in fields if brief)
        return " ".join(islice(named, VALUES_OF_A_RECORD))
    if isinstance(value, list):
        return "/".join(filter(None, (_brief(each, head, depth + 1) for each in value[:MOST_RECORDS])))
    text = "" if value is None else re.sub(r"^(\d\d:\d\d):00\b", r"\1", str(value))
    return "" if not text or _is_named(text, head) else text


def _are_numbers(value: Any) -> bool:
    """Whether it is a table of numbers, which say nothing without their names."""
    return isinstance(value, Mapping) and bool(value) and all(isinstance(each, int | float) for each in value.values())


def _is_named(text: str, head: str) -> bool:
    """Whether the text is in the head, not as a piece of a longer word or number."""
    around = pairwise(head.split(text))
    return any(not before[-1:].isalnum() and not after[:1].isalnum() for before, after in around)
