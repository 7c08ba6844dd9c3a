"""Leaving the app: close the session in order, and warn before anything is lost."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from textual.app import App

from co_tui.store.store_errors import UNSAVED
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.dialogs.safe_screen import SafeScreen

if TYPE_CHECKING:
    from co_tui.ui.control.controller import SessionController

QUIT_AGAIN_S: Final = 3.0
"""A second Ctrl+C within this time quits."""
UNSAVED_TEXT: Final = "The text in this dialog is not saved."
STOP: Final = "s"


class Leaving:
    """Leave by Ctrl+C, by /quit or by a signal."""

    def __init__(self, app: App[Any], chat: ChatScreen, controller: "Callable[[], SessionController]") -> None:
        """`controller` makes it when first called."""
        self._app, self._chat, self._made_controller = app, chat, controller
        self._asked_at = self._warned_of_loss_at = float("-inf")
        self._asks_about_work = False

    @property
    def _controller(self) -> "SessionController":
        return self._made_controller()

    def stay(self) -> None:
        """Forget an earlier Ctrl+C: something else was typed since."""
        self._asked_at = float("-inf")

    async def quit(self) -> None:
        """Stop a running turn, keep what it produced, and exit. Warns first if that would lose messages or a text that
        is written in a dialog, and asks if background commands or delegations run."""
        asked_before = time.monotonic() - self._warned_of_loss_at < QUIT_AGAIN_S
        if (lost := self._what_is_lost) and not asked_before:
            self._warned_of_loss_at = time.monotonic()
            self._app.notify(lost, severity="error", timeout=QUIT_AGAIN_S)
            return
        if not self._asks_about_work and (running := self._controller.work.summary()):
            self._ask_about(running)
        else:
            await self.leave(0)

    def _ask_about(self, running: str) -> None:
        """Ask whether to stop this work; quitting again while it asks does so."""
        from textual.content import Content

        from co_tui.ui.approvals.choices import Choice
        from co_tui.ui.files.choice_screen import ChoiceScreen

        verb = "is" if running.startswith("1 ") and " and " not in running else "are"
        text = Content(f"{running} {verb} still running.")
        choices = (Choice(STOP, "Stop and quit"), Choice("n", "Stay"))
        self._asks_about_work = True
        self._app.push_screen(ChoiceScreen("Quit?", text, choices), self._answered)

    async def _answered(self, answer: str | None) -> None:
        self._asks_about_work = False
        if answer == STOP:
            await self.leave(0)

    async def leave(self, code: int) -> None:
        """Close and exit without a warning."""
        if await self._controller.close():
            lines = [*filter(None, (self._controller.exit_message, self._controller.resume_hint))]
            failed = bool(self._controller.exit_message)
            self._app.exit(message="\n".join(lines) or None, return_code=1 if failed else code)

    @property
    def _what_is_lost(self) -> str:
        """What quitting now would lose, in a sentence; empty for nothing."""
        if self._controller.has_unsaved:
            return f"{UNSAVED} Quitting again loses them."
        has_text = any(isinstance(each, SafeScreen) and each.has_unsaved_text for each in self._app.screen_stack)
        return f"{UNSAVED_TEXT} Quitting again loses it." if has_text else ""

    @property
    def kept_sentence(self) -> str:
        """Says whether the conversation is kept."""
        if self._controller.launch.private:
            return "Nothing is saved (private session)."
        return UNSAVED if self._controller.has_unsaved else "Everything is saved."

    async def copy_or_leave(self) -> None:
        """Copy the selection, on the screen or in the focused field; else clear the draft; else stop the turn; else
        withdraw what waits for a session; else leave, when pressed twice."""
        now = time.monotonic()
        asked_before = now - self._asked_at < QUIT_AGAIN_S
        self._asked_at = float("-inf")
        focused = self._chat.prompt if self._app.screen is self._chat else self._app.screen.focused
        if selected := self._app.screen.get_selected_text() or getattr(focused, "selected_text", ""):
            from co_tui.ui.terminal.clipboard import copy

            if not getattr(focused, "password", False):
                copy(self._app, selected, "selection")
        elif self._app.screen is self._chat and self._chat.prompt.text:
            self._chat.prompt.clear_draft()
            keys = "Ctrl+Z" if self._chat.prompt.up_opens_queue else "↑ or Ctrl+Z"
            self._app.notify(f"Draft cleared. {keys} brings it back.", timeout=3)
        elif self._controller.busy:
            self._controller.interrupt()
        elif self._controller.sender.withdraw_latest():
            pass
        elif asked_before or self._what_is_lost:  # `quit` warns about that itself
            await self.quit()
        else:
            self._asked_at = now
            self._app.notify(f"Press Ctrl+C again to quit. {self.kept_sentence}", timeout=QUIT_AGAIN_S)
