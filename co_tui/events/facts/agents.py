"""Approvals, delegations and plans."""

from typing import Final, Literal

from co_tui.events.facts.base import NOTHING, Json, Logged
from co_tui.events.symbols import EntryKind, EntryStyle, EntryWeight
from co_tui.events.tool_calls import gist_of_call, request_label
from co_tui.events.tool_wording import plan_lines
from co_tui.events.wording import ExportEntry, counted, long, short
from co_tui.inert import one_line

UNATTENDED: Final = "nobody"
"""Stored as who decided when there was no one to ask."""


class ApprovalRequested(Logged):
    """A tool call waits for approval; it is pending until `ApprovalDecided`."""

    TYPE = "approval.requested"
    ENTRY = EntryStyle("◔", EntryKind.APPROVAL, EntryWeight.NOTABLE, is_quiet=True)
    call_id: str
    tool: str
    arguments: Json = NOTHING
    what: str = ""
    """What it would do, in words or as a diff."""
    agent: str = ""
    turn: int = 0
    hook: Literal["", "ask", "deny"] = ""
    """What a hook decided about it, whatever rules and mode allow."""
    hook_reason: str = ""
    is_changed: bool = False
    """Whether a hook changed the arguments: these are not the model's."""
    danger: str = ""
    """What it destroys or publishes, in a few words."""
    mark: str = ""
    """See `MARK`."""

    def timeline_text(self) -> str:
        return f"{request_label(self.tool)}\n{self.about()}"

    def about(self) -> str:
        """The call in a line, and its dangers in another."""
        gist = gist_of_call(self.tool, self.arguments) or self.what  # a diff says little in one line
        return "\n".join(filter(None, (short(gist), long(self.danger))))

    def export_entry(self) -> None:
        """The decision is exported."""


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
    folder: str = ""
    """Where these hold; empty for older ones: in the folder that the session worked in then."""
    pattern: str = ""
    """Written by older versions instead of rules."""
    mode: str = ""
    """For an accepted plan: the mode in which the work continues."""
    reason: str = ""
    agent: str = ""
    """Whose call it is: two agents may use the same id."""
    mark: str = ""
    """See `MARK`."""

    def entry(self) -> EntryStyle:
        return EntryStyle("✓" if self.approved else "✗", EntryKind.APPROVAL, is_quiet=True)

    def timeline_text(self) -> str:
        by = f"by {one_line(self.by, 20)}" if self.by not in ("", UNATTENDED) else ""
        if not self.approved:
            return f"denied\n{short(self.reason) or by or 'no one to ask'}"
        if self.mode:
            return "plan accepted"
        return f"allowed\n{', '.join(filter(None, (self._span(), by)))}"

    def _span(self) -> str:
        allowed = one_line(", ".join(map(_shown, self.rules)) or self.pattern, 40)
        if self.scope == "session":
            return f"this session: {allowed}"
        return f"always: {allowed}" if self.scope in ("project", "pattern") else "once"

    def export_entry(self) -> ExportEntry:
        by = f" by {long(self.by)}" if self.by not in ("", UNATTENDED) else ""
        return ExportEntry(f"Allowed{by}") if self.approved else ExportEntry(f"Denied{by}", self.reason)


DELEGATION_SEPARATOR: Final = "/"
"""Separates the name of a delegation from that of its parent, which comes first."""


def _shown(rule: str) -> str:
    """A rule that an answer kept, without the notation of written rules."""
    return rule.removeprefix("Bash(")[:-1] if rule.endswith(", harmless options)") else rule


class ApprovalRevoked(Logged):
    """A permission rule was withdrawn; calls it allowed need approval again."""

    TYPE = "approval.revoked"
    ENTRY = EntryStyle("↶", EntryKind.APPROVAL, is_quiet=True)
    rule: str = ""
    tool: str = ""
    """Written by older versions instead of a rule, together with `pattern`."""
    pattern: str = ""

    def timeline_text(self) -> str:
        return f"revoked\n{short(_shown(self.rule) or f'{self.tool} {self.pattern}')}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry("An always-allow rule was revoked")


class DelegationStart(Logged):
    """An agent started a subtask; `agent` identifies this delegation, `name` is the agent's name."""

    TYPE = "delegation.start"
    ENTRY = EntryStyle("↳", EntryKind.WORK, is_quiet=True)
    agent: str
    name: str = ""
    task: str = ""
    call_id: str = ""
    context: str = "conversation"
    """`conversation` if it sees the top-level conversation, as all did in older versions; `fresh` if it sees only its
    task and files."""
    files: tuple[str, ...] = ()
    """Files named with the task."""
    results: bool = False
    """Whether its tool results come with its report."""

    @property
    def given(self) -> str:
        """What it gets with its task, in a few words."""
        return f"{self.context}, {counted(len(self.files), 'file')}" if self.files else self.context

    def timeline_text(self) -> str:
        return f"delegated to {one_line(self.name or self.agent, 40)} ({self.given})\n{short(self.task)}"

    def export_entry(self) -> ExportEntry:
        files = f"\n\nFiles: {', '.join(self.files)}" if self.files else ""
        return ExportEntry(f"Delegated to {long(self.name or self.agent)} ({self.given})", f"{self.task}{files}")


class DelegationEnd(Logged):
    TYPE = "delegation.end"
    agent: str
    outcome: str = ""
    error: str = ""
    """Why it failed; empty on success."""
    usage: Json = NOTHING
    cost: float | None = None
    """The sum over its requests, each of which was already counted when it was answered."""

    def entry(self) -> EntryStyle:
        if self.error:
            return EntryStyle("✗", EntryKind.TROUBLE, EntryWeight.BAD)
        return EntryStyle("↲", EntryKind.WORK, is_quiet=True)

    def timeline_text(self) -> str:
        return f"{one_line(self.agent, 40)} ended\n{short(self.error or self.outcome)}"

    def export_entry(self) -> ExportEntry:
        ended = f"{long(self.agent)} ended: {long(self.outcome or 'done')}"
        return ExportEntry(f"{ended}, {short(self.error)}" if self.error else ended, self.error)


MAIN_AGENT: Final = "main"
"""Names the session's own agent where agents of files are named."""


class AgentTransfer(Logged):
    """The conversation was handed to another agent, or back to the main one."""

    TYPE = "agent.transfer"
    ENTRY = EntryStyle("⇄", EntryKind.CHANGE)
    from_: str
    to: str
    """Empty in the log of another user: it does not count here."""
    by: str = ""
    """Who did it: `user`, `model`, or `co-tui` if the agent could not continue."""
    note: str = ""
    """What the agent that hands over says to the next one."""

    def timeline_text(self) -> str:
        return f"agent → {one_line(self.to or MAIN_AGENT, 40)}\n{short(self.note)}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Handed to the agent {long(self.to or MAIN_AGENT)}", self.note)


class PlanChanged(Logged):
    TYPE = "plan.changed"
    ENTRY = EntryStyle("☑", EntryKind.WORK, is_quiet=True)
    steps: tuple[Json, ...]
    """All steps in order, each with its `text` and its `state`."""

    @property
    def _done(self) -> int:
        return sum(step.get("state") in ("done", "completed") for step in self.steps)

    def timeline_text(self) -> str:
        return f"plan changed\n{self._done} of {counted(len(self.steps), 'step')} done"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Plan · {self._done} of {len(self.steps)}", plan_lines(self.steps))
