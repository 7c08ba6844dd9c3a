"""How a call ended and which programs of a command did their work, read from its result."""

import json
import re
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from co_tui.context.journal.command_runs import ANSWERS_WITH_ONE, READERS, SETUP, WRITE, program_of
from co_tui.context.journal.errors import bounded, complaints, error_lines, first_line, prints_error
from co_tui.context.journal.shell_edits import misses_in
from co_tui.context.journal.shell_files import changes_of, inline_code
from co_tui.events.tool_wording import FAILED, INTERRUPTED
from co_tui.late_pattern import late_pattern
from co_tui.shell.programs import PYTHON, Simple, is_file_name

PRINTED_AN_ERROR: Final = "printed an error"
REPORTED_AN_ERROR: Final = "exit 0, reported an error"
"""The program went on and exited with 0: the call did not fail, but shows nothing that works, either."""
DONE: Final = ("", PRINTED_AN_ERROR, REPORTED_AN_ERROR)
"""The outcomes of calls that ran to their end."""
_BAD_SYNTAX: Final = late_pattern(r"^(?:/bin/)?(?:ba|z|da)?sh: .*(?:syntax error|unexpected)", re.MULTILINE)
_COMPLAINT: Final = late_pattern(
    r"^(?:(?:/bin/)?(?:ba|z|da)?sh: (?:line \d+: )?(?P<file>[^:\n]{1,300}): "
    r"|(?P<program>[\w.+-]{1,60}): (?P<text>[^\n]{0,300}))",
    re.MULTILINE,
)
"""Of the shell about a file that it was to write, or of a program."""
_MOST_COMPLAINTS: Final = 50
_RAISED: Final = late_pattern(r'File "<(?:stdin|string)>", line \d')
_NOT_PATCHED: Final = late_pattern(
    r"^Hunk #\d+ FAILED|saving rejects|^error: |malformed patch|does not apply", re.MULTILINE
)
_ENDS_CHARS: Final = 1_500
_INTERPRETERS: Final = frozenset(
    ("python", "python -c", "node", "node -e", "ruby", "perl", "php", "bun", "deno", "tsx")
)
_STILL_FAILS: Final = late_pattern(
    r"^(?:Traceback \(most recent call last\):|FAIL|E {3,}\S|.*\b[1-9]\d* failed\b)", re.M
)
_SHORT_CHARS: Final = 600
_SHORT_LINES: Final = 6
_CODE_FIRST: Final = late_pattern(
    r"\s*(?:<args>.*?</args>\s*)?<returncode>\s*(-?\d{1,9})\s*</returncode>"
    r"|\s*(?:<error>\s*)?(?:Process exited with code|Exit [Cc]ode:?)\s+(-?\d{1,9})\b"
    r"|(?:Chunk ID|Wall time|Command|Directory):.{0,400}?\n(?:Process exited with code|Exit Code:)\s+(-?\d{1,9})\b",
    re.DOTALL,
)
_CODE_LAST: Final = late_pattern(
    r"^(?:\[exit code: (-?\d{1,9})\]"
    r"|(?:Command|Process) exited with (?:exit )?code (-?\d{1,9})\.?"
    r"|\[?(?:The command|Command) (?:completed|finished|exited|failed) with (?:exit )?code:? (-?\d{1,9})\.?\]?"
    r"|[Ee]xit [Cc]ode:? (-?\d{1,9}))\s*$",
    re.MULTILINE,
)
_TIMED_OUT: Final = late_pattern(r"^[^\w\n]*(?:the )?command (?:has )?timed out\b", re.MULTILINE | re.IGNORECASE)
_STOPPED: Final = late_pattern(
    r"^[^\w\n]*(?:(?:Command|Operation|Request) (?:was )?(?:aborted|interrupted|cancell?ed)"
    r"|Request interrupted by user)\b",
    re.MULTILINE | re.IGNORECASE,
)
_REFUSED: Final = late_pattern(r"\s*(?:<tool_use_error>|Your (?:proposed )?edit (?:has introduced|was not applied))")
_SAYS_FAILED: Final = late_pattern(
    r"\W*(?:"
    + "|".join(
        (
            r"tool_use_error|errors?\b|ran into|invalid\b|failed\b|failure\b|could not|cannot|can't|unable to",
            r"no such|not found|exception|traceback|unknown\b|missing\b|permission denied|access denied|enoent",
            r"your (?:proposed )?edit (?:has introduced|was not)|text not found|no replacement was",
            r"old_?(?:text|str|string)\b.{0,40}not|(?:file|tool|path|directory)\b.{0,200}(?:not found|does not exist)",
            r"(?:string|text|code) to (?:replace|find|change|match)\b.{0,60}\bnot|search (?:block|text)\b.{0,40}not",
            r"input validation|this file (?:has|was) .{0,40}(?:modified|changed)|file has not been read",
        )
    )
    + ")",
    re.IGNORECASE,
)
_MADE_NOTHING: Final = late_pattern(
    r"\W*(?:"
    + "|".join(
        (
            r"found \d+ (?:occurrences|matches) of (?!.*\breplaced)|no changes? (?:were |was )?made|hunk #\d+ failed",
            r"(?:the )?file\b.{0,200}(?:modified|changed) since|the user (?:doesn't|does not) want",
            r"permission\b.{0,100}\bdenied|(?:\w+ ){1,3}(?:failed|rejected|denied)\b|[\w ]{0,80}\bunsuccessful",
            r"(\d+) (?:of|out of) (?!\1\b)\d+ (?:edits|changes|replacements|hunks)",
        )
    )
    + ")",
    re.IGNORECASE,
)
"""What an editor says that refuses an edit; other tools may answer so when they went well."""


class Ending(NamedTuple):
    """How a call ended: as `Call.outcome` and `Call.error` have it."""

    outcome: str = ""
    error: str = ""
    general: str = ""
    """A later line that says that something failed, not what."""


def end_of_command(line: Sequence[Simple], result: str) -> Ending:
    """How a command ended, by its exit code if the result has one, else by what it printed."""
    result = bounded(result)
    ends = result[-_ENDS_CHARS:]
    if _STOPPED.search(ends):
        return Ending(INTERRUPTED)
    if _TIMED_OUT.search(ends) or _TIMED_OUT.search(result[:200]):
        return _failed(f"{FAILED} (timed out)", result)
    code = exit_code(result)
    if code and not _is_answer(line, code, result):
        return _failed(f"{FAILED} (exit {code})", result)
    if code is None and _REFUSED.match(result):
        return end_of_tool(result, reads=False)
    if _printed_error(line, result):
        return _failed(REPORTED_AN_ERROR if code == 0 and _only_tells(line, result) else PRINTED_AN_ERROR, result)
    return Ending()


def _failed(outcome: str, result: str) -> Ending:
    return Ending(outcome, *error_lines(result))


def end_of_tool(result: str, *, reads: bool, edits: bool = False) -> Ending:
    """How the call of another tool ended, by the beginning of its result; `reads` if that may be any text, `edits` if
    it says what came of an edit."""
    is_long = len(result) > _SHORT_CHARS or result.count("\n") > _SHORT_LINES
    begins = result[:400]
    if (reads and is_long) or not (_SAYS_FAILED.match(begins) or (edits and _MADE_NOTHING.match(begins))):
        return Ending()
    first = first_line(result)
    # What an editor refuses comes with its reason, then with the whole text.
    if _REFUSED.match(result) and (
        found := re.search(r"^\W*(\w+ \w+Error: .*|\w+Error: .*)$", result[:4_000], re.MULTILINE)
    ):
        return Ending(FAILED, first_line(found[0]))
    return Ending(FAILED, first)


def exit_code(result: str) -> int | None:
    """The exit code that a result states, in one of the forms of the agents we know."""
    if found := _CODE_FIRST.match(result[:4_000]):
        return _number(found)
    if result.startswith("{") and (code := _code_in_json(result)) is not None:
        return code
    found_last = list(_CODE_LAST.finditer(result[-_ENDS_CHARS:]))
    return _number(found_last[-1]) if found_last else None


def _number(found: re.Match[str]) -> int:
    return int(next(group for group in found.groups() if group is not None))


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
    """Whether an exit code of 1 is not a failure: no match for `grep`, a difference for `diff`."""
    if code != 1 or not line or program_of(line[-1]) not in ANSWERS_WITH_ONE:
        return False
    return not complaints(result) and "Traceback (most recent" not in result


def _only_tells(line: Sequence[Simple], result: str) -> bool:
    """Whether a program that went well by its own exit code reports errors that it met."""
    is_own = bool(line) and not line[-1].is_filter and program_of(line[-1]) in _INTERPRETERS
    return is_own and not _STILL_FAILS.search(result)


def _printed_error(line: Sequence[Simple], result: str) -> bool:
    runs = {program_of(simple) for simple in line if not simple.is_filter}
    if runs and all(run in READERS or run == WRITE for run in runs):
        # Texts that they show may have errors in them; only their own complaints count.
        return not runs.isdisjoint(complaints(result))
    return prints_error(result)


def done_by(programs: Sequence[Simple] | None, outcome: str, result: str) -> tuple[Simple, ...]:
    """The programs of a command that did their work, and not for sure those that may have. Of a command that failed,
    those before its last."""
    has_failed, line = outcome.startswith(FAILED), programs or ()
    if not (has_failed or outcome in DONE) or (has_failed and _BAD_SYNTAX.search(result)):
        return ()
    done: list[Simple] = []
    complained = _complained(line, result)
    has_stopped = may_have_stopped = False
    for at, simple in enumerate(line[:-1] if has_failed else line):
        has_stopped = (has_stopped and simple.needs_last) or at in complained
        may_have_stopped = may_have_stopped and simple.needs_last
        if not has_stopped:
            is_sure = simple.is_sure and not may_have_stopped and not _missed(simple, result)
            done.append(simple._replace(is_sure=is_sure))
            may_have_stopped = may_have_stopped or (has_failed and not _is_quiet(simple))
    return tuple(done)


def _complained(line: Sequence[Simple], result: str) -> set[int]:
    """The places of programs that said what was wrong, or of whose output the shell said so. Of several of one name, it
    is the one with an argument that is named."""
    by_name: dict[str, list[int]] = {}
    for at, simple in enumerate(line):
        by_name.setdefault(simple.program, []).append(at)
    found = [each for each in _COMPLAINT.finditer(result) if each["file"] or each["program"] in by_name]
    files = {each["file"] for each in found}
    complained = {at for at, simple in enumerate(line) if not files.isdisjoint(simple.written)}
    for said in islice((each for each in found if each["program"] in by_name), _MOST_COMPLAINTS):
        alike = by_name[said["program"]]
        complained.update([at for at in alike if _is_about(line[at], said["text"])] or alike)
    return complained


def _is_about(simple: Simple, text: str) -> bool:
    return any(is_file_name(word) and word in text for word in simple.words[1:])


def _missed(simple: Simple, result: str) -> bool:
    """Whether a program that changes files said that not all of it could be done."""
    if PYTHON.fullmatch(simple.program):
        return _RAISED.search(result) is not None or any(text in result for text in misses_in(inline_code(simple)))
    return program_of(simple) in ("patch", "git apply", "git am") and _NOT_PATCHED.search(result) is not None


def _is_quiet(simple: Simple) -> bool:
    """Whether it hardly ever fails: it only prepares, looks, or edits."""
    program = program_of(simple)
    return program in READERS or program in SETUP or bool(changes_of(simple))
