"""Permission rules as people write them: `Bash(git commit:*)`, `Edit(src/**)`, `mcp__server__tool`."""

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from co_tui.settings.rules import PartRefused, shown, table_in
from co_tui.settings.rules import Rule as Setting

BASH: Final = "Bash"
EDIT: Final = "Edit"
READ: Final = "Read"
WEB_FETCH: Final = "WebFetch"
MCP: Final = "mcp__"
OTHER_NAMES: Final = {
    "Write": EDIT, "MultiEdit": EDIT, "NotebookEdit": EDIT, "Grep": READ, "Glob": READ, "LS": READ,
}  # fmt: skip
"""What other programs call the same."""
FORMS: Final = "Bash(git commit:*), Edit(src/**), Read(~/notes/**), WebFetch(domain:example.com) or mcp__server__tool"
LONGEST_RULE_CHARS: Final = 500

Effect: TypeAlias = Literal["allow", "ask", "deny"]
EFFECTS: Final[tuple[Effect, ...]] = ("deny", "ask", "allow")
"""The strongest first."""


class Rule(NamedTuple):
    """Calls of one kind."""

    tool: str
    pattern: str = ""
    """Which of them; empty for all."""

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


class RuleInForce(NamedTuple):
    """A rule, what it does, and where it is written."""

    effect: Effect
    rule: Rule
    source: str = ""


def parse_rule(text: str) -> Rule:
    """Raises ValueError for what is no rule."""
    text = text.strip()
    if len(text) > LONGEST_RULE_CHARS or "\n" in text:
        raise ValueError(text)
    if text.startswith(MCP):
        if re.fullmatch(r"mcp__[\w.*-]+", text):
            return Rule(text)
        raise ValueError(text)
    found = re.fullmatch(r"(?P<tool>[A-Za-z]+)(?:\((?P<pattern>.*)\))?", text)
    tool = OTHER_NAMES.get(found["tool"], found["tool"]) if found else ""
    if found is None or tool not in (BASH, EDIT, READ, WEB_FETCH):
        raise ValueError(text)
    pattern = (found["pattern"] or "").strip()
    if tool == WEB_FETCH and pattern and not re.fullmatch(r"domain:[\w.*-]+", pattern):
        raise ValueError(text)
    return Rule(tool, "" if pattern in ("*", "**", ":*") else pattern)


def covers_command(rule: Rule, words: Sequence[str]) -> bool:
    """Whether a rule is about a simple command, given as its words."""
    if rule.tool != BASH:
        return False
    if not rule.pattern:
        return True
    prefix = prefix_of(rule)
    if prefix is not None:
        return bool(prefix) and list(words[: len(prefix)]) == prefix
    return _expression(rule.pattern).fullmatch(" ".join(words)) is not None or list(words) == _words(rule.pattern)


def prefix_of(rule: Rule) -> list[str] | None:
    """The words with which a command has to begin, for `Bash(git commit:*)` and `Bash(git commit *)`."""
    for ending in (":*", " *"):
        if rule.pattern.endswith(ending) and "*" not in (start := rule.pattern.removesuffix(ending)):
            return _words(start)
    return None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


def covers_path(rule: Rule, path: Path, folder: Path, home: Path) -> bool:
    """Whether a rule's pattern covers a path. `path` and `folder` are resolved.

    Without a slash a pattern is about names at any depth; with one it starts at the folder, at `~/` or, with two
    slashes, at the root of the disk.
    """
    pattern = rule.pattern
    if not pattern:
        return path.is_relative_to(folder)
    if pattern.startswith("//"):
        return _covers(pattern[1:], str(path))
    if pattern.startswith("~/"):
        return _covers(f"{home}{pattern[1:]}", str(path))
    if not path.is_relative_to(folder):
        return False
    inside = str(path.relative_to(folder))
    anchored = "/" in pattern.rstrip("/")
    plain = pattern.removeprefix("./").removeprefix("/")
    return _covers(plain, inside) or (not anchored and _covers(f"**/{plain}", inside))


def _covers(pattern: str, path: str) -> bool:
    return _path_expression(pattern.rstrip("/")).fullmatch(path) is not None


@cache
def _path_expression(pattern: str) -> re.Pattern[str]:
    """`*` stays within a name, `**` does not; a folder's name covers what is in it."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(meanings.get(part, re.escape(part)) for part in parts)
    return re.compile(body if pattern.endswith("*") else f"{body}(?:/.*)?", re.DOTALL)


def covers_tool(rule: Rule, name: str) -> bool:
    """Whether a rule is about a server's tool: by its name, or all tools of its server."""
    if not rule.tool.startswith(MCP):
        return False
    return _expression(rule.tool).fullmatch(name) is not None or name.startswith(f"{rule.tool}__")


def covers_host(rule: Rule, host: str) -> bool:
    """Whether a rule is about pages of a host."""
    if rule.tool != WEB_FETCH:
        return False
    wanted = rule.pattern.removeprefix("domain:").lower()
    return not wanted or _expression(wanted).fullmatch(host.lower()) is not None


def read_permissions(value: object) -> tuple[RuleInForce, ...]:
    """The rules of a table `allow`, `ask` and `deny`. Raises ValueError and TypeError."""
    if isinstance(value, tuple) and all(isinstance(each, RuleInForce) for each in value):
        return value
    value = table_in(value)
    if not isinstance(value, Mapping) or not set(value) <= set(EFFECTS):
        raise ValueError
    found = []
    for effect in EFFECTS:
        texts = value.get(effect, ())
        if not isinstance(texts, list | tuple):
            raise PartRefused(effect, shown(texts), "a list of rules")
        for text in texts:
            try:
                found.append(RuleInForce(effect, parse_rule(text)))
            except (ValueError, TypeError, AttributeError):
                raise PartRefused(effect, shown(text), f"a rule such as {FORMS}") from None
    return tuple(found)


def permission_table() -> Setting:
    return Setting("a table of rules under allow, ask and deny; or none", read_permissions)


def as_table(rules: Sequence[RuleInForce]) -> dict[str, list[str]]:
    """The rules as they are written in a file."""
    return {
        effect: [str(each.rule) for each in rules if each.effect == effect]
        for effect in reversed(EFFECTS)
        if any(each.effect == effect for each in rules)
    }
