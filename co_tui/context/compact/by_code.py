"""Let a policy written in Python decide what to compact, and make a safe plan of its answer (G11)."""

from collections.abc import Mapping
from typing import Any, Final

from co_tui.context.indexed_history import REPLACEMENT, Cut
from co_tui.context.policy_protocol import PolicyContext, PolicyMessages
from co_tui.events.triggers import Trigger
from co_tui.settings import SettingsError
from co_tui.settings.policies.policy_code import PolicyCode
from co_tui.settings.rules import quoted

KEYS: Final = ("summarise", "drop", "keep", "wait", "focus")
FOCUS_CHARS: Final = 2_000


class PolicyFailed(Exception):
    """A policy raised, or returned what cannot be used: a sentence that names its file and the problem."""


class Decision:
    """A policy's answer, checked."""

    def __init__(self, answer: Mapping[str, Any], count: int) -> None:
        """Raises ValueError, TypeError or OverflowError."""
        if unknown := [key for key in answer if key not in KEYS]:
            raise ValueError(f"{quoted(unknown[0])} is none of {', '.join(KEYS)}")
        if "keep" in answer and ("summarise" in answer or "drop" in answer):
            raise ValueError("`keep` goes without `summarise` and `drop`")
        self.dropped = _indexes(answer.get("drop", ()), count)
        gone = _indexes(answer.get("summarise", ()), count) | self.dropped
        self.replaced = set(range(count)) - _indexes(answer["keep"], count) if "keep" in answer else gone
        self.waits = bool(answer.get("wait", True))
        self.focus = str(answer.get("focus", "") or "")[:FOCUS_CHARS]


def _indexes(given: Any, count: int) -> set[int]:
    found = set(given)
    for index in found:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
            raise ValueError(f"{quoted(index)} is not an index of {count:,} messages")
    return found


_first_failures: dict[PolicyCode, str] = {}


def first_failure(code: PolicyCode) -> str:
    """The first failure of a policy in this process, for commands without a session to report it in; or empty."""
    return _first_failures.get(code, "")


def ask(code: PolicyCode, context: PolicyContext) -> tuple[Decision, Cut] | None:
    """What the policy decides; None if nothing is to be done. Raises `PolicyFailed`."""
    try:
        decision = _decision(code, context)
    except PolicyFailed as failed:
        _first_failures.setdefault(code, str(failed))
        raise
    cut = _cut(context.messages, decision) if decision is not None else None
    return (decision, cut) if decision is not None and cut is not None else None


def _decision(code: PolicyCode, context: PolicyContext) -> Decision | None:
    try:
        answer = code.function()(context)
    except SettingsError as error:
        raise PolicyFailed(str(error)) from None
    except (Exception, SystemExit) as error:
        raise PolicyFailed(f"The policy {code.name} failed: {code.failure(error)}.") from None
    if answer is None:
        return None
    try:
        if not isinstance(answer, Mapping):
            raise ValueError(f"{type(answer).__name__} is neither None nor a dict")
        return Decision(answer, len(context.messages))
    except (Exception, SystemExit) as error:  # also those of its own sequences
        raise PolicyFailed(f"The policy {code.name} returned nonsense: {str(error).rstrip('.')}.") from None


def _cut(messages: PolicyMessages, decision: Decision) -> Cut | None:
    """The messages that may go: no system, pinned or unseen ones, and no half of a call and its results."""
    history = messages.history
    kept = {*history.kept_by_rule(messages.pinned), *range(history.unseen_start(), len(history))}
    kept = history.steps_around(kept | set(range(len(history))) - decision.replaced)
    replaced = tuple(sorted(decision.replaced - kept))
    if all(history.kinds[index] & REPLACEMENT for index in replaced):
        return None  # a summary alone is not summarised again
    trigger = Trigger.BLOCKING if decision.waits else Trigger.BACKGROUND
    return Cut(replaced, trigger, frozenset(decision.dropped) & frozenset(replaced))
