"""What a session asks a person, and the port through which it does; light enough for the first paint.

Dialogs answer it in the app, the command line's options without one.
"""

from typing import Literal, Protocol, TypeAlias

from co_tui.events import Json
from co_tui.record import Record
from co_tui.settings.rules import ASK, PRESENT_PLAN

Scope: TypeAlias = Literal["once", "session", "project"]
"""How long an approval holds: for this call, or its rules for this session or for this project."""


class CompactionQuestion(Record):
    """May an automatic compaction begin?"""

    trigger: str
    messages: int
    share: float
    """How full the context is."""


class SummaryQuestion(Record):
    """Shall this summary take the place of earlier messages, and in which words?"""

    summary: str


class ApprovalQuestion(Record):
    """May a tool be called like this?"""

    tool: str
    arguments: Json
    what: str
    """What it would do, in words or as a diff."""
    where: str = ""
    """Where a command would run: the folder, and whether a sandbox keeps it in."""
    new: tuple[str, ...] = ()
    """The parts of it that are not allowed yet."""
    rules: tuple[str, ...] = ()
    """What an answer may allow for longer; empty when it can only be allowed once."""
    reason: str = ""
    """Why it is asked although a mode or a rule would allow it."""
    danger: str = ""
    """What it destroys or publishes, in a few words."""
    note: str = ""
    """What became of it since it was asked first."""
    agent: str = ""
    number: int = 1
    of: int = 1
    """Its place among those that are asked one after the other."""

    @property
    def is_plan(self) -> bool:
        """Whether it is a plan to accept, not a call to allow."""
        return self.tool == PRESENT_PLAN


class Approval(Record):
    """Whether a call may run, who said so, and how far that reaches."""

    approved: bool
    by: str
    scope: Scope = "once"
    rules: tuple[str, ...] = ()
    """What is allowed from now on, unless it holds only once."""
    mode: str = ""
    """For an accepted plan: the mode in which the work continues."""
    reason: str = ""
    """For a refusal: the model is told."""


class ModelQuestion(Record):
    """Something the model wants to know."""

    question: str
    options: tuple[str, ...] = ()
    """Answers it proposes; any other text is an answer, too."""
    multiple: bool = False
    """Whether several options may be chosen."""
    agent: str = ""


class ModelAnswer(Record):
    """Options or the user's own words; without either, `declined` is true."""

    selected: tuple[str, ...] = ()
    """The options that were chosen; several only where that was asked for."""
    text: str = ""
    """The user's own words."""
    declined: bool = False
    reason: str = ""
    """Why there is no answer."""


class Questions(Protocol):
    """Who answers what a session asks. A question whose asker is cancelled is withdrawn."""

    async def may_compact(self, question: CompactionQuestion) -> bool: ...

    async def review(self, question: SummaryQuestion) -> str | None:
        """The summary as it shall be applied; None not to apply it."""
        ...

    async def approve(self, question: ApprovalQuestion) -> Approval: ...

    async def ask(self, question: ModelQuestion) -> ModelAnswer: ...


NOBODY_THERE = "nobody"
"""Who decided, when there was no one to ask."""
USER = "user"
"""Who decided, when it was the person at the screen."""
READ_ONLY = "Nothing may be changed in this run: it was started with --read-only."
NOBODY = "Nobody can be asked in this run, so it was not allowed. The user can allow it with --yes."
NOBODY_ACCEPTS = "Nobody can accept the plan in this run. Stop here; the plan itself is your answer."
NO_ANSWER = "Nobody can be asked in this run. Make a reasonable choice, and say which one you made."


class Unattended:
    """Nobody is there: what was said beforehand is the answer. Compactions go on as they come."""

    def __init__(self, *, yes: bool = False, read_only: bool = False) -> None:
        self._yes = yes and not read_only
        self._read_only = read_only

    async def may_compact(self, question: CompactionQuestion) -> bool:
        return True

    async def review(self, question: SummaryQuestion) -> str | None:
        return question.summary

    async def approve(self, question: ApprovalQuestion) -> Approval:
        if self._yes:
            # An accepted plan is carried out; whatever it asks for is answered here.
            return Approval(approved=True, by="--yes", mode=ASK if question.is_plan else "")
        if question.is_plan:
            return Approval(approved=False, by=NOBODY_THERE, reason=NOBODY_ACCEPTS)
        if self._read_only:
            return Approval(approved=False, by="--read-only", reason=READ_ONLY)
        return Approval(approved=False, by=NOBODY_THERE, reason=NOBODY)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        return ModelAnswer(declined=True, reason=NO_ANSWER)
