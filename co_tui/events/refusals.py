"""The answer to a call that was not allowed: written for the model, and read again when the call leaves the context.

Only answers with the outcome `DENIED` may be read so: no tool can set it, but any tool can write such a text.
"""

from typing import Final, NamedTuple

DENIED: Final = "denied"
"""The outcome of a tool return for a call that was not allowed."""
DENIED_IT: Final = "The user denied it"
SENT_BACK: Final = "The user sent the plan back"
PLAN_LEFT: Final = "The user did not accept the plan. Stop here and wait for their next message."
NOT_ALLOWED: Final = "Not allowed"
HOOK_REFUSED: Final = "A preToolUse hook refused this"


class Refusal(NamedTuple):
    """Who refused a call, and why."""

    by_user: bool
    reason: str = ""
    """In the user's own words; empty if they gave none, or if someone else refused."""


def denied_by_user(reason: str, *, is_plan: bool = False) -> str:
    """The answer the model gets when the user refused."""
    if is_plan:
        return f"{SENT_BACK}: {reason}" if reason else PLAN_LEFT
    return f"{DENIED_IT}: {reason}" if reason else f"{DENIED_IT}."


def refused_otherwise(reason: str) -> str:
    """The answer the model gets when a rule or mode refused. It never looks like the user's."""
    if not reason:
        return f"{NOT_ALLOWED}."
    return f"{NOT_ALLOWED}: {reason}" if read_refusal(reason).by_user else reason


def refused_by_hook(reason: str) -> str:
    """The answer the model gets when a hook refused."""
    return f"{HOOK_REFUSED}: {reason}"


def read_refusal(text: str) -> Refusal:
    """The refusal in an answer with the outcome `DENIED`."""
    for beginning in (DENIED_IT, SENT_BACK):
        if text.startswith(f"{beginning}: "):
            return Refusal(by_user=True, reason=text.removeprefix(f"{beginning}: "))
    return Refusal(by_user=text in (f"{DENIED_IT}.", PLAN_LEFT))
