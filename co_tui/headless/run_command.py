"""`co-tui run`: prompts, answered without a screen."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from co_tui.actions import SlashCommand
from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.models.catalogue import EMBEDDED, EMBEDDED_LABEL, choose
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    BackgroundNews,
    CompactionComplete,
    Event,
    Fact,
    HookRun,
    Json,
    Message,
    PlanChanged,
    SessionError,
    SessionInterrupted,
    StreamDelta,
    StreamReset,
    ToolActivity,
)
from co_tui.events.facts.agents import MAIN_AGENT, UNATTENDED
from co_tui.events.tool_calls import GIST_CHARS, gist_of_call, tool_label
from co_tui.events.tool_wording import call_summary, plan_progress, result_summary
from co_tui.events.wording import counted
from co_tui.headless.open_session import SessionOpening, in_session, launch_of
from co_tui.headless.output import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG_USAGE,
    CommandContext,
    OutputLost,
    discard,
    put,
    put_last_json,
    say,
)
from co_tui.headless.printing import Output, PrintedPiece, Show, as_json, note
from co_tui.headless.scripting.control import Control
from co_tui.headless.scripting.prompt_lines import FORM, BadLine, GivenPrompt, PromptLines
from co_tui.headless.scripting.result_lines import ResultLines
from co_tui.headless.scripting.script_questions import ScriptQuestions
from co_tui.headless.slash_host import SlashHost
from co_tui.inert import inert, one_line
from co_tui.session.approvals.questions import ASKED_AGAIN, Unattended
from co_tui.session.attachments import AttachmentRefused
from co_tui.session.file_references import NamedFile
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.session.runtime.transfers import TransferRefused
from co_tui.session.session import Session
from co_tui.session.slash.command_host import CommandFailed, NoSession, WrongArguments
from co_tui.session.slash.find_command import UnknownPrompt
from co_tui.session.slash.typed_command import find_without_screen, parse_command, refusal
from co_tui.session.turns.turn import Outcome
from co_tui.settings.permission_rules import rules_text
from co_tui.settings.rules import PRESENT_PLAN
from co_tui.settings.trust_texts import waiting_instructions_text

EXIT_CODES: Final[Mapping[Outcome, int]] = {
    Outcome.DONE: DONE,
    Outcome.FAILED: FAILED,
    Outcome.INTERRUPTED: INTERRUPTED,
}

_OUTCOMES: Final = {code: outcome for outcome, code in EXIT_CODES.items()}

SETTLE_S = 30.0
"""How long to wait for a background compaction."""
CONTINUES = "`co-tui run --continue -p PROMPT` continues."


class RunOptions(NamedTuple):
    """How a run prints, and answers questions."""

    output: str = "text"
    """The `--output-format`, or `log` for the events as they are logged."""
    yes: bool = False
    read_only: bool = False
    agent: str = ""
    """Who answers, if not the one that did so far."""
    asks_script: bool = False
    """Whether the script that writes the prompts is asked for approvals."""

    @property
    def prints_results(self) -> bool:
        """Whether standard output is for scripts that expect results."""
        return self.output in ("json", "stream-json")


def run(opening: SessionOpening, prompt: str, options: RunOptions, files: Sequence[NamedFile] = ()) -> int:
    """Answer the prompt; without one, those of standard input, a JSON line each. Returns the exit code; failures are
    one sentence on standard error."""
    command = BuiltInCommand.of(prompt, opening, options)
    if command is not None and not (opening.session_id or options.prints_results):
        without = command.run_without_session()
        if without is not None:
            return without
    control = Control()
    may = {"yes": options.yes, "read_only": options.read_only}
    questions = ScriptQuestions(control, opening.cwd, **may) if options.asks_script else Unattended(**may)
    opening = opening._replace(questions=questions, works_in_folder=True, read_only=options.read_only)
    if not opening.session_id:
        opening = opening._replace(model=_chosen(opening.context, opening.environ))
    work = _Run(opening, GivenPrompt(prompt, files) if prompt else None, options, control)
    try:
        code = in_session(opening, work, work.show, "run", work.stop_waiting)
        if work.lines is not None and work.lines.is_owed and code != DONE:
            put_last_json(work.lines.result(_OUTCOMES.get(code, Outcome.FAILED)))
    except OutputLost as lost:
        if not lost.reader_left or options.output != "stream-json":
            raise
        discard(sys.stdout)
        say("The script that reads the results is gone.")
        return FAILED
    return _reported(code, work.started if options.output == "text" else (), questions.unanswered)


class _Run:
    """Answers prompts in a session, one after another."""

    def __init__(
        self, opening: SessionOpening, prompt: GivenPrompt | None, options: RunOptions, control: Control
    ) -> None:
        self._opening = opening
        self._prompt = prompt
        self._options = options
        self._prompts: PromptLines | None = None
        """Those of standard input."""
        self._control = control
        self._is_stopped = False
        self.started: list[str] = []
        """The session, if it is new and kept."""
        self.lines = ResultLines(streams=options.output == "stream-json") if options.prints_results else None
        self.show: Show = as_json if options.output == "log" else ProsePrinter().show
        if self.lines is not None:
            self.show = self.lines.show

    def stop_waiting(self) -> None:
        self._is_stopped = True
        self._control.stop()
        if self._prompts is not None:
            self._prompts.stop()

    async def __call__(self, session: Session, output: Output) -> int:
        self._control.use(session, output)
        if self.lines is not None:
            self.lines.use(session)
        requested = await asyncio.to_thread(session.folders.untrusted)
        waiting = map(waiting_instructions_text, requested)
        for sentence in filter(None, (session.restore_note, *session.folders.problems, *waiting, session.mode_refused)):
            say(sentence)
        if session.mode_refused and not session.at_home:
            return FAILED
        await _report_approvals(session)
        if (agent := self._options.agent) and agent != (session.state.speaker or MAIN_AGENT):
            try:
                await session.hand_to(agent)
            except TransferRefused as refused:
                say(str(refused))
                return WRONG_USAGE
        code = await self._all(session)
        await session.settle(SETTLE_S)
        return code

    async def _all(self, session: Session) -> int:
        """Answer every prompt; the first failure is the exit code."""
        if self._prompt is not None:
            return await self._one(session, self._prompt)
        codes: list[int] = []
        try:
            if not self._is_stopped:
                self._prompts = PromptLines(sys.stdin.buffer, self._control)
                async for prompt in self._prompts:
                    codes.append(await self._stoppable(session, prompt))
        except BadLine as bad:
            return self._refuse(session, str(bad))
        finally:
            await self._control.settle()
        if self._is_stopped:
            return INTERRUPTED
        if not codes and not self._control.is_used:
            say(f"Standard input has no prompt. Write {FORM}.")
            return WRONG_USAGE
        return next((code for code in codes if code), DONE)

    async def _stoppable(self, session: Session, prompt: GivenPrompt) -> int:
        """The exit code of one prompt; one that the script itself stopped did not fail."""
        self._control.is_answering = True
        code = await self._one(session, prompt)
        self._control.is_answering = False
        return DONE if code == INTERRUPTED and not self._is_stopped else code

    def _refuse(self, session: Session, why: str) -> int:
        """Answer a prompt that is not one; returns the exit code."""
        if self.lines is not None:
            self.lines.asked += 1
        say(why)
        session.end_turn(Outcome.FAILED, why)
        return WRONG_USAGE

    async def _one(self, session: Session, prompt: GivenPrompt) -> int:
        """Returns the exit code of one prompt."""
        if self._is_stopped:
            return INTERRUPTED
        context, called = self._opening.context, parse_command(prompt.text)
        if called is not None and (why := refusal(called, context.loaded.settings, context.paths, self._opening.cwd)):
            return self._refuse(session, why)
        if self.lines is not None:
            self.lines.asked += 1
        answers: list[str] = []
        command = BuiltInCommand.of(prompt.text, self._opening, self._options, answers.append)
        try:
            if command is None:
                outcome = await session.submit(prompt.text, files=prompt.files)
                self.started += [session.id] if session.is_kept and not self._opening.session_id else []
                return EXIT_CODES[outcome]
            code = await command.run(session)
        except (AttachmentRefused, PromptRefused) as refused:
            answers.append(str(refused))
            say(str(refused))
            code = WRONG_USAGE if isinstance(refused, UnknownPrompt) else FAILED
        if command is None or not command.has_sent:  # else the result is that of its turn
            session.end_turn(_OUTCOMES.get(code, Outcome.FAILED), "\n".join(answers))
        return code


def _reported(code: int, started: Sequence[str], unanswered: int) -> int:
    """Name the session that was started; returns the exit code: a run in which calls were denied because no one could
    answer has failed."""
    if started and code != INTERRUPTED:  # which names it
        say(f"Session {started[0]}.")
    if code != DONE or not unanswered:
        return code
    say(f"{counted(unanswered, 'call')} denied: this run cannot ask for approval.")
    return FAILED


async def _report_approvals(session: Session) -> None:
    if dropped := session.approvals.drop_too_broad():
        say(f"These approvals were too broad and are asked again: {one_line(', '.join(dropped), 200)}")
    if rules := await asyncio.to_thread(session.approvals.of_this_session):
        say(f"Still allowed in this session: {one_line(rules_text([*map(str, rules)]), 200)}.")
    if again := [*session.asked_again, *await asyncio.to_thread(session.approvals.of_other_machines)]:
        say(ASKED_AGAIN.format(one_line(rules_text(again), 200)))


def _chosen(context: CommandContext, environ: Mapping[str, str]) -> str:
    """The model of a new session; reports the embedded one if it was not chosen."""
    settings = context.loaded.settings
    kept = KeptKeys(context.paths).providers(environ, settings.base_url)
    choice = choose(settings.model, context.loaded.origins["model"].source, environ, settings.base_url, kept)
    if choice.model == EMBEDDED and not settings.model and sys.stderr.isatty():
        say(f"Embedded model {EMBEDDED_LABEL} (offline, small). --model chooses another.")
    return choice.model


def _plan(arguments: Json) -> str:
    """A plan that the model presents, as Markdown."""
    steps = arguments.get("steps")
    listed = [f"{n}. {step}" for n, step in enumerate(steps if isinstance(steps, list) else [], 1)]
    return "\n".join(["Plan", *filter(None, [str(arguments.get("summary") or "")]), *listed, ""])


def _change_text(fact: Fact) -> str:
    """What happened to the session, in a sentence; empty for what is said elsewhere."""
    match fact:
        case BackgroundNews() | HookRun():
            return fact.sentence()
        case CompactionComplete():
            return fact.outcome_sentence()
        case _:
            return ""


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
            case StreamDelta(agent="", kind="text", text=text):  # a delegate's text is for the agent that asked it
                self._line_open = not text.endswith("\n")
                yield PrintedPiece(inert(text))
            case ToolActivity(stage="started", tool_call_id=call_id, text=text, agent=agent):
                self._calls[agent, call_id] = text
            case ApprovalRequested(tool=tool) as asked if tool != PRESENT_PLAN:
                self._asked[asked.agent, asked.call_id] = asked
            case StreamReset() | Message() | SessionInterrupted():
                yield from self._end_line()
            case fact:
                if (piece := self._own_line(fact)) is not None:
                    yield from self._end_line()
                    yield piece

    def _own_line(self, fact: Fact) -> PrintedPiece | None:
        """What is printed about a fact on a line of its own."""
        match fact:
            case ToolActivity(tool_name="write_plan", stage="finished"):
                return None  # the plan itself is printed
            case ToolActivity():
                return note(self._told(fact))
            case ApprovalRequested(arguments=arguments):
                return PrintedPiece(inert(_plan(arguments)))
            case ApprovalDecided(approved=False):
                return note(self._denied(fact))
            case PlanChanged(steps=steps):
                return note(f"plan {one_line(plan_progress(steps), GIST_CHARS)}")
            case SessionError(kind="repeated_call", what=what, agent=""):
                return note(f"{what} {CONTINUES}")
            case SessionError(what=what, outcome=outcome, agent=agent):
                return note(f"{agent}: {what} ({outcome})" if agent else f"{what} ({outcome})")
            case _:
                return note(text) if (text := _change_text(fact)) else None

    def _denied(self, decided: ApprovalDecided) -> str:
        """What was not allowed, and what would allow it."""
        asked = self._asked.pop((decided.agent, decided.call_id), None)
        if asked is None:
            return "Plan not accepted."
        about = gist_of_call(asked.tool, asked.arguments) or one_line(asked.what, GIST_CHARS)
        why = "needs approval; use --yes" if decided.by == UNATTENDED else decided.reason.removesuffix(".")
        why = "; ".join(filter(None, (one_line(asked.danger, GIST_CHARS), why)))
        return f"Denied: {tool_label(asked.tool)} {about} ({why})"

    def _told(self, ended: ToolActivity) -> str:
        """A call and how it ended, in one line."""
        tool, arguments = ended.tool_name, self._calls.pop((ended.agent, ended.tool_call_id), "")
        status = result_summary(tool, arguments, ended.text, ended.stage, ended.diff)
        call = f"{tool_label(tool)} {call_summary(tool, arguments)}".rstrip()
        who = f"{one_line(ended.agent, 60)}: " if ended.agent else ""
        return f"{who}{call} · {status}" if status else who + call

    def _end_line(self) -> Iterator[PrintedPiece]:
        if self._line_open:
            self._line_open = False
            yield PrintedPiece("\n")


class BuiltInCommand:
    """A built-in slash command in place of a prompt."""

    def __init__(self, row: SlashCommand, arguments: str, host: Callable[[Session | None], SlashHost]) -> None:
        self._row = row
        self._arguments = arguments
        self._new_host = host
        self.has_sent = False
        """Whether it ran a turn."""

    @classmethod
    def of(
        cls, prompt: str, opening: SessionOpening, options: RunOptions, answered: Callable[[str], None] = say
    ) -> "BuiltInCommand | None":
        """The command that a prompt is; None for an ordinary prompt and for a command from a file or a server.

        `answered` gets what it answers, unless that is printed.
        """
        called = parse_command(prompt)
        if called is None:
            return None
        settings, paths = opening.context.loaded.settings, opening.context.paths
        row = find_without_screen(called.name, settings, paths, opening.cwd)
        if row is None:
            return None
        # With --json standard output is the log alone.
        answer = {"text": lambda text: put(inert(text)), "log": say}.get(options.output, answered)
        launch, yes, read_only = launch_of(opening), options.yes, options.read_only
        return cls(
            row,
            called.arguments,
            lambda session: SlashHost(launch, session, say, answer, yes=yes, read_only=read_only, keeps_mode=False),
        )

    def run_without_session(self) -> int | None:
        """Returns the exit code; None if the command needs a session."""
        try:
            return asyncio.run(self.run(None))
        except NoSession:
            return None

    async def run(self, session: Session | None) -> int:
        """Returns the exit code."""
        host = self._new_host(session)
        try:
            return EXIT_CODES[await host.run(self._row, self._arguments)]
        except NoSession:
            raise
        except CommandFailed as failed:
            say(str(failed))
            return WRONG_USAGE if isinstance(failed, WrongArguments) else FAILED
        finally:
            self.has_sent = host.has_sent
