"""What answers allow, read from the log and from files, those of older versions included (E11).

Older versions allowed all calls of a tool, or a pattern with a star for whatever follows. Only what is as narrow as the
rules of today is carried over.
"""

from co_tui.events import ApprovalDecided, ApprovalRevoked
from co_tui.settings.permission_rules import BASH, EDIT, MCP, Rule, parse_rule


def rules_of(tool: str, decided: ApprovalDecided) -> tuple[Rule, ...]:
    """What an answer about a call of a tool allows from now on."""
    if not decided.approved or decided.scope == "once":
        return ()
    if decided.rules:
        return tuple(rule for text in decided.rules if (rule := read_rule(text)) is not None)
    older = converted(tool, decided.pattern)
    return (older,) if older is not None else ()


def rules_revoked(revoked: ApprovalRevoked) -> tuple[Rule, ...]:
    """What an event takes back."""
    found = read_rule(revoked.rule) if revoked.rule else converted(revoked.tool, revoked.pattern)
    return (found,) if found is not None else ()


def read_rule(text: str) -> Rule | None:
    """A rule as kept; None for one that this version does not know."""
    try:
        return parse_rule(text)
    except ValueError:
        return None


def converted(tool: str, pattern: str) -> Rule | None:
    """The rule for what an older version kept of a tool; None when that reaches too far."""
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
    from co_tui.agent.permissions.command_kinds import rule_to_keep  # the first paint reads logs, and few are so old

    kept = rule_to_keep(words)
    return kept if kept == Rule(BASH, f"{' '.join(words)}:*") else None
