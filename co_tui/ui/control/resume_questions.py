"""Questions before a stored session is opened: which folder, which model, and what to do if it is open elsewhere."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.events.model_names import short_name
from co_tui.inert import one_line
from co_tui.paths import path_text, recorded_path
from co_tui.session.repository_identity import folder_here
from co_tui.session.state.session_state import SessionState
from co_tui.session.workplace.host.address import continue_hint, recorded_address
from co_tui.store.store_errors import SessionAbandoned, SessionBusy, SessionOfAnother
from co_tui.ui.background import start_awaited
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.live_settings import LiveSettings
from co_tui.ui.formatting import folder
from co_tui.ui.keys.command_table import ShortcutFor, shortcut_for

MODEL_CHARS: Final = 60
THERE, HERE, TAKE, READ, FORK, OTHER, NOT_NOW = "f", "h", "t", "r", "f", "u", "esc"
HOST_CHARS: Final = 60
ElsewhereAnswer: TypeAlias = Literal["take over", "read", "fork", "not now"]
_ELSEWHERE: Final[Mapping[str, ElsewhereAnswer]] = {TAKE: "take over", READ: "read", FORK: "fork"}
_COPY: Final = {READ: "Read only", FORK: "Continue in a copy", NOT_NOW: "Not now"}


class Choose(Protocol):
    """Asks above the prompt; returns the key that was pressed."""

    def __call__(self, title: str, text: str, answers: Mapping[str, str], /) -> Coroutine[Any, Any, str]: ...


class ResumeQuestions:
    """One question at a time. Sending a prompt answers it with "here"; opening another session withdraws it."""

    def __init__(self, choose: Choose, shortcut_for: ShortcutFor = shortcut_for) -> None:
        self._choose = choose
        self._way_to = shortcut_for
        self._asked: asyncio.Future[str] | None = None
        self._is_asking_folder = False

    async def folder(self, worked_in: str, model: str, here: Path) -> Path:
        """The folder to continue in, for a session that worked in another one that still exists."""
        with_model = f" with {one_line(short_name(model), MODEL_CHARS)}" if model else ""
        text = f"It worked in {folder(worked_in)}{with_model}; you are in {folder(path_text(here))}."
        answers = {THERE: "Continue there", HERE: "Continue here"}
        self._is_asking_folder = True
        try:
            answer = await self._answer("This session is from another folder", text, answers)
        finally:
            self._is_asking_folder = False
        return recorded_path(worked_in) if answer == THERE else here

    async def elsewhere(self, busy: SessionBusy) -> ElsewhereAnswer:
        """What to do with a session that another process has open, another user owns, or another machine left open."""
        answers = _COPY
        match busy:
            case SessionOfAnother():
                title = f"This session belongs to {one_line(busy.owner, HOST_CHARS)}"
                text = "You can read it, and continue in a copy of your own."
            case SessionAbandoned():
                host, until = one_line(busy.host, HOST_CHARS), busy.until
                is_today = until.date() == datetime.now().astimezone().date()
                at = f"{until:%H:%M}" if is_today else f"{until:%d %b %H:%M}"
                title, answers = "Take this session over?", {TAKE: "Take it over", **_COPY}
                text = f"It was being written on {host} until {at} and was not closed there."
            case _:
                who = f" (process {one_line(busy.owner, 20)})" if busy.owner else ""
                title = "This session is open elsewhere"
                text = f"It is open in another co-tui{who}; only one can write to it."
        return _ELSEWHERE.get(await self._answer(title, text, answers), "not now")

    async def another_model(self, model: str, why: str, usual: str) -> str:
        """The model to use instead of an unusable one; empty if none was chosen."""
        instead = "the embedded model" if usual == EMBEDDED else one_line(short_name(usual), MODEL_CHARS)
        answers = {OTHER: f"Continue with {instead}", NOT_NOW: "Not now"}
        text = f"{one_line(why, 300)} {self._way_to('model')} lists the others."
        answer = await self._answer(f"{one_line(short_name(model), MODEL_CHARS)} cannot answer", text, answers)
        return usual if answer == OTHER else ""

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        return self._asked is not None

    def continue_here(self) -> None:
        """Continue in the present folder: a prompt was sent while the question was open."""
        if self._is_asking_folder:
            self.withdraw()

    def withdraw(self) -> None:
        """Close the open question, if any, unanswered."""
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


class ShownSession(Protocol):
    """The session on the screen, open or not."""

    @property
    def session_id(self) -> str: ...

    @property
    def state(self) -> SessionState: ...


def _found_here(state: SessionState, here: Path) -> tuple[bool, Path | None]:
    """Whether a session's folder is on this machine; if not, the same place in this checkout, if that is there."""
    if recorded_path(state.cwd).is_dir():
        return True, None
    return False, folder_here(state.cwd, state.repository, state.repository_id, here)


class FolderChoice:
    """Asks which folder to use for a session from another folder: once per session, while the engine still loads."""

    def __init__(
        self,
        chat: ChatScreen,
        questions: ResumeQuestions,
        settings: LiveSettings,
        shown: ShownSession,
        prompt_waits: Callable[[], bool],
    ) -> None:
        """`prompt_waits` says whether a prompt waits for the session: then it continues here without a question."""
        self._chat, self._questions, self._settings, self._shown = chat, questions, settings, shown
        self._prompt_waits = prompt_waits
        self._settled: tuple[str, asyncio.Task[None]] | None = None

    def settle(self) -> "asyncio.Task[None]":
        """Done once the folder is the shown session's, or the user chose to stay here."""
        session_id = self._shown.session_id
        if self._settled is None or self._settled[0] != session_id:
            self._settled = (session_id, start_awaited(self._choose(session_id)))
        return self._settled[1]

    async def _choose(self, session_id: str) -> None:
        launch = self._settings.launch
        state, here = self._shown.state, launch.cwd
        if not state.cwd or state.cwd == launch.workplace.text:
            return
        if not launch.workplace.can_move_to(state.cwd):
            address = recorded_address(state.cwd)
            then = f" {continue_hint(address, session_id)}" if address is not None else ""
            self._chat.feed.note(
                f"This session worked in {one_line(state.cwd, 300)}; it now works in {launch.workplace.text}.{then}"
            )
            return
        is_there, same = await asyncio.to_thread(_found_here, state, here)
        worked_in = state.cwd if is_there else path_text(same or here)
        if same == here:
            self._chat.feed.note(f"This session worked in {folder(state.cwd)}, the same place in another checkout.")
            return
        if worked_in == path_text(here) or self._prompt_waits():
            gone = "" if is_there else " (deleted)"
            self._chat.feed.note(
                f"This session worked in {folder(state.cwd)}{gone}; it now works in {folder(path_text(here))}."
            )
            return
        chosen = await self._questions.folder(worked_in, state.model, here)
        if chosen != here and self._shown.session_id == session_id:
            await self._settings.move(chosen)
