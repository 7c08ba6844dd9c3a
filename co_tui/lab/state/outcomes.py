"""Whether a step failed, and the line that says why."""

import re
from typing import Final, NamedTuple

from co_tui.lab.state.steps import Step

_CODE: Final = re.compile(
    r"<returncode>\s*(-?\d+)\s*</returncode>"
    r"|\[(?:The command completed|Command finished) with exit code (-?\d+)"
    r"|\[exit code: (-?\d+)\]"
    r"|^Command exited with code (-?\d+)"
    r"|^(?:Process )?[Ee]xit(?:ed with)?(?: code|ed)?:? (-?\d+)\.?$"
    r'|"exit_?[cC]ode": ?(-?\d+)',
    re.MULTILINE,
)
_ENVELOPE: Final = re.compile(
    r"^\s*(?:</?[\w-]+>|</?(?:returncode|output|stdout|stderr|args)>.*"
    r"|\[(?:The command|Command|exit code|Current|Python).*"
    r"|Command exited with code.*|\((?:Open file|Current directory): .*|bash-\$|[\W_]*)\s*$"
)
_ERROR: Final = re.compile(
    r"^\W*(?:[\w.]*(?:Error|Exception|Warning as error)\b(?::|$)|Traceback \(most recent|fatal: "
    r"|error[:\[]|Error[: ]|ERROR\b"
    r"|FAILED\b|FAIL:|npm ERR!|npm error |panic: )"
    r"|command not found|No such file or directory|: [Pp]ermission denied|: error(?: TS\d+)?:|^E [A-Za-z]\w*\b"
)
_RAISED: Final = re.compile(r"^Traceback \(most recent call last\)|^[\w.]*(?:Error|Exception): ", re.MULTILINE)
_BEGINS_WITH_ERROR: Final = re.compile(
    r"\s*(?:<\w+>\s*)?(?:\w+ ){0,2}?(?:error\b|err:|failed\b|failure\b|could not\b|cannot\b|can't\b|invalid\b|"
    r"ran into\b|no such\b|not found\b|permission denied|no replacement was performed|your proposed edit)",
    re.IGNORECASE,
)
_SEARCHES: Final = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "pgrep", "which"})
_SHOWS: Final = _SEARCHES | frozenset(
    {
        "cat",
        "sed",
        "head",
        "tail",
        "ls",
        "find",
        "less",
        "nl",
        "git",
        "echo",
        "awk",
        "cd",
        "wc",
        "tree",
        "open",
        "jq",
        "curl",
    }
)
"""Programs whose output quotes others: an error in it is not theirs."""
END_CHARS: Final = 500
"""An exit code is looked for in so much at both ends of a result."""
_LEADING_CD: Final = re.compile(r"^(?:cd\s+\S+\s*(?:&&|;)\s*)+")


class Outcome(NamedTuple):
    """What came of a step."""

    failed: bool
    error: str = ""
    """The last line of the result that says what went wrong; its last line if none does."""


def bare_command(command: str) -> str:
    """A command without the change of folder in front of it."""
    return _LEADING_CD.sub("", command.strip())


def outcome_of(step: Step) -> Outcome:
    """Commands fail by their exit code or a printed error; other calls by a result that begins with one."""
    if not step.command:
        failed = bool(_BEGINS_WITH_ERROR.match(step.result)) and len(step.result) < 2000
        return Outcome(failed, _first_line(step.result) if failed else "")
    programs = _programs(bare_command(step.command))
    code = _exit_code(step.result)
    if code:
        if code == 1 and programs[-1] in _SEARCHES and not _error_line(step.result):
            return Outcome(False)
        return Outcome(True, _error_line(step.result) or _last_line(step.result))
    if set(programs) <= _SHOWS:
        error = _error_line(step.result) if code is None else ""
        return Outcome(True, error) if error and len(_lines(step.result)) <= 2 else Outcome(False)
    if _RAISED.search(step.result) and not (code == 0 and _tells_only(step)):
        return Outcome(True, _error_line(step.result))
    return Outcome(False)


def _tells_only(step: Step) -> bool:
    """Whether a program printed an error and went on: no other program's exit code hides its own."""
    last_line = re.sub(r"'[^']*'|\"[^\"]*\"", "", step.command.strip().rsplit("\n", 1)[-1])
    return "|" not in last_line and "Traceback (most recent" not in step.result


def only_looks(step: Step) -> bool:
    """Whether a step only looked for something: that it found nothing is not work that fails."""
    return bool(step.command) and set(_programs(bare_command(step.command))) <= _SHOWS


def _exit_code(result: str) -> int | None:
    found = None
    ends = result if len(result) <= 2 * END_CHARS else f"{result[:END_CHARS]}\n{result[-END_CHARS:]}"
    for match in _CODE.finditer(ends):
        found = match
    return int(next(filter(None, found.groups()))) if found else None


def _programs(command: str) -> list[str]:
    """The programs of a command's first line."""
    first = command.split("\n", 1)[0]
    heads = [piece.split() for piece in re.split(r"\|\|?|&&|;", re.sub(r"'[^']*'|\"[^\"]*\"", "''", first))]
    return [words[0].rsplit("/", 1)[-1] for words in heads if words] or [""]


def _lines(result: str) -> list[str]:
    return [" ".join(line.split()) for line in result.splitlines() if line.strip() and not _ENVELOPE.match(line)]


def _error_line(result: str) -> str:
    found = [line for line in _lines(result) if _ERROR.search(line) and "Traceback (most" not in line]
    return found[-1] if found else ""


def _last_line(result: str) -> str:
    return (_lines(result) or [""])[-1]


def _first_line(result: str) -> str:
    return (_lines(result) or [""])[0]
