"""How a call ended: as the log records it, else not known."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pydantic_ai.messages import RetryPromptPart, ToolReturnPart

from co_tui.context.journal.command_runs import ANSWERS_WITH_ONE, program_of
from co_tui.context.journal.errors import error_lines, first_line
from co_tui.events import CallOutcome
from co_tui.events.tool_wording import FAILED, INTERRUPTED, TIMED_OUT
from co_tui.shell.programs import Simple

REPLACED: Final = "replaced by a hook"
NOT_ALLOWED: Final = "not allowed"


class Ending(NamedTuple):
    """How a call ended."""

    outcome: str = ""
    """As `Call.outcome` has it: empty if it went well, or if that is not known."""
    error: str = ""
    """The last line of its result that says why it failed."""
    general: str = ""
    """A later line that says that something failed, not what."""
    is_known: bool = False
    never_ran: bool = False

    @property
    def is_good(self) -> bool:
        return self.is_known and not self.outcome

    @property
    def is_failure(self) -> bool:
        return self.outcome.startswith((FAILED, TIMED_OUT))


def ending_of(
    fact: CallOutcome | None, part: ToolReturnPart | RetryPromptPart | None, line: Sequence[Simple] | None, text: str
) -> Ending:
    """How a call ended: by its recorded outcome, else by the kind of its result. What is in the result decides nothing.
    `line` are the programs of a command."""
    ended = fact.ended if fact is not None else _ended(part)
    match ended:
        case "done":
            # A command without an exit code runs on in the background.
            return Ending(is_known=not line or fact is None or fact.exit_code is not None)
        case "failed" if fact is not None and fact.exit_code:
            if fact.exit_code == 1 and line and program_of(line[-1]) in ANSWERS_WITH_ONE:
                return Ending()  # no match, or a difference
            return Ending(f"{FAILED} (exit {fact.exit_code})", *error_lines(text), is_known=True)
        case "failed":
            return Ending(FAILED, first_line(text), is_known=True)
        case "timed out":
            return Ending(TIMED_OUT, *error_lines(text), is_known=True)
        case "stopped":
            return Ending(INTERRUPTED, is_known=True)
        case "refused":
            return Ending(NOT_ALLOWED, is_known=True, never_ran=True)
        case "replaced by a hook":
            return Ending(REPLACED, is_known=True)
    return Ending()


def _ended(part: ToolReturnPart | RetryPromptPart | None) -> str:
    """What the kind of a result says; empty if it says nothing."""
    if isinstance(part, RetryPromptPart):
        return "failed"
    outcome = part.outcome if part is not None else "success"
    return {"success": "", "denied": "refused", "interrupted": "stopped"}.get(outcome, "failed")
