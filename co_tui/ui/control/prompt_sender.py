"""From the prompt to the session: what is said at once, what waits, and what goes back to its writer."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from textual.app import App

from co_tui.inert import one_line
from co_tui.session.file_references import NamedFile
from co_tui.store.store_errors import StoreError
from co_tui.ui.background import run_in_background
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.chat.transcript_feed import HELD, QUEUED, STARTING, STEERING, WaitingShown
from co_tui.ui.prompt.prompt_area import is_own_command

if TYPE_CHECKING:
    from co_tui.session.session import Session

OPENING = "Opening the session"
SENDING = "Sending the prompt"
NOT_CARRIED_OUT = "The session these commands were given for was not opened, so they were not carried out:"
KEPT_HERE = (
    "What was said since is only in this window: it is saved as soon as that works, and lost if you leave before."
)


class SessionOpener(Protocol):
    """Who has the session that prompts go to."""

    @property
    def session(self) -> "Session | None":
        """The open one."""

    @property
    def session_id(self) -> str:
        """Of the session that is shown, open or not; empty before the first prompt."""

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


class WaitingCommand(NamedTuple):
    """A command that was given before its session was open."""

    text: str
    """As it would be typed."""
    run: Callable[[], Coroutine[Any, Any, None]]


class PromptSender:
    """Loses no prompt: what could not be said goes back to where it was written.

    Prompts and commands that wait for a session are carried out in the order in which they were given.
    """

    def __init__(self, host: App[Any], chat: ChatScreen, opener: SessionOpener) -> None:
        self._host = host
        self._chat = chat
        self._opener = opener
        self._unsent: list[OutgoingPrompt | WaitingCommand] = []
        """What waits for a session, in order."""
        self._run: object | None = None
        """The run that works off what waits; None while there is none."""
        self._trouble = ""
        """Why nothing can be sent at all."""

    @property
    def has_unsent(self) -> bool:
        """Whether a prompt waits for a session."""
        return any(isinstance(each, OutgoingPrompt) for each in self._unsent)

    @property
    def has_waiting(self) -> bool:
        """Whether a prompt or a command waits for a session."""
        return bool(self._unsent)

    @property
    def holds_commands(self) -> bool:
        """Whether a command that needs the session has to wait for it, or for what was given before."""
        opener = self._opener
        return not self._trouble and (self._run is not None or opener.opening or not opener.engine_is_loaded)

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
        is_open = opener.engine_is_loaded and opener.session is not None and not opener.opening
        if is_open and (self._run is None or prompt.steers):  # steering is for the turn that runs now
            self._begin_turn(prompt)
            return
        self._unsent.append(prompt)
        opener.go_on_here()
        self._wait()

    def run_next(self, prompt: OutgoingPrompt) -> None:
        """Say something on behalf of a command: before what waits behind that command."""
        if self._run is None:
            self.send(prompt)
        else:
            self._unsent.insert(0, prompt)
            self.show_waiting()

    def hold(self, command: WaitingCommand) -> None:
        """Carry out a command once the session is open, after what was given before it."""
        self._unsent.append(command)
        self._chat.transcript.follow_end()
        self._wait()

    def _wait(self) -> None:
        opener = self._opener
        self.show_waiting()
        if opener.session is None or opener.opening:
            self._chat.set_busy(False, STARTING)
        if opener.engine_is_loaded and not opener.opening:
            self.send_unsent()

    def send_unsent(self) -> None:
        """Work off what waited for a session."""
        if self._unsent and self._run is None:
            run = self._run = object()
            work = partial(self._work_off, run)
            run_in_background(self._host, OPENING, work, group="start", latest=True, failed=self.stop_waiting)

    async def _work_off(self, run: object) -> None:
        """One after the other: a command waits until the turns of the prompts before it have ended."""
        turns: list[asyncio.Event] = []
        try:
            while self._run is run and self._unsent:
                upcoming = self._unsent[0]
                is_prompt = isinstance(upcoming, OutgoingPrompt)
                if self._opener.session is None and (is_prompt or self._opener.session_id):
                    # Retry a session that could not be opened before: a prompt must not end up in another one.
                    if not await self._opener.open_for_prompt():
                        self.stop_waiting()
                        return
                    self.show_waiting()
                elif isinstance(upcoming, OutgoingPrompt):
                    self._take_first()
                    turns.append(self._begin_turn(upcoming))
                elif turns:
                    await turns.pop().wait()
                else:
                    self._take_first()
                    self._show_busy()
                    await upcoming.run()
        finally:
            if self._run is run:
                self._run = None

    def _take_first(self) -> None:
        del self._unsent[0]
        self.show_waiting()

    def _begin_turn(self, prompt: OutgoingPrompt) -> asyncio.Event:
        """Returns what is set when the turn has ended."""
        ended = asyncio.Event()

        def failed() -> None:
            self.give_back(prompt.text)
            self.stop_waiting()

        async def turn() -> None:
            try:
                await self._turn(prompt)
            finally:
                ended.set()

        run_in_background(self._host, SENDING, turn, group="turns", failed=failed)
        return ended

    async def _turn(self, prompt: OutgoingPrompt) -> None:
        session = self._opener.session
        assert session is not None
        turns = session.state.turn
        done = await self._follow(session, partial(self._say, session, prompt))
        if not done and session.state.turn == turns:  # it never became part of the conversation
            self.give_back(prompt.text)

    async def _say(self, session: "Session", prompt: OutgoingPrompt) -> None:
        from co_tui.session.attachments import AttachmentRefused
        from co_tui.session.processes.user_command import CommandRefused

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
        unsent = [each.text for each in self._unsent if isinstance(each, OutgoingPrompt)]
        return [*(each.text for each in queued), *unsent]

    def show_waiting(self) -> None:
        """The prompts that wait for their turn in the session, and what waits for a session."""
        session = self._opener.session
        queued = session.waiting if session is not None else ()
        shown = [WaitingShown(each.text, HELD if each.held else STEERING if each.steers else QUEUED) for each in queued]
        waits_for = STARTING if session is None else QUEUED
        self._chat.show_waiting([*shown, *(WaitingShown(each.text, waits_for) for each in self._unsent)])

    def take_back(self) -> bool:
        """Take back what was given last and waits for a session; False when nothing does."""
        if not self._unsent:
            return False
        latest = self._unsent.pop()
        self.show_waiting()
        if isinstance(latest, OutgoingPrompt):
            self.give_back(latest.text)
        else:
            self._host.notify(f"{one_line(latest.text, 60)} is taken back.", timeout=3, markup=False)
        if not self._unsent:
            self._show_busy()
        return True

    def give_back(self, prompt: str) -> None:
        """Return a prompt that was not said to its writer."""
        self._chat.prompt.append_draft(prompt)

    def stop_waiting(self) -> None:
        """What prompts waited for failed: they go back to their writer, and nothing is shown as under way."""
        self.give_back_unsent()
        self._show_busy()

    def _show_busy(self) -> None:
        session = self._opener.session
        self._chat.set_busy(session is not None and session.busy)

    def give_back_unsent(self) -> None:
        """Return the prompts that wait to their writer. Commands that wait are dropped, which is reported."""
        unsent, self._unsent, self._run = self._unsent, [], None
        self.show_waiting()
        for each in unsent:
            if isinstance(each, OutgoingPrompt):
                self.give_back(each.text)
        dropped = [each.text for each in unsent if isinstance(each, WaitingCommand)]
        if dropped:
            self._chat.feed.note(f"{NOT_CARRIED_OUT} {one_line(', '.join(dropped), 200)}.", "error")


def _told(error: Exception, session: "Session") -> str:
    if not isinstance(error, StoreError):
        return f"The turn failed: {error!r}"
    return f"{error} {KEPT_HERE}" if session.has_unsaved else str(error)
