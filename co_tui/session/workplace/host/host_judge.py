"""Judge calls that work on another host by the files there. What is not judged there needs approval."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic_ai.exceptions import ToolFailed

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.verdict import Verdict
from co_tui.agent.tool_names import CHANGING_TOOLS, COMMAND_TOOLS, READING_TOOLS
from co_tui.events.tool_calls import changed_paths
from co_tui.inert import one_line
from co_tui.session.approvals.marks import is_narrow
from co_tui.session.workplace.host.address import HostUnreachable
from co_tui.session.workplace.host.link import SessionLink
from co_tui.settings.permission_rules import BASH, EDIT, LONGEST_RULE_CHARS, READ, Rule, RuleInForce
from co_tui.shell.syntax import NotUnderstood, Statement, parse

NOT_JUDGED: Final = "The other host could not judge it, so it can only be allowed once."
AGAIN: Final = "The next call connects again."
MOST_CHARS: Final = 200_000
"""Of the texts of a verdict; a command line has 20,000 at most."""
_SEARCHES: Final = frozenset(("search_files", "find_files"))
_ACTIONS: Final = ("run", "ask", "refuse")


class HostJudge(Judge):
    """`folder` is the stand-in here. Tools that do not work in the folder are judged here as always."""

    link: SessionLink
    shown: str
    """The folder there, for people."""
    remote_folder: Path
    remote_home: Path

    @property
    def where(self) -> str:
        return one_line(self.shown, 200)

    def hides(self, path: Path, limits: Sequence[RuleInForce]) -> bool:
        return any(each.covers(path, self.remote_folder, self.remote_home) for each in limits)

    def outside_reader(self, written: Sequence[RuleInForce]) -> Callable[[Path], bool]:
        """None: the rules are about files there, where only commands read outside of the folder."""
        return lambda path: False

    def verdict(self, tool: str, arguments: Mapping[str, Any], mode: str, written: Sequence[RuleInForce]) -> Verdict:
        if tool not in COMMAND_TOOLS | CHANGING_TOOLS | READING_TOOLS:
            return super().verdict(tool, arguments, mode, written)
        given = _given(tool, arguments)
        try:
            asked = self.link.ask("verdict", tool, given, mode, tuple(written), _parsed(given.get("command")))
            verdict = _checked(asked)
        except HostUnreachable as lost:
            raise ToolFailed(f"{lost} {AGAIN}") from lost
        except (OSError, ValueError, TypeError):
            verdict = Verdict("ask", NOT_JUDGED, new=(str(given.get("command") or given.get("path") or ""),))
        limited = any(each.effect != "allow" and each.rule.tool == READ for each in written)
        if tool in _SEARCHES and limited and verdict.action == "run":
            return Verdict("ask", "It could show files that your rules deny.", new=(str(given.get("path") or "."),))
        return verdict


def _given(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a verdict depends on: the command, or the paths."""
    if tool in COMMAND_TOOLS:
        return {"command": str(arguments.get("command", ""))}
    if "files" in arguments:
        return {"files": [{"path": path} for path in changed_paths(tool, arguments)]}
    return {"path": str(arguments.get("path") or ("" if tool in CHANGING_TOOLS else "."))}


def _parsed(line: str | None) -> Statement | None:
    try:
        return parse(line) if line is not None else None
    except NotUnderstood:
        return None


def _checked(verdict: Any) -> Verdict:
    """A verdict with values of the right types. Raises ValueError."""
    if not isinstance(verdict, Verdict) or verdict.action not in _ACTIONS:
        raise ValueError("not a verdict")
    texts = (verdict.reason, verdict.danger, verdict.by, verdict.judged_line, *verdict.new)
    flags = (verdict.only_reads, verdict.outside_sandbox, verdict.protected)
    if not all(isinstance(each, str) for each in texts) or not all(isinstance(each, bool) for each in flags):
        raise ValueError("not a verdict")
    if sum(map(len, texts)) > MOST_CHARS or not all(map(_is_remote_rule, verdict.rules)):
        raise ValueError("not a verdict")
    return verdict


def _is_remote_rule(rule: Any) -> bool:
    """Whether it is a rule about some commands or files: no other may be offered for tools that run here."""
    if not isinstance(rule, Rule) or rule.tool not in (BASH, EDIT, READ):
        return False
    return isinstance(rule.pattern, str) and len(rule.pattern) <= LONGEST_RULE_CHARS and is_narrow(rule)
