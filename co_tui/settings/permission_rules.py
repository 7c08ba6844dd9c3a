"""Permission rules as people write them: `Bash(git commit:*)`, `Edit(src/**)`, `mcp__server__tool`."""

import re
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from co_tui.inert import one_line
from co_tui.paths import PROJECT_FILE
from co_tui.settings.rules import PartRefused, quoted, table_in
from co_tui.settings.rules import Rule as Setting

BASH: Final = "Bash"
EDIT: Final = "Edit"
READ: Final = "Read"
WEB_FETCH: Final = "WebFetch"
WEB_SEARCH: Final = "WebSearch"
AGENT: Final = "Agent"
SKILL: Final = "Skill"
MCP: Final = "mcp__"
SHOWN_CHARS: Final = 300
"""Of a rule, in a question or a note."""
OTHER_NAMES: Final = {
    "Write": EDIT, "MultiEdit": EDIT, "NotebookEdit": EDIT, "NotebookRead": READ, "Task": AGENT,
    "KillBash": "KillShell",
}  # fmt: skip
"""Other programs' names for the same tools."""
LISTING: Final = frozenset(("LS", "Grep", "Glob"))
"""Tools that list and search. A rule without a path is about that tool alone, one with a path about reading there."""
RULED_TOOLS: Final = frozenset(
    (BASH, EDIT, READ, *LISTING, WEB_FETCH, WEB_SEARCH, AGENT, SKILL, "TodoWrite", "BashOutput", "KillShell",
     "AskUserQuestion")
)  # fmt: skip
"""Tools that rules can be about."""
NO_EFFECT: Final = frozenset(
    ("SlashCommand", "ExitPlanMode", "EnterPlanMode", "EnterWorktree", "ExitWorktree", "PowerShell", "LSP", "Monitor",
     "ToolSearch", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop", "CronCreate",
     "CronDelete", "CronList", "SendMessage", "TeamCreate", "TeamDelete", "ListMcpResourcesTool",
     "ReadMcpResourceTool")
)  # fmt: skip
"""Tools only other programs have: rules about them are accepted, so that lists can be pasted, and named at each start
as without effect."""
FORMS: Final = "Bash(git commit:*), Edit(src/**), Read(~/notes/**), WebFetch(domain:example.com) or mcp__server__tool"
LONGEST_RULE_CHARS: Final = 500
HARMLESS_OPTIONS: Final = ", harmless options"
"""Ends the pattern of a rule that an answer keeps for a command."""

Effect: TypeAlias = Literal["allow", "ask", "deny"]
EFFECTS: Final[tuple[Effect, ...]] = ("deny", "ask", "allow")
"""Strongest first."""


class Rule(NamedTuple):
    """A set of tool calls."""

    tool: str
    """Empty for a text that is not a rule, which covers nothing."""
    pattern: str = ""
    """Which calls of the tool; empty for all. The text that is not a rule."""

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern and self.tool else self.tool or self.pattern

    @property
    def shown(self) -> str:
        """For people: a kept rule in its own words, others as they are written."""
        return self.pattern if self.pattern.endswith(HARMLESS_OPTIONS) else str(self)


class RuleInForce(NamedTuple):
    """A rule with its effect and the file it comes from."""

    effect: Effect
    rule: Rule
    source: str = ""
    for_turn: bool = False
    """Whether a slash command brings it, for its turn: it never allows what is dangerous."""

    def covers(self, path: Path, folder: Path, home: Path) -> bool:
        """Whether its pattern covers a path. All paths are resolved."""
        return covers_path(self.rule, path, folder, home, _project(self.source), widely=self.effect != "allow")


@cache
def _project(source: str) -> Path | None:
    """The folder of a project's file, ours or Claude Code's."""
    file = Path(source)
    if file.name == PROJECT_FILE:
        return file.parent.resolve()
    return file.parent.parent.resolve() if file.parent.name == ".claude" else None


def parse_rule(text: str) -> Rule:
    """Parse a rule. Raises ValueError."""
    text = text.strip()
    if len(text) > LONGEST_RULE_CHARS or "\n" in text:
        raise ValueError(text)
    if text.startswith(MCP):
        if re.fullmatch(r"mcp__[\w.*-]+", text):
            return Rule(text)
        raise ValueError(text)
    found = re.fullmatch(r"(?P<tool>[A-Za-z]+)(?:\((?P<pattern>.*)\))?", text)
    tool = OTHER_NAMES.get(found["tool"], found["tool"]) if found else ""
    if found is None or tool not in RULED_TOOLS | NO_EFFECT:
        raise ValueError(text)
    pattern = (found["pattern"] or "").strip()
    if pattern in ("*", "**", ":*"):
        return Rule(tool)
    tool = READ if pattern and tool in LISTING else tool
    if pattern and tool in _PATTERNS and not re.fullmatch(_PATTERNS[tool], pattern):
        raise ValueError(text)
    return Rule(tool, _path_pattern(pattern) if tool in (READ, EDIT) else pattern)


def split_rules(text: str) -> list[str]:
    """Rules in a line, separated by commas or spaces, except inside of brackets."""
    return re.findall(r"(?:\([^)]*\)?|[^\s,(])+", text)


def _path_pattern(pattern: str) -> str:
    """The pattern without parts that mean nothing. Raises ValueError for one that could never match."""
    pattern = "~/" if pattern == "~" else pattern
    start = next((each for each in ("//", "~/", "./", "/") if pattern.startswith(each)), "")
    parts = [part for part in pattern[len(start) :].split("/") if part not in ("", ".")]
    if ".." in parts or pattern.startswith("$") or re.match(r"~[^/]", pattern):
        raise ValueError(pattern)
    return start + "/".join(parts) + ("/" if pattern.endswith("/") and parts else "")


_NAME: Final = r"[\w.:*-]+"
_PATTERNS: Final = {
    WEB_FETCH: r"domain:[\w.*-]+", WEB_SEARCH: r"(?!)", AGENT: _NAME, SKILL: rf"{_NAME}( \*)?", "TodoWrite": r"(?!)",
    "BashOutput": r"(?!)", "KillShell": r"(?!)", "AskUserQuestion": r"(?!)",
}  # fmt: skip
"""What may be in the parentheses, for tools that take no command or path."""


def covers_name(rule: Rule, name: str) -> bool:
    """Whether a rule about agents or skills covers one."""
    pattern = rule.pattern.removesuffix(" *").removesuffix(":*")
    return not pattern or _matches(pattern, name)


def covers_command(rule: Rule, words: Sequence[str]) -> bool:
    """Whether a rule covers a shell command, given as its words."""
    if rule.tool != BASH:
        return False
    if not rule.pattern:
        return True
    prefix = prefix_of(rule)
    if prefix is not None:
        return _begins_with(words, prefix, rule.pattern.endswith(":*"))
    if "*" not in rule.pattern:
        return tuple(words) == _words(rule.pattern)
    return _matches(rule.pattern, " ".join(words))


def covers_line(rule: Rule, line: str) -> bool:
    """Whether a rule with an operator, as in `Bash(curl * | sh)`, covers a line or one of its pipelines."""
    pattern = f"{rule.pattern[:-2]}*" if rule.pattern.endswith(":*") else rule.pattern
    if rule.tool != BASH or not re.search(_OPERATORS, pattern):
        return False
    return any(_matches(_tight(pattern), _tight(each)) for each in (line, *re.split(r"[;\n]|&&|\|\|", line)))


_OPERATORS: Final = r"[|&;<>]+"


def _tight(text: str) -> str:
    """A command line with single spaces, and none around operators."""
    return re.sub(rf" ?({_OPERATORS}) ?", r"\1", " ".join(text.split()))


def _begins_with(words: Sequence[str], prefix: Sequence[str], may_go_on: bool) -> bool:
    """Whether a command begins with these words. `may_go_on`: the last of them may be followed by a colon, so that
    `npm run test:*` covers `npm run test:unit`, too; it is never the beginning of another word, as in `git commitx`."""
    if not prefix or len(words) < len(prefix) or tuple(words[: len(prefix) - 1]) != tuple(prefix[:-1]):
        return False
    last = words[len(prefix) - 1]
    return last == prefix[-1] or (may_go_on and len(prefix) > 1 and last.startswith(f"{prefix[-1]}:"))


@cache
def prefix_of(rule: Rule) -> tuple[str, ...] | None:
    """The words a command must begin with, for `Bash(git commit:*)` and `Bash(git commit *)`."""
    for ending in (":*", " *"):
        if rule.pattern.endswith(ending) and "*" not in (start := rule.pattern.removesuffix(ending)):
            return _words(start)
    return None


def kept_rule(shown: str) -> Rule:
    """The rule that an answer keeps for a command, as it is shown to people."""
    return Rule(BASH, f"{shown}{HARMLESS_OPTIONS}")


def kept_words(rule: Rule) -> tuple[str, ...] | None:
    """The words that a kept rule shows; None for any other rule."""
    if rule.tool != BASH or not rule.pattern.endswith(HARMLESS_OPTIONS):
        return None
    return _words(rule.pattern.removesuffix(HARMLESS_OPTIONS))


@cache
def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def _matches(pattern: str, text: str) -> bool:
    """Match `*` as any characters. `fnmatch` stays fast with many stars, unlike a plain regular expression."""
    return fnmatchcase(text, re.sub(r"[?\[]", r"[\g<0>]", pattern))


def covers_path(
    rule: Rule, path: Path, folder: Path, home: Path, project: Path | None = None, *, widely: bool = False
) -> bool:
    """Whether a rule's pattern covers a path. All paths are resolved.

    Without a slash a pattern matches names at any depth. With one it starts at the folder; after `~/` at the home
    folder, after `//` at the root of the disk, and after `/` at `project`, the folder of the project's file that has
    the rule. `widely`, as for rules that deny or ask: no pattern covers every path, and `x*` also the content of a
    folder `xy`.
    """
    pattern = rule.pattern
    if not pattern:
        return widely or path.is_relative_to(folder)
    if pattern.startswith("//"):
        return _covers(pattern[1:], str(path), widely)
    if pattern.startswith("~/"):
        return _covers(f"{home}{pattern[1:]}", str(path), widely)
    if pattern.startswith("/") and project is not None:
        folder = project
    if not path.is_relative_to(folder):
        return False
    inside = str(path.relative_to(folder))
    anchored = "/" in pattern.rstrip("/")
    plain = pattern.removeprefix("./").removeprefix("/")
    return _covers(plain, inside, widely) or (not anchored and _covers(f"**/{plain}", inside, widely))


def _covers(pattern: str, path: str, widely: bool) -> bool:
    """`*` matches within a name, `**` across names; a folder's name covers its content, one with a `*` at its end only
    `widely`."""
    reached = {0}  # numbers of pattern parts matched so far
    parts, names = pattern.rstrip("/").split("/"), path.split("/")
    for name in names:
        reached = _skipping(reached, parts)
        if len(parts) in reached and (widely or not pattern.endswith("*")):
            return True
        reached = {
            at + (parts[at] != "**")
            for at in reached
            if at < len(parts) and (parts[at] == "**" or fnmatchcase(name, re.sub(r"\[", "[[]", parts[at])))
        }
    return len(parts) in _skipping(reached, parts)


def _skipping(reached: set[int], parts: Sequence[str]) -> set[int]:
    """Also skip each `**`, which may match no folder."""
    every = set(reached)
    for at in sorted(reached):
        while at < len(parts) and parts[at] == "**":
            at += 1
            every.add(at)
    return every


def covers_tool(rule: Rule, name: str) -> bool:
    """Whether a rule covers an MCP tool, by its name or its server's."""
    if not rule.tool.startswith(MCP):
        return False
    return _matches(rule.tool, name) or name.startswith(f"{rule.tool}__")


def covers_host(rule: Rule, host: str) -> bool:
    """Whether a rule covers pages of a host."""
    if rule.tool != WEB_FETCH:
        return False
    domain = rule.pattern.removeprefix("domain:").lower()
    return not domain or _matches(domain, host.lower())


def names_host(rule: Rule, host: str) -> bool:
    """Whether a rule is about pages of this host alone."""
    return rule == host_rule(host)


def host_rule(host: str) -> Rule:
    """The rule for pages of a host."""
    return Rule(WEB_FETCH, f"domain:{host}")


def read_permissions(value: object) -> tuple[RuleInForce, ...]:
    """Parse a table of `allow`, `ask` and `deny` rules. Raises ValueError and TypeError."""
    if isinstance(value, tuple) and all(isinstance(each, RuleInForce) for each in value):
        return value
    value = table_in(value)
    if not isinstance(value, Mapping):
        raise ValueError
    for key in set(value) - set(EFFECTS):
        raise PartRefused(one_line(str(key), 40), quoted(value[key]), "allow, ask and deny")
    found = []
    for effect in EFFECTS:
        texts = value.get(effect, ())
        if not isinstance(texts, list | tuple):
            raise PartRefused(effect, quoted(texts), "a list of rules")
        found += [RuleInForce(effect, _rule_or_text(effect, text)) for text in texts]
    return tuple(found)


def rule_for(effect: Effect, text: str) -> Rule:
    """Parse a rule for an effect: allow rules must name the MCP server. Raises ValueError."""
    rule = parse_rule(text)
    if effect == "allow" and "*" in rule.tool.removeprefix(MCP).partition("__")[0]:
        raise ValueError(text)
    return rule


def _rule_or_text(effect: Effect, text: object) -> Rule:
    try:
        return rule_for(effect, text) if isinstance(text, str) else Rule("", quoted(text))
    except ValueError:
        return Rule("", str(text))


def permission_table() -> Setting:
    return Setting("a table of rules under allow, ask and deny; or none", read_permissions)


def as_table(rules: Sequence[RuleInForce]) -> dict[str, list[str]]:
    """The rules as written in a settings file."""
    return {
        effect: [str(each.rule) for each in rules if each.effect == effect]
        for effect in reversed(EFFECTS)
        if any(each.effect == effect for each in rules)
    }


def rules_text(rules: Sequence[str]) -> str:
    """Rules as an answer names them, joined; those with harmless options last."""
    texts = [_rule_text(each) for each in rules]
    kept = [text.removesuffix(HARMLESS_OPTIONS) for text in texts if text.endswith(HARMLESS_OPTIONS)]
    others = [text for text in texts if not text.endswith(HARMLESS_OPTIONS)]
    return ", ".join([*others, *([" and ".join(kept) + HARMLESS_OPTIONS] if kept else [])])


def _rule_text(text: str) -> str:
    try:
        rule = parse_rule(text)
    except ValueError:
        return one_line(text, SHOWN_CHARS)
    pattern = one_line(rule.pattern, SHOWN_CHARS)
    if rule.tool == BASH and pattern:
        return pattern
    if rule.tool == WEB_FETCH and pattern:
        return f"pages of {pattern.removeprefix('domain:')}"
    if rule == Rule(WEB_SEARCH):
        return "searches"
    if rule.tool == EDIT and pattern:
        return "edits of top-level files" if pattern == "./*" else f"edits in {_place(pattern)}"
    return one_line(text, SHOWN_CHARS)


def _place(pattern: str) -> str:
    """A folder and all below it by its name, as people write it; any other pattern as it is."""
    pattern = pattern[1:] if pattern.startswith("//") else pattern
    folder = pattern.removesuffix("**")
    return folder if folder.endswith("/") and "*" not in folder else pattern
