"""The questions of a session, asked in an editor."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from acp.core import RequestError
from acp.helpers import text_block, tool_content
from acp.schema import AllowedOutcome, CreateFormSessionElicitationRequest, PermissionOption, ToolCallUpdate

from co_tui.agent.mcp.elicitation import Answers, Form, WrongAnswer
from co_tui.events.storable import dump
from co_tui.events.tool_wording import argument_lines
from co_tui.headless.acp.editor import Editor
from co_tui.headless.acp.editor_forms import question_form, question_text, read_answer, read_answers, server_form
from co_tui.headless.acp.tool_updates import ToolCall
from co_tui.inert import inert
from co_tui.session.approvals.questions import (
    USER,
    Approval,
    ApprovalQuestion,
    CompactionQuestion,
    ModelAnswer,
    ModelQuestion,
    SummaryQuestion,
)
from co_tui.session.approvals.server_forms import fill_in
from co_tui.settings.permission_rules import rules_text
from co_tui.settings.rules import ASK, AUTO, EDITS

ONCE, SESSION, PROJECT, DENY = "once", "session", "project", "deny"
MOST_TRIES: Final = 3
"""How often a form with wrong answers is shown again."""
NOT_ALLOWED: Final = "The user did not allow it."
PLAN_NOT_ACCEPTED: Final = "The user did not accept the plan. Ask what to change."
_PLAN_OPTIONS: Final = (
    PermissionOption(option_id=ASK, name="Accept; ask before changes", kind="allow_once"),
    PermissionOption(option_id=EDITS, name="Accept; edit files without asking", kind="allow_always"),
    PermissionOption(option_id=AUTO, name="Accept; run in the sandbox without asking", kind="allow_always"),
    PermissionOption(option_id=DENY, name="Keep planning", kind="reject_once"),
)


class EditorQuestions:
    """Asks by permission requests and, where the editor has them, forms; compactions are always allowed."""

    def __init__(self, editor: Editor, folder: Path, session_id: str = "") -> None:
        self._editor = editor
        self._folder = folder
        self.session_id = session_id
        """Known once the session is open; no question comes before."""

    async def may_compact(self, question: CompactionQuestion) -> bool:
        return True

    async def review(self, question: SummaryQuestion) -> str | None:
        return question.summary

    async def approve(self, question: ApprovalQuestion) -> Approval:
        if question.is_plan:
            return await self._accept_plan(question)
        chosen = await self._choose(self._call(question).asked(question.what, _about(question)), _options(question))
        if chosen == SESSION:
            return Approval(approved=True, by=USER, scope="session", rules=question.rules)
        if chosen == PROJECT:
            return Approval(approved=True, by=USER, scope="project", rules=question.rules)
        if chosen == ONCE:
            return Approval(approved=True, by=USER)
        return Approval(approved=False, by=USER, reason=NOT_ALLOWED)

    async def _accept_plan(self, question: ApprovalQuestion) -> Approval:
        steps = argument_lines(dump(dict(question.arguments)))
        options = [each for each in _PLAN_OPTIONS if each.option_id in (*question.modes, DENY)]
        mode = await self._choose(self._call(question).asked(steps), options)
        if mode in (ASK, EDITS, AUTO):
            return Approval(approved=True, by=USER, mode=mode)
        return Approval(approved=False, by=USER, reason=PLAN_NOT_ACCEPTED)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        """A question of the model; without forms only its options can be chosen: permission requests take no words."""
        if self._editor.has_forms:
            return read_answer(question, await self._filled(question_form(question, self.session_id)))
        if not question.options:
            return ModelAnswer(declined=True, reason="The editor cannot ask for text. Ask in your reply instead.")
        options = [
            PermissionOption(option_id=str(number), name=inert(option), kind="allow_once")
            for number, option in enumerate(question.options)
        ]
        options.append(PermissionOption(option_id=DENY, name="None of these", kind="reject_once"))
        asked = question_text(question)
        about = ToolCallUpdate(
            tool_call_id=f"question-{id(question)}",
            title=asked,
            kind="think",
            content=[tool_content(text_block(asked))],
        )
        chosen = await self._choose(about, options)
        if not chosen.isdecimal():
            return ModelAnswer(declined=True, reason="The user chose none of the options.")
        return ModelAnswer(selected=(question.options[int(chosen)],))

    async def fill_in(self, form: Form) -> Answers | None:
        """What an MCP server wants to know: as one form, else field by field."""
        if not self._editor.has_forms:
            return await fill_in(form, self)
        fault = ""
        for _ in range(MOST_TRIES):
            content = await self._filled(server_form(form, self.session_id, fault))
            if content is None:
                return None
            try:
                return read_answers(form, content)
            except WrongAnswer as wrong:
                fault = str(wrong)
        return None

    async def _filled(self, form: CreateFormSessionElicitationRequest) -> Mapping[str, Any] | None:
        """The content of a form; None when the user gives none, or the editor cannot be asked."""
        try:
            return await self._editor.fill_in(form)
        except (RequestError, ConnectionError):
            return None

    def _call(self, question: ApprovalQuestion) -> ToolCall:
        arguments = dump(dict(question.arguments))
        return ToolCall(question.call_id, question.tool, arguments, self._folder, question.agent)

    async def _choose(self, call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        """The id of the chosen option; `DENY` when the editor cancels or cannot be asked."""
        try:
            answer = (await self._editor.ask_permission(self.session_id, call, options)).outcome
        except (RequestError, ConnectionError):
            return DENY
        offered = {option.option_id for option in options}
        return answer.option_id if isinstance(answer, AllowedOutcome) and answer.option_id in offered else DENY


def _about(question: ApprovalQuestion) -> str:
    notes = (question.reason, question.note, f"Careful: {question.danger}" if question.danger else "", question.where)
    return "\n".join(filter(None, notes))


def _options(question: ApprovalQuestion) -> list[PermissionOption]:
    """Destructive or publishing calls are allowed once only."""
    options = [PermissionOption(option_id=ONCE, name="Allow once", kind="allow_once")]
    if question.rules and not question.danger:
        rules = rules_text(question.rules)
        options += [
            PermissionOption(option_id=SESSION, name=f"Allow {rules} this session", kind="allow_always"),
            PermissionOption(option_id=PROJECT, name=f"Always allow {rules} in this project", kind="allow_always"),
        ]
    return [*options, PermissionOption(option_id=DENY, name="Deny", kind="reject_once")]
