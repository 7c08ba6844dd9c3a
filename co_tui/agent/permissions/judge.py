"""Decide whether a call runs, needs approval, or is refused (T3, T3b)."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from co_tui.agent.permissions.command_lines import judge_line, keeps_to
from co_tui.agent.permissions.verdict import (
    LIKE_AN_OPTION,
    MCP_IN_PLAN,
    PLAN_REFUSAL,
    PRIVATE_ADDRESS,
    REFUSED_IN_PLAN,
    RUN,
    Rules,
    Verdict,
    asked_by,
    no_programs,
    refused_by,
)
from co_tui.agent.tool_names import (
    CHANGING_TOOLS,
    COMMAND_TOOLS,
    DELEGATE_TOOL,
    LOAD_SKILL,
    READING_TOOLS,
    TRANSFER_TOOL,
    WEB_TOOLS,
    mcp_server_and_tool,
    our_names,
)
from co_tui.agent.web.page_address import AddressRefused, PageAddress, read_address
from co_tui.events.facts.agents import MAIN_AGENT
from co_tui.events.tool_calls import WEB_FETCH, WEB_SEARCH, changed_paths
from co_tui.folders import Folders
from co_tui.paths import home_text, path_text
from co_tui.record import Record
from co_tui.settings.permission_rules import (
    BASH,
    EDIT,
    LISTING,
    MCP,
    READ,
    Effect,
    Rule,
    RuleInForce,
    covers_host,
    covers_name,
    covers_tool,
    host_rule,
    names_host,
)
from co_tui.settings.permission_rules import WEB_SEARCH as SEARCH_RULE
from co_tui.settings.rules import PLAN, PRESENT_PLAN
from co_tui.shell.syntax import Statement, parse

_NAMED_BY: Final = {DELEGATE_TOOL: "agent_name", TRANSFER_TOOL: "agent_name", LOAD_SKILL: "id"}
"""The argument that names the agent or the skill."""


def never_read_only(tool: str) -> bool:
    """For sessions without MCP servers."""
    return False


def is_judged(tool: str) -> bool:
    """Whether calls of a tool are decided here; other tools decide about approval themselves."""
    return (
        tool in (COMMAND_TOOLS | CHANGING_TOOLS | READING_TOOLS | WEB_TOOLS)
        or tool == PRESENT_PLAN
        or tool.startswith(MCP)
    )


class Judge(Record):
    """Decides about calls in the folders of a session. Reads files: call it in a thread."""

    folder: Path
    home: Path
    environ: Mapping[str, str] = {}
    """The environment of commands: PATH, and where git finds the user's configuration."""
    own: Sequence[Path] = ()
    """co-tui's own folders: changes there always need approval."""
    parse: Callable[[str], Statement] = parse
    """Parses a command line. Raises `NotUnderstood`."""
    is_read_only: Callable[[str], bool] = never_read_only
    """Whether the server of an MCP tool marks it as read-only."""
    folders: Folders | None = None
    """Those of the session; None if there is only one."""
    programs: Callable[[], Mapping[Path, str]] = no_programs
    """What co-tui itself runs of these folders, each with its name for people."""

    @property
    def added(self) -> tuple[Path, ...]:
        """Real paths of the further folders to work in."""
        return self.folders.added if self.folders is not None else ()

    @property
    def where(self) -> str:
        """The folder, for people."""
        return home_text(path_text(self.folder))

    def rules(self, mode: str, written: Sequence[RuleInForce]) -> Rules:
        """The mode and these rules in this folder."""
        folder = self.folder.resolve()
        own = [each.resolve() for each in self.own if each.resolve() != folder]
        return Rules(mode, written, folder, self.home.resolve(), own, self.added, cache(self.programs))

    def hides(self, path: Path, limits: Sequence[RuleInForce]) -> bool:
        """Whether one of these rules limits reading a resolved path."""
        rules = self.rules(PLAN, limits)
        return any(rules.covers(each, path) for each in limits)

    def outside_reader(self, written: Sequence[RuleInForce]) -> Callable[[Path], bool]:
        """Returns whether these rules let a resolved path outside of the folder be read."""
        return self.rules(PLAN, written).reads_outside

    def keeps_to(self, tool: str, arguments: Mapping[str, Any], written: Sequence[Rule]) -> bool:
        """Whether these rules cover a call; a call of a tool that rules say nothing about is covered."""
        rules = self.rules(PLAN, [RuleInForce("allow", rule) for rule in written])
        if tool in COMMAND_TOOLS:
            return keeps_to(str(arguments.get("command", "")), written, rules.folder, self.parse)
        if tool in CHANGING_TOOLS | READING_TOOLS:
            changes = tool in CHANGING_TOOLS
            paths = changed_paths(tool, arguments) if changes else [str(arguments.get("path") or ".")]
            found = [rules.resolve(path) for path in paths]
            return all(path is not None and rules.about("allow", EDIT if changes else READ, path) for path in found)
        if tool == WEB_FETCH:
            try:
                host = read_address(str(arguments.get("url", ""))).host
            except AddressRefused:
                return True  # the tool will report what is wrong
            return any(covers_host(rule, host) for rule in written)
        if (key := _NAMED_BY.get(tool)) is None or arguments.get(key) == MAIN_AGENT:
            return True
        return any(covers_name(rule, str(arguments.get(key, ""))) for rule in written)

    def verdict(self, tool: str, arguments: Mapping[str, Any], mode: str, written: Sequence[RuleInForce]) -> Verdict:
        rules = self.rules(mode, written)
        if tool in COMMAND_TOOLS:
            line, in_background = str(arguments.get("command", "")), tool == "start_command"
            return judge_line(line, rules, self.environ, in_background=in_background, parse=self.parse)
        if tool in CHANGING_TOOLS:
            return _changes(changed_paths(tool, arguments), rules)
        if tool in READING_TOOLS:
            return _read(tool, str(arguments.get("path") or "."), rules)
        if tool == PRESENT_PLAN:
            return Verdict("ask")
        if tool == WEB_FETCH:
            return _fetch(str(arguments.get("url", "")), rules)
        if tool == WEB_SEARCH:
            return _search(str(arguments.get("query", "")), rules)
        if tool.startswith(MCP):
            return _server_tool(tool, rules, self.is_read_only)
        return _named(tool, str(arguments.get(_NAMED_BY.get(tool, ""), "")), rules)


def _changes(paths: Sequence[str], rules: Rules) -> Verdict:
    """The verdict on all changes of a call together: they are made in one step."""
    verdicts = [_change(path, rules) for path in dict.fromkeys(paths)] or [_change("", rules)]
    if (refused := next((each for each in verdicts if each.action == "refuse"), None)) is not None:
        return refused
    asked = [each for each in verdicts if each.action == "ask"]
    if len(asked) <= 1:
        return asked[0] if asked else RUN
    ruled = all(each.rules for each in asked)  # else it can only be allowed once
    return Verdict(
        "ask",
        next((each.reason for each in asked if each.reason), ""),
        new=tuple(new for each in asked for new in each.new),
        rules=tuple(dict.fromkeys(rule for each in asked for rule in each.rules)) if ruled else (),
        protected=any(each.protected for each in asked),
    )


def _change(path: str, rules: Rules) -> Verdict:
    real = rules.resolve(path)
    if real is None:
        return Verdict("ask", new=(path,))
    if (denied := rules.limits("deny", EDIT, path) or rules.limits("deny", READ, path)) is not None:
        return refused_by(denied)
    if rules.mode == PLAN:
        return REFUSED_IN_PLAN
    if (name := rules.protected(rules.start(path), written=True)) is not None:
        reason = f"{name} can make programs run. Changes to it always need approval."
        return Verdict("ask", reason, new=(path,), protected=True)
    if rules.names_option(path):
        return Verdict("ask", LIKE_AN_OPTION, new=(path,))
    if (asked := rules.limits("ask", EDIT, path) or rules.limits("ask", READ, path)) is not None:
        return asked_by(asked, (path,))
    inside = rules.holds(real)
    if rules.about("allow", EDIT, real) is not None or (inside and rules.edits_freely):
        return RUN
    rule = rules.edit_rule(real) if inside else None
    return Verdict("ask", new=(path,), rules=(rule,) if rule is not None else ())


def _read(tool: str, path: str, rules: Rules) -> Verdict:
    by_name = _first_by_effect(rules, lambda rule: rule.tool in LISTING and tool in our_names([rule.tool]))
    if (denied := by_name.get("deny") or rules.limits("deny", READ, path)) is not None:
        return refused_by(denied)
    asked = by_name.get("ask") or rules.limits("ask", READ, path)
    return asked_by(asked, (path,)) if asked is not None else RUN


def _fetch(url: str, rules: Rules) -> Verdict:
    try:
        address = read_address(url)
    except AddressRefused:
        return RUN  # the tool will report what is wrong
    found = _first_by_effect(rules, lambda rule: covers_host(rule, address.host))
    if "deny" in found:
        return refused_by(found["deny"])
    if "ask" in found:
        danger = PRIVATE_ADDRESS if address.is_private else ""
        return asked_by(found["ask"], (address.host,))._replace(danger=danger)
    if address.is_private:
        return _fetch_private(address, rules)
    if "allow" in found:
        return RUN
    return Verdict("ask", new=(address.host,), rules=(host_rule(address.host),))


def _fetch_private(address: PageAddress, rules: Rules) -> Verdict:
    """This machine and private networks need a rule that names the host, not one for all hosts or many."""
    allowed = [each.rule for each in rules.written if each.effect == "allow" and not each.for_turn]
    if any(names_host(rule, address.host) for rule in allowed):
        return RUN
    # Rules cannot express an IPv6 address.
    reason = "" if ":" in address.host else f"To always allow it, add {host_rule(address.host)} with /approvals."
    return Verdict("ask", reason, new=(address.host,), danger=PRIVATE_ADDRESS)


def _search(query: str, rules: Rules) -> Verdict:
    found = _first_by_effect(rules, lambda rule: rule.tool == SEARCH_RULE)
    if "deny" in found:
        return refused_by(found["deny"])
    if "ask" in found:
        return asked_by(found["ask"], (query,))
    return RUN if "allow" in found else Verdict("ask", new=(query,), rules=(Rule(SEARCH_RULE),))


def _named(tool: str, name: str, rules: Rules) -> Verdict:
    """Tools that need no approval, unless a rule about their name, or about the agent or skill they name, says so."""
    found = _first_by_effect(
        rules, lambda rule: rule.tool != BASH and tool in our_names([rule.tool]) and covers_name(rule, name)
    )
    if "deny" in found:
        return refused_by(found["deny"])
    return asked_by(found["ask"], (name or tool,)) if "ask" in found else RUN


def _server_tool(tool: str, rules: Rules, is_read_only: Callable[[str], bool]) -> Verdict:
    found = _first_by_effect(rules, lambda rule: covers_tool(rule, tool))
    if "deny" in found:
        return refused_by(found["deny"])
    if rules.mode == PLAN:
        return _planned(tool, "allow" in found and "ask" not in found, is_read_only(tool))
    if "ask" in found:
        return asked_by(found["ask"], (tool,))
    # A server's own claims about its tools are not trusted, so they need approval.
    return RUN if "allow" in found else Verdict("ask", new=(tool,), rules=(Rule(tool),))


def _planned(tool: str, is_allowed: bool, is_read_only: bool) -> Verdict:
    """The verdict on an MCP tool in plan mode: neither a rule nor the server's own mark is enough."""
    if is_allowed and is_read_only:
        return RUN
    server = mcp_server_and_tool(tool)[0]
    why = f"MCP server {server} does not mark it as read-only" if is_allowed else f"no rule allows {tool}"
    return Verdict("refuse", f"{PLAN_REFUSAL} {MCP_IN_PLAN} Here, {why}.", by="plan mode")


def _first_by_effect(rules: Rules, covers: Callable[[Rule], bool]) -> dict[Effect, RuleInForce]:
    """The first rule of each effect that covers a call."""
    found: dict[Effect, RuleInForce] = {}
    for each in rules.written:
        if covers(each.rule):
            found.setdefault(each.effect, each)
    return found
