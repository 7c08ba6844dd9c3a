"""From the prompt to the session: what is said at once, what waits, and what goes back to its writer."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from textual.app import App

from co_tui.session.file_references import NamedFile
from co_tui.store.errors import StoreError
from co_tui.ui.background import run_in_background
from co_tui.ui.screens.chat import ChatScreen
from co_tui.ui.transcript_feed import HELD, QUEUED, STARTING, STEERING, WaitingShown
from co_tui.ui.widgets.prompt import is_own_command

if TYPE_CHECKING:
    from co_tui.session.session import Session

OPENING = "Opening the session"
SENDING = "Sending the prompt"
KEPT_HERE = (
    "What was said since is only in this window: it is saved as soon as that works, and lost if you leave before."
)


class SessionOpener(Protocol):
    """Who has the session that prompts go to."""

    @property
    def session(self) -> "Session | None":
        """The open one."""

    @property
    def engine_is_loaded(self) -> bool: ...

    @property
    def opening(self) -> bool:
        """Whether a session is just being opened."""

    def go_on_here(self) -> None:
        """A prompt waits: what is asked about where the session goes on is answered by it."""

    async def open_for_prompt(self) -> bool:
        """Open the session that is shown, or start one. What goes wrong is said in the chat."""


class OutgoingPrompt(NamedTuple):
    """What was written, on its way to the session."""

    text: str
    files: tuple[NamedFile, ...] = ()
    steers: bool = False


class PromptSender:
    """Loses no prompt: what could not be said goes back to where it was written."""

    def __init__(self, host: App[Any], chat: ChatScreen, opener: SessionOpener) -> None:
        self._host = host
        self._chat = chat
        self._opener = opener
        self._unsent: list[OutgoingPrompt] = []
        """Prompts that wait for a session."""
        self._trouble = ""
        """Why nothing can be sent at all."""

    @property
    def has_unsent(self) -> bool:
        """Whether a prompt waits for a session."""
        return bool(self._unsent)

    def refuse(self, trouble: str) -> None:
        """Send nothing from now on."""
        self._trouble = trouble
        self._chat.feed.note(trouble, "error")
        self._chat.set_busy(False, "nothing can be sent")
        self.give_back_unsent()

    def send(self, prompt: OutgoingPrompt) -> None:
        """Say something; before the engine is there, it waits and says so."""
        opener = self._opener
        if self._trouble:
            self._chat.feed.note(self._trouble, "error")
            self.give_back(prompt.text)
            return
        if opener.engine_is_loaded and opener.session is not None and not opener.opening:
            self._begin_turn(prompt)
            return
        self._unsent.append(prompt)
        self.show_waiting()
        opener.go_on_here()
        self._chat.set_busy(False, STARTING)
        if opener.engine_is_loaded and not opener.opening:
            self.send_unsent()

    def send_unsent(self) -> None:
        """Say what waited for a session."""
        if self._unsent:
            run_in_background(
                self._host, OPENING, self._open_and_send, group="start", latest=True, failed=self.stop_waiting
            )

    async def _open_and_send(self) -> None:
        # A session that could not be opened before is tried again: a prompt must not end up in another one.
        if self._opener.session is None and not await self._opener.open_for_prompt():
            self.stop_waiting()
            return
        unsent, self._unsent = self._unsent, []
        self.show_waiting()
        for prompt in unsent:
            self._begin_turn(prompt)

    def _begin_turn(self, prompt: OutgoingPrompt) -> None:
        def failed() -> None:
            self.give_back(prompt.text)
            self.stop_waiting()

        run_in_background(self._host, SENDING, partial(self._turn, prompt), group="turns", failed=failed)

    async def _turn(self, prompt: OutgoingPrompt) -> None:
        session = self._opener.session
        assert session is not None
        turns = session.state.turn
        done = await self._follow(session, partial(self._say, session, prompt))
        if not done and session.state.turn == turns:  # it never became part of the conversation
            self.give_back(prompt.text)

    async def _say(self, session: "Session", prompt: OutgoingPrompt) -> None:
        from co_tui.session.attachments import AttachmentRefused
        from co_tui.session.user_command import CommandRefused

        try:
            if is_own_command(prompt.text):
                await session.run_command(prompt.text[1:].strip())
            else:
                await session.submit(prompt.text, files=prompt.files, steer=prompt.steers)
        except (AttachmentRefused, CommandRefused) as refused:
            self._chat.feed.note(str(refused), "error")
            self.give_back(prompt.text)

    def go_on(self, session: "Session") -> None:
        """Ask again what was open when the session was left."""
        pending = partial(self._follow, session, session.ask_pending)
        run_in_background(self._host, "Asking again", pending, group="turns", failed=self.stop_waiting)

    async def _follow(self, session: "Session", turn: Callable[[], Awaitable[object]]) -> bool:
        """Show that a turn runs, until it ends; False when it failed, which is said in the chat."""
        self._chat.set_busy(True)
        try:
            await turn()
        except Exception as error:
            self._chat.feed.note(_told(error, session), "error")
            return False
        finally:
            self._chat.set_busy(session is self._opener.session and session.busy)
        return True

    def send_held(self) -> None:
        """Go on with what an interruption left waiting."""
        session = self._opener.session
        if session is not None and any(prompt.held for prompt in session.waiting):
            session.release()
            self._chat.set_busy(session.busy)

    @property
    def unsaid(self) -> list[str]:
        """What was written and sent, and not said yet."""
        queued = self._opener.session.waiting if self._opener.session is not None else ()
        return [*(each.text for each in queued), *(prompt.text for prompt in self._unsent)]

    def show_waiting(self) -> None:
        """The prompts that wait for their turn in the session, and those that wait for a session."""
        session = self._opener.session
        queued = session.waiting if session is not None else ()
        shown = [WaitingShown(each.text, HELD if each.held else STEERING if each.steers else QUEUED) for each in queued]
        self._chat.show_waiting([*shown, *(WaitingShown(prompt.text, STARTING) for prompt in self._unsent)])

    def give_back(self, prompt: str) -> None:
        """Return a prompt that was not said to its writer."""
        self._chat.prompt.bring_back(prompt)

    def stop_waiting(self) -> None:
        """What prompts waited for failed: they go back to their writer, and nothing is shown as under way."""
        self.give_back_unsent()
        session = self._opener.session
        self._chat.set_busy(session is not None and session.busy)

    def give_back_unsent(self) -> None:
        unsent, self._unsent = self._unsent, []
        self.show_waiting()
        for prompt in unsent:
            self.give_back(prompt.text)


def _told(error: Exception, session: "Session") -> str:
    if not isinstance(error, StoreError):
        return f"The turn failed: {error!r}"
    return f"{error} {KEPT_HERE}" if session.has_unsaved else str(error)
