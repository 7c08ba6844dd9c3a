"""Asks the person at the screen on behalf of a compaction, without taking the keyboard from who is typing."""

import asyncio
from collections.abc import Mapping
from typing import Any

from textual.app import App

from co_tui.ui.screens.chat import ChatScreen
from co_tui.ui.widgets.question import QuestionPanel


class DialogQuestions:
    """What a session asks becomes a panel; when nobody waits for the answer any more, the panel closes."""

    def __init__(self, app: App[Any], chat: ChatScreen) -> None:
        self._app = app
        self._chat = chat

    async def may_compact(self, trigger: str, messages: int, share: float) -> bool:
        question = f"The context is {share * 100:.0f} % full. Summarise {messages} earlier messages now?"
        return await self._ask("Compact the conversation?", question, {"y": "yes", "n": "no"}) == "y"

    async def review(self, summary: str) -> str | None:
        keys = {"r": "read and edit it", "a": "apply it as it is", "n": "do not apply it"}
        words = f"A summary of {len(summary.split()):,} words is ready to take the place of earlier messages."
        answer = await self._ask("Apply the summary?", words, keys)
        if answer == "r":
            return await self._edited(summary)
        return summary if answer == "a" else None

    async def _ask(self, title: str, text: str, answers: Mapping[str, str]) -> str:
        """The key that was pressed."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        panels: list[QuestionPanel] = []

        def show() -> None:
            panels.append(QuestionPanel(title, text, answers, answered))
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

        screen = EditScreen("The summary, before it is applied", summary, refusal="do not apply")
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def answered(result: str | None) -> None:
            if not answer.done():
                answer.set_result(result)

        self._app.call_later(self._app.push_screen, screen, answered)
        try:
            return await answer
        finally:
            if not answer.done() or answer.cancelled():
                self._app.call_later(screen.withdraw)
