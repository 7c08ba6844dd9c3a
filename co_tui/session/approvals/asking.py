"""Ask for approval of tool calls; question and answer are logged (E12)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.tools import ToolDenied

from co_tui.agent.permissions.older_answers import rules_of
from co_tui.agent.permissions.verdict import Verdict
from co_tui.agent.tool_names import CHANGING_TOOLS
from co_tui.agent.toolkit import AskedCall, DescribeCall, HookedCall, no_description
from co_tui.context.request.repair import open_calls
from co_tui.events import ApprovalDecided, ApprovalRequested, ModeChange
from co_tui.events.facts.agents import UNATTENDED
from co_tui.events.refusals import DENIED, denied_by_user, refused_by_hook, refused_otherwise
from co_tui.events.storable import storable, storable_text
from co_tui.events.stored_messages import text_of
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.approvals.questions import USER, Approval, ApprovalQuestion, BatchedCall, Questions
from co_tui.session.recorder import Recorder
from co_tui.session.state.session_state import SessionState
from co_tui.settings.hook_entries import PRE_TOOL_USE
from co_tui.settings.rules import PRESENT_PLAN

CHANGED_SINCE = "The file has changed. This is the change as it would be now."
MOST_ASKED_AGAIN = 20
KEEPS_CHANGING = "Not allowed: the file keeps changing while the user decides."
NOT_ANSWERED = "Not allowed: the user sent another message instead of answering."
HOOK = "hook"
"""Who decided if a hook of the user did."""
NO_REASON = "no reason given"


class _Change(NamedTuple):
    """What a call would do now, or why it cannot."""

    what: str
    note: str = ""

    @property
    def shown(self) -> str:
        return self.note or self.what


class Batch(NamedTuple):
    """Which question of a reply it is, of how many, as far as is known, and the calls that may be allowed with it."""

    number: int = 1
    of: int = 1
    rest: tuple[BatchedCall, ...] = ()


async def _alone() -> Batch:
    return Batch()


class Approvals:
    """The questions of one turn, one at a time."""

    def __init__(
        self,
        recorder: Recorder,
        questions: Questions,
        turn: int,
        permissions: Permissions,
        *,
        what: DescribeCall = no_description,
        agent: str = "",
    ) -> None:
        """`what` describes what a call would do now."""
        self._recorder = recorder
        self._questions = questions
        self._turn = turn
        self._permissions = permissions
        self._what = what
        self._agent = agent
        self.rest: list[BatchedCall] = []
        """The calls that the user allowed with an earlier one of their reply."""

    def begin_reply(self) -> None:
        self.rest = []

    async def ask(self, call: AskedCall, batch: Callable[[], Awaitable[Batch]] = _alone) -> ToolDenied | None:
        """Get the answer about a call, unless an earlier answer allows it; None if it is allowed. If cancelled, the
        question stays pending. `batch` is called if the user is asked."""
        asked = _requested(call, self._turn, self._agent)
        logged = self._pending(call.call_id)
        if logged is not None and (logged.tool, logged.arguments) == (asked.tool, asked.arguments):
            asked = logged
        else:
            logged = None  # the call is another one than was asked about
        verdict = await self._permissions.about_question(asked.tool, asked.arguments)
        if logged is None:
            if verdict.action == "run" and not asked.hook:
                return None
            asked = asked.but(danger=storable_text(verdict.danger))
            await self._recorder.record(asked)
        if verdict.action == "refuse":
            answer = Approval(approved=False, by=verdict.by, reason=verdict.reason)
        elif asked.hook == "deny":
            answer = Approval(approved=False, by=HOOK, reason=refused_by_hook(asked.hook_reason))
        elif verdict.action == "run" and not asked.hook:
            answer = Approval(approved=True, by="an earlier answer")
        elif self._take_from_rest(asked) and verdict.is_plain_question and not asked.hook and not asked.is_changed:
            answer = Approval(approved=True, by=USER)
        else:
            asked_with = await batch()
            answer = await self._answer(asked, verdict, asked_with)
            self.rest += asked_with.rest if answer.approved and answer.rest else ()
        decided = _decided(asked, answer, self._recorder.state.cwd)
        await self._recorder.record(decided, *self._mode_changes(decided))
        self._keep(asked, decided)
        return None if decided.approved else ToolDenied(_refusal(asked.tool, decided))

    def _take_from_rest(self, asked: ApprovalRequested) -> bool:
        """Whether the user allowed this call with an earlier one; holds once, as a tool may ask again by itself."""
        call = BatchedCall(call_id=asked.call_id, tool=asked.tool, arguments=asked.arguments)
        is_listed = call in self.rest
        if is_listed:
            self.rest.remove(call)
        return is_listed

    def asked_before(self, call_id: str) -> HookedCall | None:
        if (asked := self._pending(call_id)) is None:
            return None
        arguments = dict(asked.arguments) if asked.is_changed else None
        return HookedCall(asked.hook or "", asked.hook_reason, arguments)

    def _pending(self, call_id: str) -> ApprovalRequested | None:
        """The logged question about a call. One of another machine is asked again, after the hooks of this one."""
        pending = _pending_of(self._recorder.state, self._agent)
        return next((each for each in pending if each.call_id == storable_text(call_id) and each.mark), None)

    def _mode_changes(self, decided: ApprovalDecided) -> list[ModeChange]:
        """An answer may say in which mode the work continues."""
        before, mode = self._permissions.mode, decided.mode if decided.approved else ""
        mode = mode and self._permissions.allowed_mode(mode)
        return [ModeChange(from_=before, to=mode)] if mode not in ("", before) else []

    async def _answer(self, asked: ApprovalRequested, verdict: Verdict, batch: Batch) -> Approval:
        """The user's answer about the change as it would be made now: files may change while a question waits."""
        shown = await self._now(asked)
        for _ in range(MOST_ASKED_AGAIN):
            note = shown.note
            if shown.what != asked.what:
                asked, note = asked.but(what=shown.what), CHANGED_SINCE
                await self._recorder.record(asked)
            question = _question(asked, verdict, batch)
            question = question.but(
                note=note,
                where=self._permissions.where(asked.tool, verdict),
                modes=self._permissions.modes,
                rest=tuple([each.but(what=(await self._now(each)).shown) for each in batch.rest]),
            )
            answer = await self._questions.approve(question)
            now = await self._now(asked)
            if not answer.approved or now.note or now.what == asked.what:
                return answer
            shown = now
        return _unanswered(KEEPS_CHANGING)

    async def _now(self, asked: ApprovalRequested | BatchedCall) -> "_Change":
        if asked.tool not in CHANGING_TOOLS:
            return _Change(asked.what)
        try:
            return _Change(storable_text(await self._what(asked.tool, asked.arguments) or asked.what))
        except (ModelRetry, ToolFailed) as error:
            return _Change(asked.what, f"This change is no longer possible: {error}")
        except Exception:  # arguments that the tool rejects, which it reports itself
            return _Change(asked.what)

    def _keep(self, asked: ApprovalRequested, decided: ApprovalDecided) -> None:
        for rule in rules_of(asked.tool, decided) if decided.scope == "project" else ():
            if self._permissions.kept is not None:
                self._permissions.kept.add(rule)

    async def withdraw(self, reason: str) -> None:
        """Deny what is pending: it will not be answered."""
        pending = _pending_of(self._recorder.state, self._agent)
        if pending:
            await self._recorder.record(*withdrawn(pending, reason))


def open_questions(state: SessionState, history: Sequence[ModelMessage]) -> list[ApprovalRequested]:
    """Pending questions that can still be answered: their calls are open at the end of the history."""
    pending = _pending_of(state)
    waiting = {call.tool_call_id for call in open_calls(history)} if pending else set()
    return [each for each in pending if each.call_id in waiting]


def not_answered(asked: Sequence[ApprovalRequested]) -> list[ToolReturnPart]:
    """The tool returns for calls whose questions were not answered."""
    return [
        ToolReturnPart(tool_name=each.tool, content=NOT_ANSWERED, tool_call_id=each.call_id, outcome=DENIED)
        for each in asked
    ]


def withdrawn(pending: Sequence[ApprovalRequested], reason: str) -> list[ApprovalDecided]:
    """The decisions on questions that will not be answered."""
    return [_decided(each, _unanswered(reason), "") for each in pending]


def refused(decided: ApprovalDecided, tool: str) -> ToolReturnPart:
    """The answer to a call that was not allowed."""
    return ToolReturnPart(tool, _refusal(tool, decided), tool_call_id=decided.call_id, outcome=DENIED)


def _pending_of(state: SessionState, agent: str = "") -> list[ApprovalRequested]:
    """The pending questions of one agent."""
    return [each for each in state.pending if each.agent == agent]


def _requested(call: AskedCall, turn: int, agent: str) -> ApprovalRequested:
    arguments, hooked = storable(dict(call.arguments)), call.hooked
    what = call.what or "\n".join(f"{name}: {text_of(value)}" for name, value in arguments.items())
    return ApprovalRequested(
        call_id=storable_text(call.call_id),
        tool=storable_text(call.tool),
        arguments=arguments,
        what=storable_text(what),
        turn=turn,
        agent=agent,
        hook=hooked.decision if hooked.decision != "allow" else "",
        hook_reason=storable_text(hooked.reason),
        is_changed=hooked.arguments is not None,
    )


def _question(asked: ApprovalRequested, verdict: Verdict, batch: Batch) -> ApprovalQuestion:
    return ApprovalQuestion(
        tool=asked.tool,
        arguments=asked.arguments,
        what=asked.what,
        new=verdict.new,
        rules=() if asked.hook else tuple(map(str, verdict.rules)),
        reason=verdict.reason or _hook_reason(asked),
        danger=verdict.danger,
        agent=asked.agent,
        call_id=asked.call_id,
        **batch._asdict(),
    )


def _hook_reason(asked: ApprovalRequested) -> str:
    """Why it is asked although rules or the mode would allow it, or what a hook did to it."""
    if asked.hook == "ask":
        return f"Asked because of a {PRE_TOOL_USE} hook: {asked.hook_reason or NO_REASON}"
    return f"A {PRE_TOOL_USE} hook changed its input." if asked.is_changed else ""


def _decided(asked: ApprovalRequested, answer: Approval, folder: str) -> ApprovalDecided:
    return ApprovalDecided(
        call_id=asked.call_id,
        approved=answer.approved,
        by=answer.by,
        scope=answer.scope,
        rules=tuple(map(storable_text, answer.rules)),
        folder=folder if answer.rules else "",
        mode=answer.mode,
        reason=storable_text(answer.reason),
        agent=asked.agent,
    )


def _unanswered(reason: str) -> Approval:
    return Approval(approved=False, by=UNATTENDED, reason=reason)


def _refusal(tool: str, decided: ApprovalDecided) -> str:
    """The refusal for the model; a reason that is not the user's own is already a full sentence."""
    if decided.by != USER:
        return refused_otherwise(decided.reason)
    return denied_by_user(decided.reason, is_plan=tool == PRESENT_PLAN)
