"""`co-tui run`: one prompt, answered without a screen."""

import sys
from collections.abc import Iterator, Mapping, Sequence

from co_tui.agent.models.catalogue import EMBEDDED, EMBEDDED_LABEL, choose
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    CompactionComplete,
    Event,
    Json,
    Message,
    PlanChanged,
    SessionError,
    SessionInterrupted,
    StreamDelta,
    StreamReset,
    ToolActivity,
)
from co_tui.events.facts.agents import UNATTENDED
from co_tui.headless.open_session import SessionOpening, in_session
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, CommandContext, say
from co_tui.headless.printing import PrintedPiece, as_json, note
from co_tui.inert import inert, one_line
from co_tui.session.approvals.questions import Unattended
from co_tui.session.attachments import AttachmentRefused
from co_tui.session.file_references import NamedFile
from co_tui.session.session import Session
from co_tui.session.tool_wording import GIST_CHARS, call_summary, gist_of_call, plan_progress, result_summary
from co_tui.session.turns.turn import Outcome
from co_tui.settings.rules import PRESENT_PLAN

SETTLE_S = 30.0
"""How long to wait for a background compaction."""
CONTINUES = "`co-tui run --continue -p PROMPT` continues."
_EXIT_CODES = {Outcome.DONE: DONE, Outcome.FAILED: FAILED, Outcome.INTERRUPTED: INTERRUPTED}


def run(
    opening: SessionOpening,
    prompt: str,
    *,
    json: bool,
    yes: bool = False,
    read_only: bool = False,
    files: Sequence[NamedFile] = (),
) -> int:
    """Returns the exit code; failures are one sentence on standard error."""

    async def work(session: Session) -> int:
        if session.mode_refused:
            say(session.mode_refused)
            return FAILED
        if dropped := session.approvals.drop_too_broad():
            say(f"These approvals were too broad and are asked again: {one_line(', '.join(dropped), 200)}")
        try:
            outcome = await session.submit(prompt, files=files)
        except AttachmentRefused as refused:
            say(str(refused))
            return FAILED
        await session.settle(SETTLE_S)
        return _EXIT_CODES[outcome]

    questions = Unattended(yes=yes, read_only=read_only)
    opening = opening._replace(questions=questions, works_in_folder=True, read_only=read_only)
    if not opening.session_id:
        opening = opening._replace(model=_chosen(opening.context, opening.environ))
    return in_session(opening, work, as_json if json else ProsePrinter().show, "run")


def _chosen(context: CommandContext, environ: Mapping[str, str]) -> str:
    """The model of a new session; reports the embedded one if it was not chosen."""
    settings = context.loaded.settings
    choice = choose(settings.model, context.loaded.origins["model"].source, environ, settings.base_url)
    if choice.model == EMBEDDED and not settings.model and sys.stderr.isatty():
        say(f"Embedded model {EMBEDDED_LABEL} (offline, small). --model chooses another.")
    return choice.model


def _plan(arguments: Json) -> str:
    """A plan that the model presents, as Markdown."""
    steps = arguments.get("steps")
    listed = [f"{n}. {step}" for n, step in enumerate(steps if isinstance(steps, list) else [], 1)]
    return "\n".join(["Plan", *filter(None, [str(arguments.get("summary") or "")]), *listed, ""])


class ProsePrinter:
    """The reply as text on standard output; what happens around it on standard error."""

    def __init__(self) -> None:
        self._line_open = False
        self._calls: dict[tuple[str, str], str] = {}
        """The arguments of calls that have not ended yet, by agent and call."""
        self._asked: dict[tuple[str, str], ApprovalRequested] = {}

    def show(self, event: Event) -> Sequence[PrintedPiece]:
        return list(self._pieces(event))

    def _pieces(self, event: Event) -> Iterator[PrintedPiece]:
        match event.fact:
            case StreamDelta(agent=agent) if agent:
                pass  # what a delegate says is for the agent that asked it
            case StreamDelta(kind="text", text=text):
                self._line_open = not text.endswith("\n")
                yield PrintedPiece(inert(text))
            case ToolActivity(stage="started", tool_call_id=call_id, text=text, agent=agent):
                self._calls[agent, call_id] = text
            case ToolActivity(tool_name="write_plan", stage="finished"):
                pass  # the plan itself is printed
            case ToolActivity() as ended:
                yield from self._end_line()
                yield note(self._told(ended))
            case ApprovalRequested(tool=tool, arguments=arguments) as asked if tool == PRESENT_PLAN:
                yield from self._end_line()
                yield PrintedPiece(inert(_plan(arguments)))
            case ApprovalRequested() as asked:
                self._asked[asked.agent, asked.call_id] = asked
            case ApprovalDecided(approved=False) as decided:
                yield from self._end_line()
                yield note(self._denied(decided))
            case PlanChanged(steps=steps):
                yield from self._end_line()
                yield note(f"plan {one_line(plan_progress(steps), GIST_CHARS)}")
            case SessionError(kind="repeated_call", what=what, agent=""):
                yield from self._end_line()
                yield note(f"{what} {CONTINUES}")
            case SessionError(what=what, outcome=outcome, agent=agent):
                yield from self._end_line()
                yield note(f"{agent}: {what} ({outcome})" if agent else f"{what} ({outcome})")
            case CompactionComplete() as done:
                yield from self._end_line()
                yield note(done.outcome_sentence())
            case StreamReset() | Message() | SessionInterrupted():
                yield from self._end_line()
            case _:
                pass

    def _denied(self, decided: ApprovalDecided) -> str:
        """What was not allowed, and what would allow it."""
        asked = self._asked.pop((decided.agent, decided.call_id), None)
        if asked is None:
            return "Plan not accepted."
        about = gist_of_call(asked.tool, asked.arguments) or one_line(asked.what, GIST_CHARS)
        why = "needs approval; use --yes" if decided.by == UNATTENDED else decided.reason
        return f"Denied: {one_line(asked.tool, 40)} {about} ({why.removesuffix('.')})"

    def _told(self, ended: ToolActivity) -> str:
        """A call and how it ended, in one line."""
        tool, arguments = ended.tool_name, self._calls.pop((ended.agent, ended.tool_call_id), "")
        status = result_summary(tool, arguments, ended.text, ended.stage)
        call = f"{one_line(tool, 40)} {call_summary(tool, arguments)}".rstrip()
        who = f"{one_line(ended.agent, 60)}: " if ended.agent else ""
        return f"{who}{call} · {status}" if status else who + call

    def _end_line(self) -> Iterator[PrintedPiece]:
        if self._line_open:
            self._line_open = False
            yield PrintedPiece("\n")
