"""Approvals, delegations and plans."""

from typing import Final, Literal

from co_tui.events.facts.base import NOTHING, Json, Logged


class ApprovalRequested(Logged):
    """A tool call waits for approval; it is pending until `ApprovalDecided`."""

    TYPE = "approval.requested"
    call_id: str
    tool: str
    arguments: Json = NOTHING
    what: str = ""
    """What it would do, in words or as a diff."""
    agent: str = ""
    turn: int = 0


class ApprovalDecided(Logged):
    """Whether the call may run, and which rules the decision adds."""

    TYPE = "approval.decided"
    call_id: str
    approved: bool
    by: str = ""
    """Who decided: the user, a command-line option or an earlier answer; empty if no one did."""
    scope: Literal["once", "session", "project", "pattern"] = "once"
    """How long the answer applies. Older versions wrote `pattern` for `project`."""
    rules: tuple[str, ...] = ()
    """The permission rules it adds."""
    pattern: str = ""
    """Written by older versions instead of rules."""
    mode: str = ""
    """For an accepted plan: the mode in which the work continues."""
    reason: str = ""
    agent: str = ""
    """Whose call it is: two agents may use the same id."""


DELEGATION_SEPARATOR: Final = "/"
"""Separates the name of a delegation from that of its parent, which comes first."""


class ApprovalRevoked(Logged):
    """A permission rule was withdrawn; calls it allowed need approval again."""

    TYPE = "approval.revoked"
    rule: str = ""
    tool: str = ""
    """Written by older versions instead of a rule, together with `pattern`."""
    pattern: str = ""


class DelegationStart(Logged):
    """An agent started a subtask; `agent` identifies this delegation, `name` is the agent's name."""

    TYPE = "delegation.start"
    agent: str
    name: str = ""
    task: str = ""
    call_id: str = ""


class DelegationEnd(Logged):
    TYPE = "delegation.end"
    agent: str
    outcome: str = ""
    error: str = ""
    """Why it failed; empty on success."""
    usage: Json = NOTHING
    cost: float | None = None
    """The sum over its requests, each of which was already counted when it was answered."""


class PlanChanged(Logged):
    TYPE = "plan.changed"
    steps: tuple[Json, ...]
    """All steps in order, each with its `text` and its `state`."""
