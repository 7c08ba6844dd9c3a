"""Offers a model server that runs on this machine, where the embedded model would answer otherwise."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from co_tui.agent.models import usual_servers
from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.events.model_names import served, short_name
from co_tui.inert import one_line
from co_tui.store.learned_numbers import LearnedNumbers
from co_tui.ui.approvals.question_bar import QuestionPanel, simple_question
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.controller import SessionController
from co_tui.ui.heavy_imports import import_locked

if TYPE_CHECKING:
    from types import ModuleType

    from co_tui.agent.models.nearby_servers import FoundModel

ANSWERED: Final = "local-server-offered"
NAME_CHARS: Final = 24
USE, ALWAYS, OTHER = "u", "a", "m"


class ServerOffer:
    """Looks for servers in the background, after the first paint, and asks once."""

    def __init__(
        self,
        chat: ChatScreen,
        controller: SessionController,
        run: Callable[[str, str], None],
        otherwise: Callable[[], None],
    ) -> None:
        """`run` runs a command; `otherwise` is called when there is nothing to offer."""
        self._chat, self._controller, self._run, self._otherwise = chat, controller, run, otherwise
        self._panel: QuestionPanel | None = None

    async def look(self) -> None:
        """Offer the first model found, unless another model was chosen, or the offer was declined before."""
        found = [] if self._is_settled else await self._found()
        if not found or self._is_settled:
            self._otherwise()
            return
        self._ask(found)

    @property
    def _is_settled(self) -> bool:
        launch, state = self._controller.launch, self._controller.state
        uses_embedded = (state.model or launch.choice.model) == EMBEDDED
        return bool(launch.settings.model) or not uses_embedded or bool(self._answers.get(ANSWERED))

    async def _found(self) -> "list[FoundModel]":
        servers = await usual_servers.listening(usual_servers.USUAL_SERVERS)
        if not servers:
            return []
        nearby = await asyncio.to_thread(import_locked, _nearby)
        answers = await asyncio.gather(*map(nearby.models_at, servers))
        return [model for models in answers for model in models]

    def _ask(self, found: "list[FoundModel]") -> None:
        first = found[0]
        at = served(first.model)
        name = one_line(at.name if at is not None else short_name(first.model), NAME_CHARS)
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        question = simple_question(
            f"{first.server} is running here",
            f"It serves {name}{more}. Without a choice, the small embedded model answers.",
            {USE: f"Use {name}", ALWAYS: "Always use it", OTHER: "Choose another model", "esc": "Not now"},
        )
        self._panel = QuestionPanel(question, partial(self._answered, first.model))
        self._chat.show_question(self._panel, turn_waits=False)

    def _answered(self, model: str, key: str) -> None:
        panel, self._panel = self._panel, None
        if panel is None:
            return  # answered before
        self._chat.end_question(panel)
        if key == USE:
            self._run("model", model)
        elif key == ALWAYS:
            self._run("config", f"model {model}")
        elif key == OTHER:
            self._run("model", "")
        else:
            self._answers.put(ANSWERED, 1)
            self._otherwise()

    @property
    def _answers(self) -> LearnedNumbers:
        return LearnedNumbers(self._controller.launch.paths.hints)


def _nearby() -> "ModuleType":
    """The module that asks servers; slow to import."""
    from co_tui.agent.models import nearby_servers

    return nearby_servers
