"""What the file of an agent says about the use of its tools: `Bash(git log:*)` gives the tool for such calls only."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import NamedTuple

from co_tui.agent.permissions.verdict import Verdict
from co_tui.agent.tool_names import OTHER_NAMES, TOOLS, our_names
from co_tui.settings import AgentFile
from co_tui.settings.permission_rules import AGENT, MCP, Rule, RuleInForce, parse_rule
from co_tui.settings.permission_rules import OTHER_NAMES as OTHER_TOOL_NAMES


class AgentLimits(NamedTuple):
    """For the calls of one agent, and of those it delegates to."""

    agent: str
    only: Mapping[str, Sequence[Rule]] = {}
    """Our tools that it has for calls that one of these rules covers."""
    denied: Sequence[RuleInForce] = ()

    def __bool__(self) -> bool:
        return bool(self.only or self.denied)

    def refused(self, tool: str) -> Verdict:
        rules = ", ".join(map(str, self.only[tool]))
        return Verdict("refuse", f"The agent {self.agent} has this tool for {rules} only.", by=rules)


LIMITS: ContextVar[tuple[AgentLimits, ...]] = ContextVar("limits of the agents whose call is running", default=())


def limits_of(agent: str, given: Iterable[str], withheld: Iterable[str]) -> AgentLimits:
    """The limits in what a file gives its agent and withholds from it."""
    named = list(tools_in(given))
    whole = {tool for name, rule in named if rule is None for tool in our_names([name])}
    only: dict[str, list[Rule]] = {}
    for name, rule in named:
        for tool in our_names([name]) if rule is not None else ():
            if tool not in whole and rule is not None:
                only.setdefault(tool, []).append(rule)
    rules = [rule for _, rule in tools_in(withheld) if rule is not None]
    return AgentLimits(agent, only, [RuleInForce("deny", rule, f"the file of agent {agent}") for rule in rules])


def tools_in(written: Iterable[str]) -> Iterator[tuple[str, Rule | None]]:
    """The tools that a file names, each with its rule, if any; `Agent(a, b)` names two."""
    for each in written:
        name, _, inside = each.partition("(")
        several = inside.removesuffix(")").split(",") if OTHER_TOOL_NAMES.get(name, name) == AGENT else ()
        yield from map(_tool_and_rule, [f"{name}({part.strip()})" for part in several] if len(several) > 1 else [each])


def _tool_and_rule(written: str) -> tuple[str, Rule | None]:
    """A tool that a file names, and the rule for it, as in `Bash(git log:*)`; what is not a rule stays the name of no
    tool."""
    name = written.removesuffix("__*") if written.startswith(MCP) else written
    if not name.endswith(")"):
        return name, None
    try:
        rule = parse_rule(written)
    except ValueError:
        return written, None
    return written.partition("(")[0], rule if rule.pattern else None


def unknown_tools(file: AgentFile) -> list[str]:
    """The unknown tools an agent file names. Names with `_` may be MCP tools, which are not known yet."""
    named = {each: name for each in (*(file.tools or ()), *file.withheld_tools) for name, _ in tools_in([each])}
    return [each for each, name in named.items() if "_" not in name and name not in OTHER_NAMES and name not in TOOLS]
