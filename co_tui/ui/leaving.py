"""How the app is left: in order, and not without a word when that would lose something."""

import time
from typing import Any, Final

from textual.app import App

from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.controller import UNSAVED, SessionController
from co_tui.ui.terminal.clipboard import copy

QUIT_AGAIN_S: Final = 3.0
"""A second Ctrl+C within this time quits."""


class Leaving:
    """By Ctrl+C, by the command to quit, or by a signal."""

    def __init__(self, app: App[Any], chat: ChatScreen, controller: SessionController) -> None:
        self._app, self._chat, self._controller = app, chat, controller
        self._asked_at = self._warned_of_loss_at = 0.0

    def stay(self) -> None:
        """Something else was typed: whoever pressed Ctrl+C before did not want to leave."""
        self._asked_at = 0.0

    async def quit(self) -> None:
        """A running turn is stopped and kept as far as it came. What leaving would lose is told first."""
        asked_before = time.monotonic() - self._warned_of_loss_at < QUIT_AGAIN_S
        if self._controller.has_unsaved and not asked_before:
            self._warned_of_loss_at = time.monotonic()
            self._app.notify(f"{UNSAVED} Quitting again loses it.", severity="error", timeout=QUIT_AGAIN_S)
            return
        await self.leave(0)

    async def leave(self, code: int) -> None:
        """Whatever is lost by it."""
        if await self._controller.close():
            words = [*filter(None, (self._controller.parting_words, self._controller.way_back))]
            failed = bool(self._controller.parting_words)
            self._app.exit(message="\n".join(words) or None, return_code=1 if failed else code)

    @property
    def told_kept(self) -> str:
        """What becomes of what was said."""
        if self._controller.launch.private:
            return "Nothing is kept: this window is private."
        return UNSAVED if self._controller.has_unsaved else "What was said is kept."

    async def copy_or_leave(self) -> None:
        """Copy what is selected; else clear what is being written; else stop the turn; else take back what waits for
        a session; else leave, when asked twice."""
        now = time.monotonic()
        asked_before = now - self._asked_at < QUIT_AGAIN_S
        self._asked_at = 0.0
        if selected := self._app.screen.get_selected_text() or self._chat.prompt.selected_text:
            copy(self._app, selected, "selection")
        elif self._app.screen is self._chat and self._chat.prompt.text:
            self._chat.prompt.clear_draft()
            self._app.notify("Draft cleared; ↑ or Ctrl+Z brings it back.", timeout=3)
        elif self._controller.busy:
            self._controller.interrupt()
        elif self._controller.sender.take_back():
            pass
        elif asked_before or self._controller.has_unsaved:  # of which quitting warns by itself
            await self.quit()
        else:
            self._asked_at = now
            self._app.notify(f"Ctrl+C again quits. {self.told_kept}", timeout=QUIT_AGAIN_S)
