"""Shell calls of recorded conversations, judged one after the other as on a day of work."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.verdict import Verdict
from co_tui.settings.permission_rules import RuleInForce
from tests.support.git_checks import git_checked_once

SHELLS: Final = ("bash", "terminal")
ROOTS: Final = re.compile(r"/testbed|/Users/\w+/workspaces/[\w-]+")
"""Where the recorded agents worked: these become the folder."""
FIRST_ANSWERS: Final = 10


class Day(NamedTuple):
    """What became of the calls."""

    calls: int
    asked: int
    free: int
    later_calls: int
    """After the first ten answers."""
    later_asked: int

    @property
    def later_share(self) -> float:
        return self.later_asked / self.later_calls if self.later_calls else 0.0


def shell_calls(file: Path) -> list[list[str]]:
    """The command lines of each conversation that has some."""
    found = []
    for line in file.read_text().splitlines():
        messages = json.loads(line)["messages"]
        calls = [call.get("function", call) for each in messages for call in each.get("tool_calls") or ()]
        lines = [json.loads(call["arguments"]).get("command") for call in calls if call["name"] in SHELLS]
        if lines := [each for each in lines if each]:
            found.append(lines)
    return found


def replayed(conversations: Sequence[Sequence[str]], folder: Path, mode: str, *, one_project: bool) -> Day:
    """Judge every call, and keep the offered rules after each answer: for good, or for one conversation."""
    judge = Judge(folder=folder, home=folder / "nowhere", environ={"PATH": "/usr/bin:/bin"})
    calls = asked = free = later_calls = later_asked = answers = 0
    rules: list[RuleInForce] = []
    for lines in conversations:
        if not one_project:
            rules, answers = [], 0
        with git_checked_once():
            for verdict in _verdicts(judge, lines, mode, rules):
                calls += 1
                free += verdict.only_reads
                asks = verdict.action == "ask"
                asked += asks
                later_calls += answers >= FIRST_ANSWERS
                later_asked += asks and answers >= FIRST_ANSWERS
                answers += asks
                rules += [RuleInForce("allow", rule, "kept") for rule in verdict.rules]
    return Day(calls, asked, free, later_calls, later_asked)


def free_lines(conversations: Sequence[Sequence[str]], folder: Path) -> list[str]:
    """What is run without a question, each line once, with the folder as their root."""
    judge = Judge(folder=folder, home=folder / "nowhere", environ={"PATH": "/usr/bin:/bin"})
    lines = dict.fromkeys(_in_folder(line, folder) for each in conversations for line in each)
    with git_checked_once():
        verdicts = [judge.verdict("run_command", {"command": line}, "ask", ()) for line in lines]
    return [verdict.judged_line for verdict in verdicts if verdict.only_reads]


def project(folder: Path) -> Path:
    """A repository to map the recorded root to."""
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def _verdicts(judge: Judge, lines: Sequence[str], mode: str, rules: Sequence[RuleInForce]) -> Iterator[Verdict]:
    for line in lines:
        line = _in_folder(line, judge.folder)
        for target in re.findall(r"(?:^|&& |; )cd ([\w-][\w./-]*)", line):
            (judge.folder / target).mkdir(parents=True, exist_ok=True)  # the recorded project had it
        yield judge.verdict("run_command", {"command": line}, mode, rules)


def _in_folder(line: str, folder: Path) -> str:
    return ROOTS.sub(str(folder), line)
