"""Offers a model where none was chosen: one of a server on this machine, else the download of the embedded one."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from textual.app import App

from co_tui.agent.local import embedded, embedded_fetch
from co_tui.agent.local.embedded import DOWNLOAD_MB
from co_tui.agent.models import usual_servers
from co_tui.agent.models.catalogue import EMBEDDED, EMBEDDED_LABEL
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.events.model_names import served, short_name
from co_tui.inert import one_line
from co_tui.store.learned_numbers import LearnedNumbers
from co_tui.ui.approvals.question_bar import QuestionPanel, simple_question
from co_tui.ui.background import run_in_background, start_awaited
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.controller import SessionController
from co_tui.ui.heavy_imports import import_locked, nearby_servers

if TYPE_CHECKING:
    from co_tui.agent.models.nearby_servers import FoundModel

SERVER_ANSWERED: Final = "local-server-offered"
EMBEDDED_ANSWERED: Final = "embedded-model-offered"
NAME_CHARS: Final = 24
BAR_CELLS: Final = 24
USE, ALWAYS, OTHER = "u", "a", "m"


class Offer:
    """A question in the chat that is asked once; the answer is remembered."""

    def __init__(self, app: App[Any], chat: ChatScreen, controller: SessionController) -> None:
        self._app, self._chat, self._controller = app, chat, controller
        self._panel: QuestionPanel | None = None

    @property
    def _answers(self) -> LearnedNumbers:
        return LearnedNumbers(self._controller.launch.paths.hints)

    def _show(self, title: str, text: str, answers: dict[str, str], answered: Callable[[str], None]) -> None:
        self._panel = QuestionPanel(simple_question(title, text, answers), answered)
        self._chat.show_question(self._panel, turn_waits=False)

    def _close(self) -> bool:
        """Remove the question; False if it is answered already."""
        panel, self._panel = self._panel, None
        if panel is not None:
            self._chat.end_question(panel)
        return panel is not None


def progress_bar(share: float) -> str:
    filled = round(share * BAR_CELLS)
    return f"{'▓' * filled}{'░' * (BAR_CELLS - filled)}"


class ServerOffer(Offer):
    """Looks for servers in the background, after the first paint, and asks once."""

    def __init__(
        self,
        app: App[Any],
        chat: ChatScreen,
        controller: SessionController,
        run: Callable[[str, str], None],
        nothing_found: Callable[[], None],
    ) -> None:
        """`run` runs a command; `nothing_found` is called when there is nothing to offer."""
        super().__init__(app, chat, controller)
        self._run, self._nothing_found = run, nothing_found

    async def look(self) -> None:
        """Offer the first model found, unless another model was chosen, or the offer was declined before."""
        found = [] if self._is_settled else await self._found()
        if not found or self._is_settled:
            self._nothing_found()
            return
        self._ask(found)

    @property
    def _is_settled(self) -> bool:
        launch, state = self._controller.launch, self._controller.state
        uses_embedded = (state.model or launch.choice.model) == EMBEDDED
        return bool(launch.settings.model) or not uses_embedded or bool(self._answers.get(SERVER_ANSWERED))

    async def _found(self) -> "list[FoundModel]":
        servers = await usual_servers.listening(usual_servers.USUAL_SERVERS)
        if not servers:
            return []
        nearby = await asyncio.to_thread(import_locked, nearby_servers)
        answers = await asyncio.gather(*map(nearby.models_at, servers))
        return [model for models in answers for model in models]

    def _ask(self, found: "list[FoundModel]") -> None:
        first = found[0]
        at = served(first.model)
        name = one_line(at.name if at is not None else short_name(first.model), NAME_CHARS)
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        self._show(
            f"{first.server} is running here",
            f"It serves {name}{more}. Without a choice, the small embedded model answers.",
            {USE: f"Use {name}", ALWAYS: "Always use it", OTHER: "Choose another model", "esc": "Not now"},
            partial(self._answered, first.model),
        )

    def _answered(self, model: str, key: str) -> None:
        if not self._close():
            return
        if key == USE:
            self._run("model", model)
        elif key == ALWAYS:
            self._run("config", f"model {model}")
        elif key == OTHER:
            self._run("model", "")
        else:
            self._answers.put(SERVER_ANSWERED, 1)
            self._nothing_found()


class EmbeddedOffer(Offer):
    """Asks whether to download it, shows the progress, and uses it once it is installed."""

    def __init__(
        self, app: App[Any], chat: ChatScreen, controller: SessionController, choose: Callable[[], None]
    ) -> None:
        """`choose` opens the list of models."""
        super().__init__(app, chat, controller)
        self._choose = choose

    @property
    def is_installed(self) -> bool:
        return embedded.is_installed(self._controller.launch.paths.models)

    def ask_once(self) -> None:
        """Ask at startup if the model in use is the embedded one and is not installed."""
        model = self._controller.state.model or self._controller.launch.choice.model
        if model != EMBEDDED or self.is_installed:
            return
        self._chat.show_embedded_missing(True)
        if not self._answers.get(EMBEDDED_ANSWERED):
            answers = {"f": f"Download it ({DOWNLOAD_MB} MB)", "m": "Choose another model", "esc": "Not now"}
            self._show(
                "No model yet",
                f"Without a key, {EMBEDDED_LABEL} can answer on this machine, offline. It is small and has no tools. "
                "The download runs once; you can keep typing.",
                answers,
                self._answered,
            )

    def _answered(self, key: str) -> None:
        self._close()
        if key == "f":
            self.fetch()
            return
        self._answers.put(EMBEDDED_ANSWERED, 1)
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
        await embedded_fetch.fetch(launch.paths.models, launch.environ, self._progressed)

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


def _progress_text(share: float) -> str:
    done = f"{share * DOWNLOAD_MB:.0f} of {DOWNLOAD_MB} MB" if share < 0.99 else "unpacking"
    return f"{progress_bar(share)} {share * 100:.0f} %   {done}\nQueued prompts are sent when it is done."
