"""Which calls an earlier answer allows: rules as data, and how a call is held against them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from co_tui.events import ApprovalDecided

_STEERS = r";&|<>$`(){}\\\n\r"
"""Signs by which one command line becomes another: a pattern's star never stands for them."""


class AllowedCalls(NamedTuple):
    """Calls that need not be asked about again in this session."""

    tool: str
    pattern: str = ""
    """What the call is about, with `*` for any part of it; empty for every call of the tool."""


def rule_from(tool: str, decided: ApprovalDecided) -> AllowedCalls | None:
    """What an answer allows beyond the call it was about."""
    if not decided.approved:
        return None
    if decided.scope == "pattern" and decided.pattern:
        return AllowedCalls(tool, decided.pattern)
    return AllowedCalls(tool) if decided.scope == "session" else None


def is_allowed(rules: Iterable[AllowedCalls], tool: str, arguments: Mapping[str, Any]) -> bool:
    return any(
        rule.tool == tool and (not rule.pattern or _matches(rule.pattern, subject_of(arguments))) for rule in rules
    )


def subject_of(arguments: Mapping[str, Any]) -> str:
    """What a call is about: the first text among its arguments, a path or a command."""
    return next((value for value in arguments.values() if isinstance(value, str)), "")


def pattern_for(arguments: Mapping[str, Any]) -> str:
    """A pattern for calls like this one: the same program, or the same folder; empty when none would be narrower."""
    subject = subject_of(arguments).strip()
    if not subject or re.search(f"[{_STEERS}]", subject):
        return ""
    program, space, _ = subject.partition(" ")
    if space:
        return f"{program} *"
    folder, slash, _ = subject.rpartition("/")
    return f"{folder}/*" if slash and folder else subject


def _matches(pattern: str, subject: str) -> bool:
    if ".." in re.split(r"[/\s]", subject):
        return False  # a way out of the folder that the pattern names
    shape = f"[^{_STEERS}]*".join(re.escape(piece) for piece in pattern.split("*"))
    return re.fullmatch(shape, subject) is not None
