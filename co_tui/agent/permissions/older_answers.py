"""Read the rules in stored approvals, including those of older versions (E11).

Older versions allowed all calls of a tool, or a pattern with a star at its end. Only approvals as narrow as today's
rules are converted.
"""

import shlex

from co_tui.events import ApprovalDecided, ApprovalRevoked
from co_tui.settings.permission_rules import BASH, EDIT, MCP, Rule, kept_rule, parse_rule, prefix_of


def rules_of(tool: str, decided: ApprovalDecided) -> tuple[Rule, ...]:
    """The rules that an answer about a call adds."""
    if not decided.approved or decided.scope == "once":
        return ()
    if decided.rules:
        return tuple(rule for text in decided.rules if (rule := read_rule(text)) is not None)
    older = converted(tool, decided.pattern)
    return (older,) if older is not None else ()


def rules_revoked(revoked: ApprovalRevoked) -> tuple[Rule, ...]:
    """The rules that a revocation removes."""
    found = read_rule(revoked.rule) if revoked.rule else converted(revoked.tool, revoked.pattern)
    return (found,) if found is not None else ()


def read_rule(text: str) -> Rule | None:
    """Parse a stored rule; None for one this version does not know. A prefix, as older versions kept it, is read as
    today's rule: only harmless options."""
    try:
        rule = parse_rule(text)
    except ValueError:
        return None
    prefix = prefix_of(rule) if rule.tool == BASH else None
    return kept_rule(shlex.join(prefix)) if prefix else rule


def converted(tool: str, pattern: str) -> Rule | None:
    """The rule for an older version's approval; None when that allows too much."""
    if not pattern:
        return None
    if tool.startswith(MCP):
        return read_rule(tool)
    if tool in ("write_file", "edit_file", "create_directory"):
        folder = pattern.removesuffix("/*")
        return Rule(EDIT, pattern) if "*" not in pattern else Rule(EDIT, f"{folder}/**") if "*" not in folder else None
    words = pattern.removesuffix(" *").split()
    if "*" in "".join(words) or tool not in ("run_command", "start_command"):
        return None
    if not pattern.endswith(" *"):
        return Rule(BASH, pattern)
    from co_tui.agent.permissions.command_kinds import kept_use  # keeps the first paint fast: few logs are that old

    return kept_rule(shlex.join(words)) if kept_use(words) is not None else None
