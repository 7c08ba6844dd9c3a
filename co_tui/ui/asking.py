"""Asks the person at the screen on behalf of a compaction."""

import asyncio
from typing import TYPE_CHECKING, TypeVar

from co_tui.ui.screens.dialog import Dialog

if TYPE_CHECKING:
    from co_tui.ui.app import CoTui

T = TypeVar("T")


class ScreenAsker:
    """What a session asks becomes a dialog; when nobody waits for the answer any more, the dialog closes."""

    def __init__(self, app: "CoTui") -> None:
        self._app = app

    async def may_compact(self, trigger: str, messages: int, share: float) -> bool:
        from co_tui.ui.screens.question import ConfirmScreen

        question = f"The context is {share * 100:.0f} % full. Summarise {messages} earlier messages now?"
        answer: bool | None = await self._ask(ConfirmScreen(question))
        return bool(answer)

    async def review(self, summary: str) -> str | None:
        from co_tui.ui.screens.edit import EditScreen

        return await self._ask(EditScreen("The summary, before it is applied", summary, refusal="do not apply"))

    async def _ask(self, screen: Dialog[T]) -> T | None:
        answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

        def answered(result: T | None) -> None:
            if not answer.done():
                answer.set_result(result)

        # A session's task runs outside of the app's context, in which screens have to be made.
        self._app.call_later(self._app.push_screen, screen, answered)
        try:
            return await answer
        finally:
            if not answer.done() or answer.cancelled():
                self._app.call_later(screen.withdraw)
