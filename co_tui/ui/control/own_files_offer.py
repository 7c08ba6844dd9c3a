"""Offers the user's own files for Claude Code and Codex, where there are some."""

from collections.abc import Callable
from typing import Any, Final

from textual.app import App

from co_tui.settings import found_own_files
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.background import in_thread
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.controller import SessionController
from co_tui.ui.control.model_offers import USE, Offer

SETTING: Final = "files_of_other_agents"
TEXT: Final = "Your own for every project: {}. Use them here, too?"


class OwnFilesOffer(Offer):
    """Asks once, when no other question is open; the answer is a setting."""

    def __init__(
        self, app: App[Any], chat: ChatScreen, controller: SessionController, run: Callable[[str, str], None]
    ) -> None:
        """`run` runs a command."""
        super().__init__(app, chat, controller)
        self._run = run

    async def offer_once(self) -> None:
        launch = self._controller.launch
        if launch.private or launch.settings.files_of_other_agents != "ask":
            return
        found = await in_thread(found_own_files, launch.paths)
        if found and not self._chat.query(QuestionPanel) and self._controller.session is None:
            answers = {USE: "Use them", "esc": "No"}
            self._show(
                "You have files for Claude Code or Codex", TEXT.format(", ".join(found)), answers, self._answered
            )

    def _answered(self, key: str) -> None:
        self._close()
        self._run("config", f"{SETTING} {'on' if key == USE else 'off'}")
