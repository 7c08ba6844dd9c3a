"""Questions of a run that the script answers which drives it: `--permission-prompt-tool stdio`."""

from pathlib import Path
from typing import Any, Final

from co_tui.events import Json
from co_tui.headless.scripting.control import Control, RequestRefused
from co_tui.session.approvals.questions import (
    BY_SCRIPT,
    Approval,
    ApprovalQuestion,
    ModelAnswer,
    ModelQuestion,
    Unattended,
)
from co_tui.session.hooks.tool_forms import claude_name, given_input

CAN_USE: Final = "can_use_tool"
ASK_TOOL: Final = "ask_user_question"


class ScriptQuestions(Unattended):
    """Asks the script; `--yes` and `--read-only` answer before it."""

    def __init__(self, control: Control, folder: Path, *, yes: bool = False, read_only: bool = False) -> None:
        super().__init__(yes=yes, read_only=read_only)
        self._control = control
        self._folder = folder

    async def approve(self, question: ApprovalQuestion) -> Approval:
        if self._yes or self._read_only:
            return await super().approve(question)
        given = given_input(question.tool, question.arguments, self._folder)
        more = {"agent_id": question.agent} if question.agent else {}
        more["decision_reason"] = question.danger or question.reason
        try:
            answer = await self._can_use(question.tool, given, tool_use_id=question.call_id, **more)
        except RequestRefused as refused:
            return Approval(approved=False, by=BY_SCRIPT, reason=str(refused))
        if answer.get("behavior") != "allow":
            if answer.get("interrupt"):
                self._control.interrupt_soon()
            return Approval(approved=False, by=BY_SCRIPT, reason=str(answer.get("message") or ""))
        if answer.get("updatedInput", given) not in (given, None):
            return Approval(
                approved=False, by=BY_SCRIPT, reason="The script changed the input, which is not supported."
            )
        return Approval(approved=True, by=BY_SCRIPT)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        labels = zip(question.options, question.descriptions or [""] * len(question.options), strict=True)
        options = [{"label": label, "description": about} for label, about in labels]
        asked = {"question": question.question, "header": "", "options": options, "multiSelect": question.multiple}
        try:
            answer = await self._can_use(ASK_TOOL, {"questions": [asked]}, tool_use_id="")
        except RequestRefused as refused:
            return ModelAnswer(declined=True, reason=str(refused))
        match answer:
            case {"behavior": "allow", "updatedInput": {"answers": {question.question: str(text)}}} if text:
                return question.answered(text)
        return ModelAnswer(declined=True, reason=str(answer.get("message") or ""))

    async def _can_use(self, tool: str, given: Json, **more: Any) -> Json:
        """What the script answers about a call. Raises `RequestRefused`."""
        fixed: dict[str, Any] = {"permission_suggestions": [], "blocked_path": None}
        return await self._control.ask(CAN_USE, tool_name=claude_name(tool), input=given, **fixed, **more)
