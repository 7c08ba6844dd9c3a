"""Questions to the user that the user's notification hooks hear of."""

from co_tui.events.tool_calls import tool_label
from co_tui.session.approvals.questions import (
    Approval,
    ApprovalQuestion,
    CompactionQuestion,
    ModelAnswer,
    ModelQuestion,
    Questions,
    SummaryQuestion,
)
from co_tui.session.hooks.session_hooks import SessionHooks


class NotifyingQuestions:
    """Asks as the given questions do, and runs the hooks meanwhile."""

    def __init__(self, questions: Questions, hooks: SessionHooks) -> None:
        self._questions = questions
        self._hooks = hooks

    async def may_compact(self, question: CompactionQuestion) -> bool:
        self._hooks.notify("compaction_prompt", "co-tui asks whether to compact the conversation.")
        return await self._questions.may_compact(question)

    async def review(self, question: SummaryQuestion) -> str | None:
        return await self._questions.review(question)

    async def approve(self, question: ApprovalQuestion) -> Approval:
        what = "accept a plan" if question.is_plan else f"use {tool_label(question.tool)}"
        self._hooks.notify("permission_prompt", f"co-tui needs your permission to {what}.")
        return await self._questions.approve(question)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        self._hooks.notify("elicitation_dialog", f"co-tui asks: {question.question}")
        return await self._questions.ask(question)
