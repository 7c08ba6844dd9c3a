"""Rules that cannot be used: what they suspend, and the sentences that name them at each start."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from co_tui.settings.permission_rules import (
    EFFECTS,
    MCP,
    NO_EFFECT,
    OTHER_NAMES,
    RULED_TOOLS,
    Rule,
    RuleInForce,
    read_permissions,
)
from co_tui.settings.rules import quoted

MOST_NAMED: Final = 5
"""For one file."""
UNREADABLE: Final = RuleInForce("deny", Rule("", "rules that cannot be read"))
"""Suspends all allow rules. Where the rules are read, a sentence says what is wrong, and ends in `SUSPENDED`."""
SUSPENDED: Final = "Until you fix it, no allow rule applies."


def usable_rules(rules: Sequence[RuleInForce]) -> list[RuleInForce]:
    """The rules that apply. A deny or ask rule that is not understood suspends the allow rules for its tool; all of
    them if its tool is not known either."""
    suspended = {_tool_in(each.rule.pattern) for each in rules if not each.rule.tool and each.effect != "allow"}
    return [each for each in rules if each.rule.tool and not (each.effect == "allow" and _is_in(each, suspended))]


def readable_rules(table: object) -> tuple[RuleInForce, ...]:
    """The rules in those parts of a refused table that can be read, and `UNREADABLE` for the others."""
    parts = table if isinstance(table, Mapping) else {}
    lists = {effect: texts for effect in EFFECTS if isinstance(texts := parts.get(effect), list | tuple)}
    return (*read_permissions(lists), UNREADABLE)


def _is_in(allowed: RuleInForce, suspended: set[str]) -> bool:
    tool = allowed.rule.tool
    return bool(suspended & {"", MCP if tool.startswith(MCP) else tool})


def _tool_in(text: str) -> str:
    """The tool that a text is about; empty if that cannot be read."""
    text = text.strip()
    if text.startswith(MCP):
        return MCP
    word = found[0] if (found := re.match(r"[A-Za-z]+(?!\w)", text)) else ""
    tool = OTHER_NAMES.get(word, word)
    return tool if tool in RULED_TOOLS | NO_EFFECT else ""


def rule_warnings(rules: Iterable[RuleInForce]) -> list[str]:
    """A sentence for each rule without effect, with its file."""
    by_source: dict[str, list[str]] = {}
    for each in rules:
        if sentence := _warning(each):
            by_source.setdefault(each.source, []).append(sentence)
    return [f"{source}: {sentence}" for source, found in by_source.items() for sentence in _limited(found)]


def _limited(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - MOST_NAMED
    return [*sentences[:MOST_NAMED], *([f"{more:,} more rules without effect."] if more > 0 else [])]


def _warning(each: RuleInForce) -> str:
    rule, text = each.rule, quoted(str(each.rule))
    if rule == UNREADABLE.rule:
        return ""
    if rule.tool:
        return f"{each.effect} {text} has no effect: there is no such tool." if rule.tool in NO_EFFECT else ""
    if each.effect == "allow":
        return f"allow {text} is not a rule. Ignored."
    tool = _tool_in(rule.pattern)
    which = "no allow rule" if not tool else f"no allow rule for {'MCP tools' if tool == MCP else tool}"
    return f"{each.effect} {text} is not a rule. Until you fix it, {which} applies."
