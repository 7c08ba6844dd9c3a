"""Asks the user on behalf of a session, without taking the keyboard while they type."""

import asyncio
from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from textual.app import App

from co_tui.events.wording import mode_line
from co_tui.inert import inert, one_line
from co_tui.session.approvals.questions import (
    USER,
    Approval,
    ApprovalQuestion,
    CompactionQuestion,
    ModelAnswer,
    ModelQuestion,
    SummaryQuestion,
)
from co_tui.settings.rules import EDITS
from co_tui.ui.approvals.choices import Choice, Choices
from co_tui.ui.approvals.modes import SandboxCheck
from co_tui.ui.approvals.question_bar import Question, QuestionPanel, simple_question
from co_tui.ui.chat.chat_screen import ChatScreen

if TYPE_CHECKING:
    from co_tui.ui.dialogs.dialog import Dialog

T = TypeVar("T")
MOST_OPTIONS = 9
"""One for each digit."""
OPTION_CHARS = 60
MEANING_CHARS = 200
AGENT_CHARS = 42


class _Answer(NamedTuple):
    """The key of a choice, and the text of one that writes."""

    key: str
    text: str = ""


class DialogQuestions:
    """Shows a session's question as a panel; cancelling the question closes the panel."""

    def __init__(self, app: App[Any], chat: ChatScreen, sandbox: SandboxCheck | None = None) -> None:
        self._app = app
        self._chat = chat
        self._sandbox = sandbox or SandboxCheck()
        self._one_at_a_time = asyncio.Lock()

    async def may_compact(self, question: CompactionQuestion) -> bool:
        text = f"The context is {question.share * 100:.0f} % full. Summarise {question.messages} older messages now?"
        return await self.choose("Compact the conversation?", text, {"y": "Yes", "n": "No"}) == "y"

    async def review(self, question: SummaryQuestion) -> str | None:
        keys = {"r": "Review it", "a": "Apply it", "n": "Discard it"}
        words = f"A summary of {len(question.summary.split()):,} words is ready to replace older messages."
        answer = await self.choose("Apply the summary?", words, keys)
        if answer == "r":
            return await self._edited(question.summary)
        return question.summary if answer == "a" else None

    async def approve(self, question: ApprovalQuestion) -> Approval:
        from co_tui.ui.approvals.approval_wording import ALL_EDITS, PLAN_MODES, REST, approval_panel, rest_panel

        has_sandbox = question.is_plan and not await self._sandbox.trouble()
        panel = approval_panel(question, has_sandbox=has_sandbox)
        while True:
            answer = await self._ask_or_view(panel)
            if question.is_plan and answer.key in PLAN_MODES:
                return Approval(approved=True, by=USER, mode=PLAN_MODES[answer.key])
            match answer.key:
                case "y":
                    return Approval(approved=True, by=USER)
                case "s":
                    return Approval(approved=True, by=USER, scope="session", rules=question.rules)
                case "p":
                    return Approval(approved=True, by=USER, scope="project", rules=question.rules)
                case each if each == REST:
                    if (await self._ask_or_view(rest_panel(question))).key == REST:
                        return Approval(approved=True, by=USER, rest=True)
                case each if each == ALL_EDITS:
                    self._app.call_later(self._chat.status.show_mode_line, mode_line(EDITS))
                    return Approval(approved=True, by=USER, mode=EDITS)
                case "r":
                    return Approval(approved=False, by=USER, reason=answer.text)
                case _:
                    return Approval(approved=False, by=USER)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        options = question.options[:MOST_OPTIONS]
        digits = [str(n) for n in range(1, len(options) + 1)]
        listed = [Choice(digit, "{}", text) for digit, text in zip(digits, _option_texts(question), strict=True)]
        own = Choice("w", "Another answer…" if options else "Write an answer…", writes="Your answer")
        choices = Choices(
            (*listed, own, Choice("n", "No answer", same_row=True)), several=digits if question.multiple else ()
        )
        several = "Space checks, Enter accepts." if question.multiple else ""
        whole = inert("\n".join(f"{option}: {meaning}" for option, meaning in _meanings(question) if meaning))
        asked = inert(question.question)
        panel = Question(_title(question), asked, choices, opens=True, below=(several,), whole=whole)
        while True:
            answer = await self._ask_or_view(panel)
            if answer.key[:1] in digits:
                return ModelAnswer(selected=tuple(options[int(digit) - 1] for digit in answer.key.split(",")))
            if answer.key != "w":
                return ModelAnswer(declined=True, reason="The user gave no answer.")
            if answer.text:
                return ModelAnswer(text=answer.text)

    async def _ask_or_view(self, question: Question) -> "_Answer":
        """Ask above the prompt, or on the full screen if the user views all of it."""
        writes = ""
        while (answer := await self._choose(question, writes)).key == question.opening_key:
            from co_tui.ui.approvals.whole_question import WholeQuestionScreen

            key = await self._waiting_for(WholeQuestionScreen(question, self._chat.questions.type_text)) or ""
            writes = key if key and question.choices.writes(key) else ""
            if key and not writes:
                return _Answer(key)
        return answer

    async def choose(self, title: str, text: str, answers: Mapping[str, str]) -> str:
        """Ask above the prompt; returns the key that was pressed."""
        return (await self._choose(simple_question(title, text, answers, marked=""))).key

    async def _choose(self, question: Question, writes: str = "") -> "_Answer":
        async with self._one_at_a_time:
            return await self._ask_now(question, writes)

    async def _ask_now(self, question: Question, writes: str) -> "_Answer":
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        panels: list[QuestionPanel] = []

        def show() -> None:
            panels.append(QuestionPanel(question, answered, writes=writes))
            self._chat.show_question(panels[0])

        def answered(key: str) -> None:
            if not answer.done():
                answer.set_result(_Answer(key, panels[0].written))

        def close() -> None:
            for panel in panels:
                self._chat.end_question(panel)

        # A session's task runs outside of the app's context, which creating widgets needs.
        self._app.call_later(show)
        try:
            return await answer
        finally:
            self._app.call_later(close)

    async def _edited(self, summary: str) -> str | None:
        from co_tui.ui.dialogs.simple_dialogs import EditScreen

        return await self._answer_of(EditScreen("Review the summary", summary, discards="the summary"))

    async def _waiting_for(self, screen: "Dialog[T]") -> T | None:
        """Ask with a dialog, while the prompt shows that an answer is pending."""
        self._app.call_later(self._chat.status.show_asking, True)
        try:
            return await self._answer_of(screen)
        finally:
            self._app.call_later(self._chat.status.show_asking, False)

    async def _answer_of(self, screen: "Dialog[T]") -> T | None:
        """Ask with a dialog; closes it if the caller is cancelled."""
        answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

        def answered(result: T | None) -> None:
            if not answer.done():
                answer.set_result(result)

        self._app.call_later(self._app.push_screen, screen, answered)
        try:
            return await answer
        finally:
            if not answer.done() or answer.cancelled():
                self._app.call_later(screen.withdraw)


def _option_texts(question: ModelQuestion) -> list[str]:
    """Each option with what it means."""
    return [
        " · ".join(filter(None, (one_line(text, OPTION_CHARS), one_line(meaning, MEANING_CHARS))))
        for text, meaning in _meanings(question)
    ]


def _meanings(question: ModelQuestion) -> list[tuple[str, str]]:
    options = question.options[:MOST_OPTIONS]
    return list(zip_longest(options, question.descriptions[: len(options)], fillvalue=""))


def _title(question: ModelQuestion) -> str:
    return f"{one_line(question.agent, AGENT_CHARS)} asks" if question.agent else "The model asks"
