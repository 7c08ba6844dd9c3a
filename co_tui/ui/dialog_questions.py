"""Asks the person at the screen on behalf of a session, without taking the keyboard from who is typing."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from textual.app import App
from textual.content import Content

from co_tui.inert import inert, one_line
from co_tui.session.questions import (
    USER,
    Approval,
    ApprovalQuestion,
    CompactionQuestion,
    ModelAnswer,
    ModelQuestion,
    SummaryQuestion,
)
from co_tui.ui.screens.chat import ChatScreen
from co_tui.ui.widgets.question import ALL_OF_IT, QuestionPanel
from co_tui.ui.widgets.question_text import changes, coloured, is_diff

if TYPE_CHECKING:
    from co_tui.ui.screens.dialog import Dialog

T = TypeVar("T")
NOTE_CHARS = 110
MOST_OPTIONS = 9
"""As many as there are digits to choose by."""


class DialogQuestions:
    """What a session asks becomes a panel; when nobody waits for the answer any more, the panel closes."""

    def __init__(self, app: App[Any], chat: ChatScreen) -> None:
        self._app = app
        self._chat = chat
        self._turn = asyncio.Lock()
        """One question at a time."""

    async def may_compact(self, question: CompactionQuestion) -> bool:
        text = f"The context is {question.share * 100:.0f} % full. Summarise {question.messages} earlier messages now?"
        return await self.choose("Compact the conversation?", text, {"y": "yes", "n": "no"}) == "y"

    async def review(self, question: SummaryQuestion) -> str | None:
        keys = {"r": "read and edit it", "a": "apply it as it is", "n": "do not apply it"}
        words = f"A summary of {len(question.summary.split()):,} words is ready to take the place of earlier messages."
        answer = await self.choose("Apply the summary?", words, keys)
        if answer == "r":
            return await self._edited(question.summary)
        return question.summary if answer == "a" else None

    async def approve(self, question: ApprovalQuestion) -> Approval:
        answer = await self._ask_showing(_wish(question), question.what, _approval_keys(question), question.note)
        match answer:
            case "y":
                return Approval(approved=True, by=USER)
            case "s":
                return Approval(approved=True, by=USER, scope="session")
            case "p":
                return Approval(approved=True, by=USER, scope="pattern", pattern=question.pattern)
            case "r":
                reason = await self._line("Why not? The model is told.")
                return (
                    await self.approve(question) if reason is None else Approval(approved=False, by=USER, reason=reason)
                )
            case _:
                return Approval(approved=False, by=USER)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        options = question.options[:MOST_OPTIONS]
        keys = {str(n): one_line(option, 60) for n, option in enumerate(options, 1)}
        keys |= {"w": "another answer…" if options else "write the answer…", "n": "no answer"}
        answer = await self._ask_showing("The model asks", question.question, keys)
        if answer.isdecimal():
            return ModelAnswer(text=options[int(answer) - 1])
        if answer == "w":
            text = await self._line("Your answer")
            return ModelAnswer(text=text) if text else await self.ask(question)
        return ModelAnswer(declined=True, reason="The user gave no answer.")

    async def _ask_showing(self, title: str, text: str, answers: Mapping[str, str], note: str = "") -> str:
        """The key that was pressed, after as much reading as is wished."""
        while (answer := await self.choose(title, inert(text), answers, note=note, opens=True)) == ALL_OF_IT:
            await self._read(title, text)
        return answer

    async def choose(
        self, title: str, text: str, answers: Mapping[str, str], *, note: str = "", opens: bool = False
    ) -> str:
        """The key that was pressed."""
        async with self._turn:
            return await self._ask_now(title, text, answers, note, opens)

    async def _ask_now(self, title: str, text: str, answers: Mapping[str, str], note: str, opens: bool) -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        panels: list[QuestionPanel] = []

        def show() -> None:
            panels.append(QuestionPanel(title, text, answers, answered, note=one_line(note, NOTE_CHARS), opens=opens))
            self._chat.show_question(panels[0])

        def answered(key: str) -> None:
            if not answer.done():
                answer.set_result(key)

        def close() -> None:
            for panel in panels:
                self._chat.end_question(panel)

        # A session's task runs outside of the app's context, in which widgets have to be made.
        self._app.call_later(show)
        try:
            return await answer
        finally:
            self._app.call_later(close)

    async def _edited(self, summary: str) -> str | None:
        from co_tui.ui.screens.edit import EditScreen

        return await self._answer_of(EditScreen("The summary, before it is applied", summary, refusal="do not apply"))

    async def _line(self, title: str) -> str | None:
        """What was written; None when whoever was asked went back."""
        from co_tui.ui.screens.question import AskScreen

        self._app.call_later(self._chat.show_asking, True)
        try:
            written = await self._answer_of(AskScreen(title))
        finally:
            self._app.call_later(self._chat.show_asking, False)
        return written.strip() if written is not None else None

    async def _read(self, title: str, text: str) -> None:
        from co_tui.ui.screens.detail import TextScreen

        await self._answer_of(TextScreen(title, _whole_diff(inert(text)) if is_diff(text) else text))

    async def _answer_of(self, screen: "Dialog[T]") -> T | None:
        """What a dialog was answered with; it is withdrawn when nobody waits for it any more."""
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


def _whole_diff(text: str) -> Content:
    """With the two lines that name its files."""
    lines = text.split("\n")
    return Content("\n").join([*(Content.styled(line, "bold") for line in lines[:2]), *coloured(lines[2:])])


def _approval_keys(question: ApprovalQuestion) -> dict[str, str]:
    """What cannot be taken back is allowed once, or not."""
    like = {"p": f"always `{one_line(question.pattern, 40)}` here"} if question.pattern else {}
    further = {} if question.every_time else {"s": "always in this session", **like}
    return {"y": "once", **further, "n": "no", "r": "no, because…"}


def _wish(question: ApprovalQuestion) -> str:
    who = f"{one_line(question.agent, 20)}: " if question.agent else ""
    place = f" · {question.number} of {question.of}" if question.of > 1 else ""
    wish = "wants to run"
    if is_diff(question.what):
        added, taken = (sum(line.startswith(sign) for line in changes(question.what)) for sign in "+-")
        path = one_line(str(question.arguments.get("path", "")), 40)
        new = question.what.startswith("--- new file\n")
        wish = f"wants to create {path} · +{added:,}" if new else f"wants to change {path} · +{added:,} −{taken:,}"
    return f"{who}{one_line(question.tool, 40)} {wish}{place}"
