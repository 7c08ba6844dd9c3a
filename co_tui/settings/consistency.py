"""Settings together: which are combined, which contradict each other, and which the current policy ignores."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from co_tui.settings.all_settings import Settings
from co_tui.settings.hook_entries import joined
from co_tui.settings.permission_rules import (
    EFFECTS,
    LISTING,
    MCP,
    NO_EFFECT,
    OTHER_NAMES,
    READ,
    RULED_TOOLS,
    Rule,
    RuleInForce,
    read_permissions,
)
from co_tui.settings.rules import NamesOnly, in_window, quoted, windows_of

TABLES: Final = ("mcp_servers", "after_edit")
"""Tables whose entries from several layers are combined."""
MOST_NAMED: Final = 5
"""For one file."""
UNREADABLE: Final = RuleInForce("deny", Rule("", "rules that cannot be read"))
"""Suspends all allow rules. Where the rules are read, a sentence says what is wrong, and ends in `SUSPENDED`."""
SUSPENDED: Final = "Until you fix it, no allow rule applies."

_OF_COMPACTION: Final[Mapping[str, tuple[str, ...]]] = {
    "window": ("max_history_messages",),
    "background": ("background_compaction_threshold", "buffer_exhaustion_threshold"),
    "turns": ("agent_max_context_tokens", "agent_max_context_turns", "few_turns"),
    "compress": ("compression_threshold", "run_compression_low", "run_compression_high"),
}
"""Settings that only one kind of compaction reads."""
_BY_WINDOW: Final = (
    "background_compaction_threshold",
    "buffer_exhaustion_threshold",
    "keep_recent_share",
    "summary_share",
)
ANY_WINDOW_TOKENS: Final = 128_000
_OF_ANY_COMPACTION: Final = ("min_compaction_messages", "compaction_asks", "compaction_waits", "summarization_model")


def contradictions(settings: Settings) -> list[str]:
    """The contradictions, each a sentence that names both values."""
    windows = windows_of(getattr(settings, name) for name in _BY_WINDOW) or [ANY_WINDOW_TOKENS]
    return list(dict.fromkeys(sentence for window in windows for sentence in _contradictions_in(settings, window)))


def _contradictions_in(settings: Settings, window_tokens: int) -> Iterator[str]:
    def value(name: str) -> float:
        return in_window(getattr(settings, name), window_tokens)

    for low, high in (
        ("background_compaction_threshold", "buffer_exhaustion_threshold"),
        ("run_compression_low", "run_compression_high"),
    ):
        if value(low) > value(high):
            yield (f"{low} = {value(low):g} must not be above {high} = {value(high):g}.")
    if settings.compaction == "python" and settings.policy_code is None:
        yield f"compaction = python needs a policy written in Python; {settings.policy} is not."
    waits = value("buffer_exhaustion_threshold")
    if settings.compaction == "background" and value("keep_recent_share") + value("summary_share") >= waits:
        yield (
            f"keep_recent_share = {value('keep_recent_share'):g} and summary_share = {value('summary_share'):g} "
            f"must fit below buffer_exhaustion_threshold = {waits:g}."
        )


def with_source(key: str, value: object, source: str) -> object:
    """The value; permission rules and hooks get their source, since those of several files are combined."""
    if key == "hooks" and isinstance(value, Mapping):
        return {event: tuple(each._replace(source=source) for each in entries) for event, entries in value.items()}
    if key != "permissions":
        return value
    assert isinstance(value, tuple)
    return tuple(each._replace(source=source) for each in value)


def combined(key: str, stronger: object, weaker: object) -> object | None:
    """The values of two layers together: of MCP servers, checks, variables, permission rules, hooks and folders; None
    where the stronger one counts alone."""
    if key in ("permissions", "add_dirs") and isinstance(stronger, tuple) and isinstance(weaker, tuple):
        return (*stronger, *weaker)
    if not isinstance(stronger, Mapping) or not isinstance(weaker, Mapping):
        return None
    if key == "hooks":
        return joined(stronger, weaker)
    both = {**weaker, **stronger}
    return NamesOnly(both) if key == "env" else both if key in TABLES else None


def unused(settings: Settings) -> Mapping[str, str]:
    """Settings that currently have no effect, each with the reason."""
    why = f"unused by policy {settings.policy} (compaction = {settings.compaction})"
    found = {key: why for kind, keys in _OF_COMPACTION.items() if kind != settings.compaction for key in keys}
    if settings.compaction == "none":
        found |= dict.fromkeys(_OF_ANY_COMPACTION, why)
    if settings.summary_fallback != "limits":
        found |= dict.fromkeys(("fallback_messages", "fallback_tokens"), "unused unless summary_fallback is limits")
    if not settings.clear_results_tokens:
        why_not = "unused while clear_results_tokens is 0"
        found |= dict.fromkeys(("clear_results_step_tokens", "cleared_result_chars"), why_not)
    if settings.truncation == "off":
        found |= dict.fromkeys(("truncation_headroom", "truncator"), "unused while truncation is off")
    if settings.model and not settings.model.startswith("openai-chat:"):
        found["base_url"] = "unused: the model is not an openai-chat: one"
    return found


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
    tool = READ if word in LISTING else OTHER_NAMES.get(word, word)
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
