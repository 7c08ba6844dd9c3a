"""The questions of a session to the user, and the port that answers them; light enough for the first paint.

In the app dialogs answer, in headless runs the command line options.
"""

from typing import Literal, Protocol, TypeAlias

from co_tui.events import Json
from co_tui.events.facts.agents import UNATTENDED
from co_tui.events.tool_calls import WEB_FETCH
from co_tui.record import Record
from co_tui.settings.rules import ASK, MODES, PRESENT_PLAN

Scope: TypeAlias = Literal["once", "session", "project"]
"""How long an approval holds: for this call, or its rules for this session or for this project."""


class CompactionQuestion(Record):
    """May an automatic compaction begin?"""

    trigger: str
    messages: int
    share: float
    """How full the context is."""


class SummaryQuestion(Record):
    """Should this summary replace earlier messages? The user may edit it."""

    summary: str


class BatchedCall(Record):
    """A call of the same reply that waits behind a question."""

    call_id: str
    tool: str
    arguments: Json
    what: str = ""
    """The change that it would make now, as a diff or in a sentence; empty for other calls."""


class ApprovalQuestion(Record):
    """May a tool be called like this?"""

    tool: str
    arguments: Json
    what: str
    """What it would do, as text or as a diff."""
    where: str = ""
    """Where a command would run: the folder, and whether in a sandbox."""
    new: tuple[str, ...] = ()
    """The parts of it that are not allowed yet."""
    rules: tuple[str, ...] = ()
    """The rules that an answer may allow for longer; empty if it can only be allowed once."""
    reason: str = ""
    """Why it is asked even though a mode or a rule would allow it."""
    danger: str = ""
    """What it destroys or publishes, in a few words."""
    note: str = ""
    """What changed since it was first asked."""
    agent: str = ""
    call_id: str = ""
    number: int = 1
    of: int = 1
    """Its number among the questions asked together."""
    rest: tuple[BatchedCall, ...] = ()
    """The calls behind it that can be allowed with it: none that destroys, publishes, or makes programs run."""
    modes: tuple[str, ...] = MODES
    """Those that the folder allows."""

    @property
    def is_plan(self) -> bool:
        """Whether it is a plan to accept, not a call to allow."""
        return self.tool == PRESENT_PLAN


class Approval(Record):
    """Whether a call may run, who decided, and for how long."""

    approved: bool
    by: str
    scope: Scope = "once"
    rules: tuple[str, ...] = ()
    """The rules allowed from now on, unless the scope is once."""
    mode: str = ""
    """The mode in which the work continues, if the answer changes it."""
    rest: bool = False
    """Whether the rest of the batch is allowed, too, as the question listed it."""
    reason: str = ""
    """For a refusal: passed on to the model."""


class ModelQuestion(Record):
    """Something the model wants to know."""

    question: str
    options: tuple[str, ...] = ()
    """Proposed answers; any other text is valid, too."""
    descriptions: tuple[str, ...] = ()
    """What each option means; empty, or one for each."""
    multiple: bool = False
    """Whether several options may be chosen."""
    agent: str = ""

    def answered(self, text: str) -> "ModelAnswer":
        """The answer that is an option, or the user's own words."""
        is_option = text in self.options
        return ModelAnswer(selected=(text,) if is_option else (), text="" if is_option else text)


class ModelAnswer(Record):
    """Options or the user's own words; without either, `declined` is true."""

    selected: tuple[str, ...] = ()
    """The chosen options; several only if that was allowed."""
    text: str = ""
    """The user's own words."""
    declined: bool = False
    reason: str = ""
    """Why there is no answer."""


class Questions(Protocol):
    """Answers a session's questions. A question is withdrawn if its asker is cancelled."""

    async def may_compact(self, question: CompactionQuestion) -> bool: ...

    async def review(self, question: SummaryQuestion) -> str | None:
        """The summary to apply; None to apply none."""
        ...

    async def approve(self, question: ApprovalQuestion) -> Approval: ...

    async def ask(self, question: ModelQuestion) -> ModelAnswer: ...


ASKED_AGAIN = "Allowed on another machine, in another folder or in an earlier version, so it asks once more: {}."
USER = "user"
"""Who decided if it was the user."""
BY_SCRIPT = "script"
"""Who decided if it was a script."""
READ_ONLY = "This run is read-only (--read-only)."
NOT_APPROVED = "No one can approve this in this run. The user can allow it with --yes."
PLAN_NOT_ACCEPTED = "No one can accept the plan in this run. Stop here; the plan itself is your answer."
PRIVATE_PAGE = "The address is on this machine or a private network, which --yes does not allow."
NO_ANSWER = "No one can be asked in this run. Make a reasonable choice, and say which one you made."


class Unattended:
    """Answers without a user, by the command line options. Compactions are always allowed."""

    def __init__(self, *, yes: bool = False, read_only: bool = False) -> None:
        self._yes = yes and not read_only
        self._read_only = read_only
        self.unanswered = 0
        """How many calls were denied because no one could answer."""

    async def may_compact(self, question: CompactionQuestion) -> bool:
        return True

    async def review(self, question: SummaryQuestion) -> str | None:
        return question.summary

    async def approve(self, question: ApprovalQuestion) -> Approval:
        if self._yes and question.tool == WEB_FETCH and question.danger:
            return self._unanswered(f"{PRIVATE_PAGE} {question.reason}".strip())
        if self._yes:
            # An accepted plan is carried out; its calls are answered here.
            return Approval(approved=True, by="--yes", mode=ASK if question.is_plan else "")
        if question.is_plan:
            return Approval(approved=False, by=UNATTENDED, reason=PLAN_NOT_ACCEPTED)
        if self._read_only:
            return Approval(approved=False, by="--read-only", reason=READ_ONLY)
        return self._unanswered(NOT_APPROVED)

    def _unanswered(self, reason: str) -> Approval:
        self.unanswered += 1
        return Approval(approved=False, by=UNATTENDED, reason=reason)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        return ModelAnswer(declined=True, reason=NO_ANSWER)
