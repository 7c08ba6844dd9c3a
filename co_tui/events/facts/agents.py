"""What agents may do, whom they ask to do it, and what they plan."""

from typing import Final, Literal

from co_tui.events.facts.base import NOTHING, Json, Logged


class ApprovalRequested(Logged):
    """A tool call waits until somebody allows it. It is pending until it is decided."""

    TYPE = "approval.requested"
    call_id: str
    tool: str
    arguments: Json = NOTHING
    what: str = ""
    """What it would do, in words or as a diff."""
    agent: str = ""
    turn: int = 0


class ApprovalDecided(Logged):
    """Whether the call may run, and what else that allows."""

    TYPE = "approval.decided"
    call_id: str
    approved: bool
    by: str = ""
    """Who said so: the user, an option of the command line, an earlier answer, or nobody."""
    scope: Literal["once", "session", "project", "pattern"] = "once"
    """How long the answer holds. `pattern` is what older versions wrote for `project`."""
    rules: tuple[str, ...] = ()
    """What it allows from now on, as permission rules."""
    pattern: str = ""
    """What older versions wrote in place of rules."""
    mode: str = ""
    """For an accepted plan: the mode in which the work continues."""
    reason: str = ""
    agent: str = ""
    """Whose call it is: two agents may use the same id."""


PATH_SIGN: Final = "/"
"""In the name of a delegation: before it stands the delegation that asked for this one."""


class ApprovalRevoked(Logged):
    """What was allowed beyond one call is asked about again."""

    TYPE = "approval.revoked"
    rule: str = ""
    tool: str = ""
    """What older versions wrote in place of a rule, with its pattern."""
    pattern: str = ""


class DelegationStart(Logged):
    """An agent was asked to do a part of the work; `agent` names this delegation, `name` who was asked."""

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
    """Of all its requests together; each of them was counted when it was answered."""


class PlanChanged(Logged):
    TYPE = "plan.changed"
    steps: tuple[Json, ...]
    """All steps in order, each with its `text` and its `state`."""
