"""Offers the embedded model once on a machine without it, and downloads it in the background."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from textual.app import App

from co_tui.agent.local import embedded
from co_tui.agent.local.embedded import DOWNLOAD_MB
from co_tui.agent.local.embedded_fetch import fetch
from co_tui.agent.models.catalogue import EMBEDDED, EMBEDDED_LABEL
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.store.learned_numbers import LearnedNumbers
from co_tui.ui.approvals.question_bar import QuestionPanel, simple_question
from co_tui.ui.background import run_in_background, start_awaited
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.controller import SessionController

ANSWERED = "embedded-model-offered"
BAR_CELLS = 24


class EmbeddedOffer:
    """Asks whether to download it, shows the progress, and uses it once it is installed."""

    def __init__(
        self, app: App[Any], chat: ChatScreen, controller: SessionController, choose: Callable[[], None]
    ) -> None:
        """`choose` opens the list of models."""
        self._app, self._chat, self._controller, self._choose = app, chat, controller, choose
        self._panel: QuestionPanel | None = None

    @property
    def is_installed(self) -> bool:
        return embedded.is_installed(self._controller.launch.paths.models)

    def ask_once(self) -> None:
        """Ask at startup if the model in use is the embedded one and is not installed."""
        model = self._controller.state.model or self._controller.launch.choice.model
        if model != EMBEDDED or self.is_installed:
            return
        self._chat.show_embedded_missing(True)
        if not self._answers.get(ANSWERED):
            answers = {"f": f"Fetch it ({DOWNLOAD_MB} MB)", "m": "Choose another model", "esc": "Not now"}
            self._show(
                "No model yet",
                f"Without a key, {EMBEDDED_LABEL} can answer on this machine, offline. It is small and only chats. "
                "The download runs once; you can type meanwhile.",
                answers,
                self._answered,
            )

    @property
    def _answers(self) -> LearnedNumbers:
        return LearnedNumbers(self._controller.launch.paths.hints)

    def _answered(self, key: str) -> None:
        self._close()
        if key == "f":
            self.fetch()
            return
        self._answers.put(ANSWERED, 1)
        if key == "m":
            self._choose()
        else:
            self._chat.feed.note(
                f"Download later with /fetch, or choose a model with {self._chat.shortcut_for('model')}."
            )

    def fetch(self) -> None:
        """Start the download, unless it is running."""
        if self._controller.backend.fetching is None:
            self._close()
            self._show("Downloading the embedded model", _progress_text(0), {"esc": "Cancel"}, lambda _: self._cancel())
            task = start_awaited(self._fetch())
            self._controller.backend.fetching = task
            task.add_done_callback(self._done)

    async def _fetch(self) -> None:
        launch = self._controller.launch
        await fetch(launch.paths.models, launch.environ, self._progressed)

    def _cancel(self) -> None:
        if (task := self._controller.backend.fetching) is not None:
            task.cancel()

    def _progressed(self, share: float) -> None:
        if self._panel is not None:
            self._panel.show_text(_progress_text(share))

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._controller.backend.fetching = None
        run_in_background(self._app, "Downloading the embedded model", partial(self._report, task), group="fetching")

    async def _report(self, task: "asyncio.Task[None]") -> None:
        self._close()
        if task.cancelled():
            self._chat.feed.note("Download cancelled. /fetch starts it again.")
        elif (error := task.exception()) is not None:
            failure = str(error) if isinstance(error, ModelUnusable) else f"Download failed: {error!r}."
            self._chat.feed.note(f"{failure} /fetch tries again.", "error")
        else:
            self._chat.show_embedded_missing(False)
            self._chat.feed.note("The embedded model is installed. It works offline.")
            await self._controller.backend.warm_again(EMBEDDED)

    def _show(self, title: str, text: str, answers: dict[str, str], answered: Callable[[str], None]) -> None:
        self._panel = QuestionPanel(simple_question(title, text, answers), answered)
        self._chat.show_question(self._panel, turn_waits=False)

    def _close(self) -> None:
        panel, self._panel = self._panel, None
        if panel is not None:
            self._chat.end_question(panel)


def _progress_text(share: float) -> str:
    filled = round(share * BAR_CELLS)
    done = f"{share * DOWNLOAD_MB:.0f} of {DOWNLOAD_MB} MB" if share < 0.99 else "unpacking"
    bar = f"{'▓' * filled}{'░' * (BAR_CELLS - filled)}"
    return f"{bar} {share * 100:.0f} %   {done}\nQueued prompts are sent when it is done."
