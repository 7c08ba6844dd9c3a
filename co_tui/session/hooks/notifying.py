"""Questions to the user that the user's notification hooks hear of."""

from collections.abc import Callable
from typing import Any, Final

from co_tui.events.tool_calls import tool_label
from co_tui.session.approvals.questions import (
    Approval,
    ApprovalQuestion,
    CompactionQuestion,
    ModelAnswer,
    ModelQuestion,
    Questions,
    SummaryQuestion,
    Unattended,
)
from co_tui.session.hooks.session_hooks import SessionHooks

_ASKS_NO_ONE: Final = (Unattended.may_compact, Unattended.approve, Unattended.ask)


class NotifyingQuestions:
    """Asks as the given questions do, and runs the hooks while a person is asked."""

    def __init__(self, questions: Questions, hooks: SessionHooks) -> None:
        self._questions = questions
        self._hooks = hooks

    async def may_compact(self, question: CompactionQuestion) -> bool:
        asks = self._questions.may_compact
        self._notify(asks, "compaction_prompt", "co-tui asks whether to compact the conversation.")
        return await asks(question)

    async def review(self, question: SummaryQuestion) -> str | None:
        return await self._questions.review(question)

    async def approve(self, question: ApprovalQuestion) -> Approval:
        what = "accept a plan" if question.is_plan else f"use {tool_label(question.tool)}"
        self._notify(self._questions.approve, "permission_prompt", f"co-tui needs your permission to {what}.")
        return await self._questions.approve(question)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        self._notify(self._questions.ask, "elicitation_dialog", f"co-tui asks: {question.question}")
        return await self._questions.ask(question)

    def _notify(self, asks: Callable[..., Any], kind: str, message: str) -> None:
        if getattr(asks, "__func__", None) not in _ASKS_NO_ONE:
            self._hooks.notify(kind, message)
