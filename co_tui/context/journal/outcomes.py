"""How a call ended, read from its result."""

import json
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from co_tui.context.journal.command_runs import ANSWERS_WITH_ONE, READERS, program_of
from co_tui.context.journal.shell_commands import Simple
from co_tui.events.tool_wording import FAILED, INTERRUPTED
from co_tui.inert import one_line

PRINTED_AN_ERROR: Final = "printed an error"
ERROR_CHARS: Final = 300
_ENDS_CHARS: Final = 1_500
_MOST_CHARS: Final = 60_000
"""Of a longer output, the beginning and the end are read."""
_CODE_FIRST: Final = re.compile(
    r"\s*(?:<args>.*?</args>\s*)?<returncode>\s*(-?\d+)\s*</returncode>"
    r"|\s*(?:<error>\s*)?(?:Process exited with code|Exit [Cc]ode:?|exit code:?)\s+(-?\d+)\b"
    r"|(?:Chunk ID|Wall time|Command|Directory):[\s\S]{0,400}?\n(?:Process exited with code|Exit Code:)\s+(-?\d+)\b",
    re.DOTALL,
)
_CODE_LAST: Final = re.compile(
    r"^(?:\[exit code: (-?\d+)\]|(?:Command|Process) exited with (?:exit )?code (-?\d+)\.?|\[?(?:The command|Command) "
    r"(?:completed|finished|exited|failed) with (?:exit )?code:? (-?\d+)\.?\]?|Exit Code: (-?\d+)|exit code:? (-?\d+))\s*$",
    re.MULTILINE,
)
_TIMED_OUT: Final = re.compile(
    r"^\W*(?:The )?command (?:has )?timed out\b|^\[?Command timed out after", re.MULTILINE | re.IGNORECASE
)
_ABORTED: Final = re.compile(r"^\W*(?:Command|Operation|Request) (?:was )?(?:aborted|interrupted|cancell?ed)\b|^\[Request interrupted by user",
                             re.MULTILINE | re.IGNORECASE)  # fmt: skip
ENVELOPE: Final = re.compile(
    r"^\s*(?:</?(?:returncode|output|stdout|stderr|args|error|warning|output_head|output_tail|tool_use_error|elided_chars)>"
    r"|<returncode>\s*-?\d+\s*</returncode>|\[(?:stdout|stderr)\]|\[took [\d.]+ s\]|\[exit code: -?\d+\].*|\(no output\)"
    r"|(?:Command|Process) exited with code -?\d+|\[?(?:The command|Command) (?:completed|finished) with exit code.*"
    r"|\[(?:Current working directory|Python interpreter|Command finished).*|\((?:Open file|Current directory): .*\)|bash-\$"
    r"|EXECUTION RESULT of .*|Waiting for the debugger to disconnect\.\.\.|Debugger attached\.|[\s^~=_*.\-+|]*)$"
)
"""Lines that say nothing of their own."""
_ERROR_LINE: Final = re.compile(
    r"^\s*(?:[\w.]*(?:Error|Exception|Interrupt|Exit|Timeout|Failure)(?:\[\w+\])?(?::|$|\s*\()|E   ?\s*\S"
    r"|(?:error|fatal|panic|failed|failure|errors?|abort(?:ed)?|ERR!?)(?:\[\w+\])?[:!]|Error\b|ERROR\b|FAILED\b|FAIL\b|Failed\b|✗|✖|✘|❌"
    r"|npm (?:error|ERR!)|[^\s:]+\(\d+,\d+\): error|[^\s:]+:\d+(?::\d+)?:? .*\berror\b|error TS\d+|thread '.*' panicked"
    r"|(?:(?:/bin/)?(?:ba|z|da)?sh|[\w./-]+): .*(?:No such file|not found|cannot|can't|denied|unexpected|invalid|unknown|unrecognized|error"
    r"|is a directory|not a|unterminated|expected|missing|refused|failed|unable)"
    r"|[=\s]*\d+ (?:failed|errors?)\b|ℹ fail [1-9]|#? ?fail [1-9]|Segmentation fault|Killed\b|not ok \d)",
    re.IGNORECASE,
)
_ERROR_LINE_CASED: Final = re.compile(r"^\s*(?:[\w.]+(?:Error|Exception|Warning)\b: |AssertionError\b|Traceback )")
_PRINTED: Final = re.compile(
    r"^(?:Traceback \(most recent call last\):|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception): |(?:Error|ERROR|error|fatal|panic)(?:\[\w+\])?: |Error occurred"
    r"|npm (?:error|ERR!)|.*\berror TS\d+|FAILED\b|FAIL\b|E   +\S|(?:/bin/)?(?:ba|z|da)?sh: (?:line \d+: )?.*(?:not found|No such file|rror)"
    r"|[=\s]*.*\b[1-9]\d* failed\b|\[?ℹ?#? ?fail [1-9]|✖ .*fail|thread '.*' panicked|error\[E\d+\])",
    re.MULTILINE,
)
_SAYS_FAILED: Final = re.compile(
    r"\W*(?:<tool_use_error>|<error>|error\b|errors? |ran into|invalid\b|failed\b|failure\b|could not|cannot|can't|unable to|no such|not found"
    r"|exception|traceback|unknown\b|missing\b|permission denied|access denied|your proposed edit has introduced"
    r"|your edit was not applied|text not found|no replacement was performed|old_?(?:text|str|string)\b.{0,40}not|file not found|tool .{0,40}not found"
    r"|enoent|input validation|the path .* does not exist|the file .* does not exist|\{\"error\")",
    re.IGNORECASE,
)
_OWN_COMPLAINT: Final = re.compile(
    r"^(?:[\w./-]+: .*(?:No such file|not found|denied|is a directory|cannot|can't|invalid|unrecognized|unknown|error))",
    re.MULTILINE,
)


class Ending(NamedTuple):
    """How a call ended: as `Call.outcome` and `Call.error` have it."""

    outcome: str = ""
    error: str = ""


def end_of_command(line: Sequence[Simple], result: str) -> Ending:
    """How a command ended, by its exit code if the result has one, else by what it printed."""
    result = _bounded(result)
    if _ABORTED.search(result[-_ENDS_CHARS:]):
        return Ending(INTERRUPTED, "")
    if _TIMED_OUT.search(result[-_ENDS_CHARS:]) or _TIMED_OUT.search(result[:200]):
        return Ending(f"{FAILED} (timed out)", last_error(result))
    code = exit_code(result)
    if code and not _is_answer(line, code, result):
        return Ending(f"{FAILED} (exit {code})", last_error(result))
    if code is None and _says_failed(result):
        return Ending(FAILED, last_error(result))
    if _printed_error(line, result):
        return Ending(PRINTED_AN_ERROR, last_error(result))
    return Ending()


def end_of_tool(result: str, *, reads: bool) -> Ending:
    """How the call of another tool ended, by the beginning of its result; `reads` if that may be any text."""
    start = result[:400].lstrip()
    if reads and (len(result) > 600 or result.count("\n") > 6):
        return Ending()
    if not _SAYS_FAILED.match(start) and not start.startswith("<tool_use_error>"):
        return Ending()
    first = next((line for line in start.splitlines() if line.strip() and not ENVELOPE.match(line)), start)
    later = [line for line in result[:4000].splitlines()[1:] if _ERROR_LINE_CASED.match(line.lstrip("- E0123456789"))]
    return Ending(FAILED, as_error_line(later[0] if later and len(first) > 60 else first))


def exit_code(result: str) -> int | None:
    """The exit code that a result states, in one of the forms of the agents we know."""
    if found := _CODE_FIRST.match(result[:4_000]):
        return _number(found)
    if result.startswith("{") and (code := _code_in_json(result)) is not None:
        return code
    last = None
    for last in _CODE_LAST.finditer(result[-_ENDS_CHARS:]):
        pass
    return _number(last) if last else None


def _number(found: re.Match[str]) -> int:
    return int(next(group for group in found.groups() if group is not None)[:9])


def _code_in_json(result: str) -> int | None:
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return None
    metadata = value.get("metadata") if isinstance(value, dict) else None
    for holder in (metadata, value):
        for key in ("exit_code", "exitCode", "returncode"):
            if isinstance(holder, dict) and isinstance(code := holder.get(key), int):
                return code
    return None


def _is_answer(line: Sequence[Simple], code: int, result: str) -> bool:
    """Whether an exit code of 1 is no failure: no match for `grep`, a difference for `diff`."""
    if code != 1 or not line or program_of(line[-1]) not in ANSWERS_WITH_ONE:
        return False
    return not _OWN_COMPLAINT.search(result) and "Traceback (most recent" not in result


def _says_failed(result: str) -> bool:
    """For results without an exit code: a short refusal of the tool itself."""
    return len(result) < 600 and bool(
        re.match(r"(?:<tool_use_error>|Error: |Your proposed edit|Command (?:failed|not found)|Invalid )", result)
    )


def _printed_error(line: Sequence[Simple], result: str) -> bool:
    runs = [program_of(simple) for simple in line if not simple.is_filter]
    if runs and all(run in READERS or run == "write" for run in runs):
        # Texts they show may have errors in them; only their own complaint counts.
        own = tuple(f"{run}: " for run in runs)
        return any(text.startswith(own) and _OWN_COMPLAINT.match(text) for text in result.splitlines())
    return _PRINTED.search(result) is not None


def last_error(result: str) -> str:
    """The last line that reports an error; without one, the last line that says something."""
    last = ""
    for line in reversed(_bounded(result).splitlines()):
        if ENVELOPE.match(line):
            continue
        if _ERROR_LINE.match(line) or _ERROR_LINE_CASED.match(line):
            return as_error_line(line)
        last = last or line
    return as_error_line(last)


def as_error_line(line: str) -> str:
    return one_line(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line), ERROR_CHARS)


def _bounded(result: str) -> str:
    if len(result) <= _MOST_CHARS:
        return result
    half = _MOST_CHARS // 2
    return f"{result[:half]}\n{result[-half:]}"
