"""Ask for approval of tool calls; question and answer are logged (E12)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied

from co_tui.agent.permissions.older_answers import rules_of
from co_tui.agent.permissions.verdict import Verdict
from co_tui.agent.tool_names import CHANGING_TOOLS
from co_tui.agent.toolkit import HOOKED, WHAT, DescribeCall, HookedCall, no_description
from co_tui.context.request.repair import open_calls
from co_tui.events import ApprovalDecided, ApprovalRequested, ModeChange
from co_tui.events.facts.agents import UNATTENDED
from co_tui.events.refusals import DENIED, denied_by_user, refused_by_hook, refused_otherwise
from co_tui.events.storable import storable, storable_text
from co_tui.events.stored_messages import text_of
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.approvals.questions import USER, Approval, ApprovalQuestion, Questions
from co_tui.session.recorder import Recorder
from co_tui.session.state.session_state import SessionState
from co_tui.settings.hook_entries import PRE_TOOL_USE
from co_tui.settings.permission_rules import Rule
from co_tui.settings.rules import PRESENT_PLAN

CHANGED_SINCE = "The file changed meanwhile. This is the change as it would be now."
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


class StoppedWhileAsking(Exception):
    """The turn was stopped before its open questions were answered."""


class Approvals:
    """The questions of one turn. Those asked together are decided together."""

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

    async def request(self, requests: DeferredToolRequests) -> DeferredToolResults:
        """Answer the requests of a run; what an earlier answer already allows is not asked again."""
        questions = [_requested(call, requests.metadata, self._turn, self._agent) for call in requests.approvals]
        verdicts = [await self._permissions.about_question(each.tool, each.arguments) for each in questions]
        asked = [
            each for each, verdict in zip(questions, verdicts, strict=True) if each.hook or verdict.action != "run"
        ]
        if asked:
            await self._recorder.record(*asked)
        answers = await self.decide(asked)
        # The run uses the original call ids, which may not be storable.
        ids = zip(requests.approvals, questions, strict=True)
        return DeferredToolResults(
            approvals={
                call.tool_call_id: answers.get(question.call_id) or _approved(question) for call, question in ids
            }
        )

    async def decide(self, asked: Sequence[ApprovalRequested]) -> dict[str, ToolApproved | ToolDenied]:
        """Ask about each call in order. If cancelled, all stay pending."""
        decided: list[ApprovalDecided] = []
        answered: list[Rule] = []
        for number, each in enumerate(asked, 1):
            verdict = await self._permissions.about_question(each.tool, each.arguments, answered)
            if verdict.action == "refuse":
                answer = Approval(approved=False, by=verdict.by, reason=verdict.reason)
            elif each.hook == "deny":
                answer = Approval(approved=False, by=HOOK, reason=refused_by_hook(each.hook_reason))
            elif verdict.action == "run" and not each.hook:
                answer = Approval(approved=True, by="an earlier answer")
            else:
                answer = await self._answer(each, verdict, number, len(asked))
            decided.append(_decided(each, answer))
            answered += rules_of(each.tool, decided[-1])
        if decided:
            await self._recorder.record(*decided, *self._mode_changes(decided))
            self._keep(asked, decided)
        return {
            each.call_id: _approved(question) if each.approved else ToolDenied(_refusal(question.tool, each))
            for question, each in zip(asked, decided, strict=True)
        }

    def _mode_changes(self, decided: Sequence[ApprovalDecided]) -> list[ModeChange]:
        """An accepted plan says in which mode the work continues."""
        mode = next((each.mode for each in reversed(decided) if each.approved and each.mode), "")
        return [ModeChange(from_=self._permissions.mode, to=mode)] if mode not in ("", self._permissions.mode) else []

    async def _answer(self, asked: ApprovalRequested, verdict: Verdict, number: int, of: int) -> Approval:
        """The user's answer about the change as it would be made now: files may change while a question waits."""
        shown = await self._now(asked)
        for _ in range(MOST_ASKED_AGAIN):
            note = shown.note
            if shown.what != asked.what:
                asked, note = asked.but(what=shown.what), CHANGED_SINCE
                await self._recorder.record(asked)
            question = _question(asked, verdict, number, of)
            question = question.but(note=note, where=self._permissions.where(asked.tool, verdict))
            answer = await self._questions.approve(question)
            now = await self._now(asked)
            if not answer.approved or now.note or now.what == asked.what:
                return answer
            shown = now
        return _unanswered(KEEPS_CHANGING)

    async def _now(self, asked: ApprovalRequested) -> "_Change":
        if asked.tool not in CHANGING_TOOLS:
            return _Change(asked.what)
        try:
            return _Change(storable_text(await self._what(asked.tool, asked.arguments) or asked.what))
        except (ModelRetry, ToolFailed) as error:
            return _Change(asked.what, f"This change is no longer possible: {error}")
        except Exception:  # arguments that the tool rejects, which it reports itself
            return _Change(asked.what)

    def _keep(self, asked: Sequence[ApprovalRequested], decided: Sequence[ApprovalDecided]) -> None:
        for question, answer in zip(asked, decided, strict=True):
            for rule in rules_of(question.tool, answer) if answer.scope == "project" else ():
                if self._permissions.kept is not None:
                    self._permissions.kept.add(rule)

    async def decide_unless(
        self, stopped: asyncio.Event, asked: Sequence[ApprovalRequested]
    ) -> dict[str, ToolApproved | ToolDenied]:
        """As `decide`; raises `StoppedWhileAsking` if it is stopped first."""
        if not asked:
            return {}
        asking, stopping = asyncio.create_task(self.decide(asked)), asyncio.create_task(stopped.wait())
        try:
            await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            asking.cancel()
            await asyncio.wait({asking})
        if asking.cancelled():
            raise StoppedWhileAsking
        return asking.result()

    async def withdraw(self, reason: str) -> None:
        """Deny what is pending: it will not be answered."""
        pending = _pending_of(self._recorder.state, self._agent)
        if pending:
            await self._recorder.record(*withdrawn(pending, reason))

    async def request_again(self, requests: DeferredToolRequests) -> DeferredToolResults:
        """As `request`, for a run that repeats an open step: its questions are logged already."""
        pending = {each.call_id: each for each in _pending_of(self._recorder.state, self._agent)}
        ids = {call.tool_call_id: storable_text(call.tool_call_id) for call in requests.approvals}
        if not pending.keys() >= set(ids.values()):
            return await self.request(requests)
        answers = await self.decide([pending[each] for each in ids.values()])
        return DeferredToolResults(approvals={given: answers[stored] for given, stored in ids.items()})

    async def allowed_without_asking(self) -> None:
        """Mark pending calls as allowed: they ran because an earlier answer covers them."""
        pending = _pending_of(self._recorder.state, self._agent)
        allowed = Approval(approved=True, by="an earlier answer")
        if pending:
            await self._recorder.record(*(_decided(each, allowed) for each in pending))


def _approved(question: ApprovalRequested) -> ToolApproved:
    """With the arguments that were asked about, if they are not the model's own."""
    return ToolApproved(override_args=dict(question.arguments) if question.is_changed else None)


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
    return [_decided(each, _unanswered(reason)) for each in pending]


def refused(decided: ApprovalDecided, tool: str) -> ToolReturnPart:
    """The answer to a call that was not allowed."""
    return ToolReturnPart(tool, _refusal(tool, decided), tool_call_id=decided.call_id, outcome=DENIED)


def _pending_of(state: SessionState, agent: str = "") -> list[ApprovalRequested]:
    """The pending questions of one agent."""
    return [each for each in state.pending if each.agent == agent]


def _requested(
    call: ToolCallPart, metadata: Mapping[str, Mapping[str, Any]], turn: int, agent: str
) -> ApprovalRequested:
    about = metadata.get(call.tool_call_id, {})
    hooked: HookedCall = about.get(HOOKED) or HookedCall()
    arguments = storable(call.args_as_dict() if hooked.arguments is None else hooked.arguments)
    described = about.get(WHAT)
    what = described or "\n".join(f"{name}: {text_of(value)}" for name, value in arguments.items())
    return ApprovalRequested(
        call_id=storable_text(call.tool_call_id),
        tool=storable_text(call.tool_name),
        arguments=arguments,
        what=storable_text(str(what)),
        turn=turn,
        agent=agent,
        hook=hooked.decision if hooked.decision != "allow" else "",
        hook_reason=storable_text(hooked.reason),
        is_changed=hooked.arguments is not None,
    )


def _question(asked: ApprovalRequested, verdict: Verdict, number: int, of: int) -> ApprovalQuestion:
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
        number=number,
        of=of,
    )


def _hook_reason(asked: ApprovalRequested) -> str:
    """Why it is asked although rules or the mode would allow it, or what a hook did to it."""
    if asked.hook == "ask":
        return f"Asked because of a {PRE_TOOL_USE} hook: {asked.hook_reason or NO_REASON}"
    return f"A {PRE_TOOL_USE} hook changed its input." if asked.is_changed else ""


def _decided(asked: ApprovalRequested, answer: Approval) -> ApprovalDecided:
    return ApprovalDecided(
        call_id=asked.call_id,
        approved=answer.approved,
        by=answer.by,
        scope=answer.scope,
        rules=tuple(map(storable_text, answer.rules)),
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
