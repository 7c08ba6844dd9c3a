"""What came of a call, in a few words under the head of its entry."""

from typing import Final, NamedTuple

from co_tui.context.journal.calls import Begun
from co_tui.context.journal.outcomes import Ending
from co_tui.context.journal.outline import outline_of
from co_tui.context.journal.shown_lines import clean, is_empty
from co_tui.inert import one_line

ANSWER_CHARS: Final = 60
GIST_CHARS: Final = 50
_READ_CHARS: Final = 100_000


class Answer(NamedTuple):
    """What came of a call."""

    short: str = ""
    """A result of a few words."""
    gist: str = ""
    """For an entry without lines: why it failed, what a file defines, the end of what a command printed, the beginning
    of what a service answered, or how much was read."""


def answer_of(begun: Begun, ending: Ending, result: str) -> Answer:
    """What to say of a call that ended."""
    if ending.outcome:
        return Answer(gist=one_line(ending.error, GIST_CHARS))
    lines = [line.strip() for line in map(clean, result[:_READ_CHARS].splitlines()) if not is_empty(line)]
    if begun.outline:
        return Answer(gist=begun.outline)
    if not lines:
        return Answer(short="nothing" if begun.reads else "")
    if len(lines) == 1 and len(lines[0]) <= ANSWER_CHARS:
        text = one_line(lines[0], ANSWER_CHARS)
        return Answer(gist=text) if begun.changes else Answer(short=text)  # what was changed says more
    if begun.read and (outline := outline_of(result[:_READ_CHARS].splitlines())):
        return Answer(gist=outline)
    if begun.reads and len(lines) > 1:
        return Answer(gist=f"{len(lines)} lines")
    if begun.line is not None:
        return Answer(gist=one_line(lines[-1], GIST_CHARS))
    return Answer(gist=one_line(lines[0], GIST_CHARS))
