"""Find the lines of an output that report an error."""

import re
from typing import Final, NamedTuple

from co_tui.context.journal.shown_lines import is_empty
from co_tui.inert import one_line
from co_tui.late_pattern import late_pattern
from co_tui.terminal_text import without_escapes

ERROR_CHARS: Final = 300
MOST_CHARS: Final = 60_000
"""Of a longer output, the beginning and the end are read."""
_MOST_INDENT: Final = 80
_COMPLAINTS: Final = (
    r"No such file|No module|not found|cannot|can't|denied|unexpected|invalid|unknown|unrecogni[sz]ed|error"
    r"|is a directory|not a|unterminated|expected|missing|refused|failed|unable|does not"
)
_LEADS_ON: Final = late_pattern(
    r"\s*(?:(?:During handling of the above|The above exception was).*|Traceback \(most recent call last\):.*)$"
)
_ERROR: Final = late_pattern(
    r"\s*(?:- )?(?:"
    + "|".join(
        (
            r"(?:[A-Z]\d{3} )?[\w.]*(?:Error|Exception|Interrupt|Exit|Timeout|Failure)(?:\[\w+\])?(?::|$|\s*\()",
            r"E {2,}\S",  # pytest
            r"(?:error|fatal|panic|failed|failure|errors|aborted|ERR)(?:\[\w+\])?[:!]",
            r"(?:Error|ERROR|FAILED|FAIL|Failed)\b|[✗✖✘❌]",
            r"npm (?:error|ERR!)|error TS\d+|thread '.*' panicked|Segmentation fault|Killed\b|not ok \d",
            r"[^\s:]+\(\d+,\d+\): error|[^\s:]+:\d+(?::\d+)?:? .*\berror\b",
            rf"(?-i:[a-z./][\w./+-]*): .*(?:{_COMPLAINTS})",  # cat: a.txt: No such file or directory
            r"[=\s]*\d+ (?:failed|errors?)\b|(?:ℹ|#) fail [1-9]",
        )
    )
    + ")",
    re.IGNORECASE,
)
_GENERAL: Final = late_pattern(
    r"\s*(?:npm (?:error|ERR!)|[=\s]*\d+ (?:failed|errors?)\b|FAILED(?: \(|$)|make: \*\*\*|(?:ℹ|#) fail \d|ELIFECYCLE"
    r"|error Command failed|[✗✖✘❌]?\s*$|=+ .* =+$)"
)
"""Lines that say that something failed, not what."""
_TRACEBACK: Final = "Traceback (most recent call last):"


class ErrorLines(NamedTuple):
    """The last line that says what went wrong, and the last that only says that something did, if it comes later."""

    cause: str = ""
    general: str = ""


def bounded(output: str) -> str:
    """An output, with its middle left out if it is very long."""
    if len(output) <= MOST_CHARS:
        return output
    half = MOST_CHARS // 2
    return f"{output[:half]}\n{output[-half:]}"


def error_lines(output: str) -> ErrorLines:
    """The last error lines of an output; without one, the last line that says something."""
    lines = [_cut(line) for line in bounded(output).splitlines()]
    general = last = ""
    raised = _raised(lines)
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if _says_nothing(line):
            continue
        last = last or line
        if at != raised and not _ERROR.match(line):
            continue
        if not _GENERAL.match(line):
            return ErrorLines(as_error_line(line), as_error_line(general))
        general = general or line
    return ErrorLines(as_error_line(general or last))


def _says_nothing(line: str) -> bool:
    return is_empty(line) or _LEADS_ON.match(line) is not None


def _cut(line: str) -> str:
    """What is read of a line, after as many blanks as it begins with; a long run of them takes long to match."""
    text = line.lstrip()
    return f"{line[: len(line) - len(text)][:_MOST_INDENT]}{text[: ERROR_CHARS * 4].rstrip()}"


def _raised(lines: list[str]) -> int:
    """The index of the exception after the last traceback, which may have any name; -1 without one."""
    starts = [at for at, line in enumerate(lines) if line.strip() == _TRACEBACK]
    if not starts:
        return -1
    indent = len(lines[starts[-1]]) - len(lines[starts[-1]].lstrip())
    for at in range(starts[-1] + 1, len(lines)):
        line = lines[at]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            return at
    return -1


def first_line(output: str) -> str:
    """The first line that says something."""
    return next((as_error_line(line) for line in map(_cut, output[:4_000].splitlines()) if not _says_nothing(line)), "")


def as_error_line(line: str) -> str:
    """A line of an output, harmless and not too long."""
    return one_line(without_escapes(line[: ERROR_CHARS * 4]), ERROR_CHARS)
