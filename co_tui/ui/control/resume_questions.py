"""What is asked before a stored session is opened: where and with whom it goes on, and what if it is open elsewhere."""

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

from co_tui.agent.models.catalogue import EMBEDDED, short_name
from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.ui.background import start_awaited
from co_tui.ui.formatting import folder
from co_tui.ui.keys.command_table import ShortcutFor, shortcut_for

MODEL_CHARS: Final = 60
THERE, HERE, READ, FORK, OTHER, NOT_NOW = "f", "h", "r", "f", "u", "esc"
ElsewhereAnswer: TypeAlias = Literal["read", "fork", "not now"]


class Choose(Protocol):
    """Asks above the prompt; the key that was pressed is the answer."""

    def __call__(self, title: str, text: str, answers: Mapping[str, str], /) -> Coroutine[Any, Any, str]: ...


class ResumeQuestions:
    """One question at a time. Nobody has to answer: a prompt goes on here, another session withdraws the question."""

    def __init__(self, choose: Choose, shortcut_for: ShortcutFor = shortcut_for) -> None:
        self._choose = choose
        self._way_to = shortcut_for
        self._asked: asyncio.Future[str] | None = None
        self._asks_for_folder = False

    async def folder(self, worked_in: str, model: str, here: Path) -> Path:
        """Where a session goes on that worked in another folder, which is there."""
        with_whom = f" with {one_line(short_name(model), MODEL_CHARS)}" if model else ""
        text = f"It worked in {folder(worked_in)}{with_whom}; you are in {folder(path_text(here))}."
        answers = {THERE: "Continue there", HERE: "Continue here"}
        self._asks_for_folder = True
        try:
            answer = await self._answer("This session is from another folder", text, answers)
        finally:
            self._asks_for_folder = False
        return Path(worked_in) if answer == THERE else here

    async def elsewhere(self, owner: str) -> ElsewhereAnswer:
        """What to do with a session that another process writes."""
        who = f" (process {one_line(owner, 20)})" if owner else ""
        text = f"Another co-tui{who} has it, and only one can write it."
        answers = {READ: "Read only", FORK: "Continue in a copy", NOT_NOW: "Not now"}
        match await self._answer("This session is open elsewhere", text, answers):
            case "r":
                return "read"
            case "f":
                return "fork"
            case _:
                return "not now"

    async def another_model(self, model: str, why: str, usual: str) -> str:
        """Who answers instead of a model that cannot be used; empty for nobody yet."""
        instead = "the embedded model" if usual == EMBEDDED else one_line(short_name(usual), MODEL_CHARS)
        answers = {OTHER: f"Continue with {instead}", NOT_NOW: "Not now"}
        text = f"{one_line(why, 300)} {self._way_to('model')} lists the others."
        answer = await self._answer(f"{one_line(short_name(model), MODEL_CHARS)} cannot answer", text, answers)
        return usual if answer == OTHER else ""

    @property
    def are_asked(self) -> bool:
        """Whether one waits for its answer."""
        return self._asked is not None

    def go_on_here(self) -> None:
        """A prompt was sent while it was asked in which folder."""
        if self._asks_for_folder:
            self.withdraw()

    def withdraw(self) -> None:
        """Nobody waits for the answer any more."""
        if self._asked is not None:
            self._asked.cancel()

    async def _answer(self, title: str, text: str, answers: Mapping[str, str]) -> str:
        self._asked = asked = start_awaited(self._choose(title, text, answers))
        try:
            await asyncio.wait({asked})
        finally:
            self._asked = None
            asked.cancel()
        return NOT_NOW if asked.cancelled() else asked.result()
