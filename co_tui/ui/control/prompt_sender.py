"""From the prompt to the session: send at once, queue, or return to the prompt."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from textual.app import App

from co_tui.events import Fact
from co_tui.events.model_names import EXAMPLE_MODEL
from co_tui.inert import one_line
from co_tui.store.store_errors import StoreError
from co_tui.ui.background import run_in_background
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.chat.transcript_feed import HELD, QUEUED, STARTING, STEERING, WaitingShown
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.prompts_under_way import OutgoingPrompt, PromptsUnderWay
from co_tui.ui.control.resume_questions import ResumeQuestions
from co_tui.ui.prompt.prompt_area import is_own_command

if TYPE_CHECKING:
    from co_tui.session.session import Session

OPENING = "Opening the session"
SENDING = "Sending the prompt"
NOT_CARRIED_OUT = "These commands were not run, because their session did not open:"
KEPT_HERE = "The latest messages are only in this window. They are saved once that works."


class SessionOpener(Protocol):
    """Has the session that prompts go to, and opens it."""

    @property
    def session(self) -> "Session | None":
        """The open session."""

    @property
    def session_id(self) -> str:
        """Of the session that is shown, open or not; empty before the first prompt."""

    @property
    def backend(self) -> Backend: ...

    @property
    def resume_questions(self) -> ResumeQuestions: ...

    @property
    def opening(self) -> bool:
        """Whether a session is being opened."""

    async def open_for_prompt(self) -> bool:
        """Open the shown session, or start one. Failures are shown in the chat."""


class WaitingCommand(NamedTuple):
    """A slash command given before its session was open."""

    text: str
    """As it would be typed."""
    run: Callable[[], Coroutine[Any, Any, None]]


class PromptSender:
    """Loses no prompt: one that could not be sent returns to the prompt.

    Prompts and commands that wait for a session run in the order in which they were given.
    """

    def __init__(self, host: App[Any], chat: ChatScreen, opener: SessionOpener) -> None:
        self._host = host
        self._chat = chat
        self._opener = opener
        self._unsent: list[OutgoingPrompt | WaitingCommand] = []
        """Prompts and commands that wait for a session, in order."""
        self._under_way = PromptsUnderWay()
        self._run: object | None = None
        """Identifies the run that works off `_unsent`; None while there is none."""
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
        """Whether a command that needs the session must wait for it, or for earlier prompts and commands."""
        opener = self._opener
        return not self._trouble and (self._run is not None or opener.opening or not opener.backend.ready)

    def refuse(self, trouble: str) -> None:
        """Refuse all prompts from now on, and say why."""
        self._trouble = trouble
        self._chat.feed.note(trouble, "error")
        self._chat.set_busy(False, "nothing can be sent")
        self.give_back_unsent()

    def send(self, prompt: OutgoingPrompt) -> None:
        """Send a prompt; until the engine is loaded, it waits and the screen shows that."""
        opener = self._opener
        if self._trouble:
            self._chat.feed.note(self._trouble, "error")
            self.give_back(prompt.text)
            return
        is_open = opener.backend.ready and opener.session is not None and not opener.opening
        if is_open and (self._run is None or prompt.steers):  # steering is for the turn that runs now
            self._begin_turn(prompt)
            return
        self._unsent.append(prompt)
        opener.resume_questions.continue_here()
        self._wait()

    def run_next(self, prompt: OutgoingPrompt) -> None:
        """Send a prompt on behalf of a command: before what waits behind that command."""
        if self._run is None:
            self.send(prompt)
        else:
            self._unsent.insert(0, prompt)
            self.show_waiting()

    def hold(self, command: WaitingCommand) -> None:
        """Run a command once the session is open, after what was given before it."""
        self._unsent.append(command)
        self._chat.transcript.follow_end()
        self._wait()

    def _wait(self) -> None:
        opener = self._opener
        self.show_waiting()
        if opener.session is None or opener.opening:
            self._chat.set_busy(False, STARTING)
        if opener.backend.ready and not opener.opening:
            self.send_unsent()

    def send_unsent(self) -> None:
        """Work off the prompts and commands that waited for a session."""
        if self._unsent and self._run is None:
            run = self._run = object()
            work = partial(self._work_off, run)
            run_in_background(self._host, OPENING, work, group="start", latest=True, failed=self.stop_waiting)

    async def _work_off(self, run: object) -> None:
        """One after another: a command waits until the turns of the prompts before it have ended."""
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
                    del self._unsent[0]
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
        """Start a turn; returns an event that is set when the turn has ended."""
        ended = asyncio.Event()
        self._under_way.add(prompt)
        self.show_waiting()

        def failed() -> None:
            self.give_back(prompt.text)
            self.stop_waiting()

        async def turn() -> None:
            try:
                await self._turn(prompt)
            finally:
                if self._under_way.remove(prompt):
                    self.show_waiting()
                ended.set()

        run_in_background(self._host, SENDING, turn, group="turns", failed=failed)
        return ended

    def show_said(self, fact: Fact) -> None:
        """Stop showing a prompt as under way that the conversation shows from now on."""
        if self._under_way.remove_said(fact):
            self.show_waiting()

    def forget_under_way(self) -> None:
        """The session is left: its turns return what they did not send."""
        self._under_way.forget_all()

    async def _turn(self, prompt: OutgoingPrompt) -> None:
        session = self._opener.session
        assert session is not None
        turns = session.state.turn
        done = await self._follow(session, partial(self._submit, session, prompt))
        if not done and session.state.turn == turns:  # it never became part of the conversation
            self.give_back(prompt.text)

    async def _submit(self, session: "Session", prompt: OutgoingPrompt) -> None:
        from co_tui.session.attachments import AttachmentRefused
        from co_tui.session.hooks.session_hooks import PromptRefused
        from co_tui.session.processes.user_command import CommandRefused

        try:
            if is_own_command(prompt.text):
                await session.run_command(prompt.text[1:].strip())
            elif session.state.model == EXAMPLE_MODEL and not await self._chat.use_configured_model():
                self.give_back(prompt.text)
            else:
                await session.submit(prompt.text, files=prompt.files, steer=prompt.steers, pasted=prompt.pasted)
        except (AttachmentRefused, CommandRefused, PromptRefused) as refused:
            self._chat.feed.note(str(refused), "error")
            self.give_back(prompt.text)

    def ask_pending(self, session: "Session") -> None:
        """Ask the questions again that were open when the session was left."""
        pending = partial(self._follow, session, session.ask_pending)
        run_in_background(self._host, "Asking again", pending, group="turns", failed=self.stop_waiting)

    def retry(self, session: "Session") -> None:
        """Send the last request again."""
        again = partial(self._follow, session, session.retry)
        run_in_background(self._host, "Retrying", again, group="turns", failed=self.stop_waiting)

    async def _follow(self, session: "Session", turn: Callable[[], Awaitable[object]]) -> bool:
        """Show a running turn until it ends; False if it failed, which the chat says."""
        self._chat.set_busy(True)
        try:
            await turn()
        except Exception as error:
            self._chat.feed.note(_failure_text(error, session), "error")
            return False
        finally:
            self._chat.set_busy(session is self._opener.session and session.queue.busy)
        return True

    def send_held(self) -> None:
        """Release the prompts that an interruption left waiting."""
        session = self._opener.session
        if session is not None and any(prompt.held for prompt in session.queue.prompts):
            session.queue.release()
            self._chat.set_busy(session.queue.busy)

    @property
    def unsent_prompts(self) -> list[str]:
        """Prompts that were submitted but are not part of the conversation yet."""
        queued = self._opener.session.queue.prompts if self._opener.session is not None else ()
        unsent = [each.text for each in self._unsent if isinstance(each, OutgoingPrompt)]
        return [*(each.text for each in queued), *unsent]

    def show_waiting(self) -> None:
        """Show the prompts queued in the session, and what waits for a session."""
        session = self._opener.session
        queued = session.queue.prompts if session is not None else ()
        shown = [WaitingShown(each.text, HELD if each.held else STEERING if each.steers else QUEUED) for each in queued]
        waits_for = STARTING if session is None else QUEUED
        unsent = [WaitingShown(each.text, waits_for) for each in self._unsent]
        under_way = [WaitingShown(text) for text in self._under_way.not_in(each.text for each in queued)]
        self._chat.show_waiting([*under_way, *shown, *unsent])

    def withdraw_latest(self) -> bool:
        """Withdraw the latest prompt or command that waits for a session; False if none does."""
        if not self._unsent:
            return False
        latest = self._unsent.pop()
        self.show_waiting()
        if isinstance(latest, OutgoingPrompt):
            self.give_back(latest.text)
        else:
            self._host.notify(f"Dropped {one_line(latest.text, 60)}.", timeout=3, markup=False)
        if not self._unsent:
            self._show_busy()
        return True

    def give_back(self, prompt: str) -> None:
        """Put an unsent prompt back into the prompt, or behind what is written there."""
        if not self._chat.prompt.give_back(prompt):
            self._host.notify(f"Not sent, ↑ recalls it: {one_line(prompt, 60)}", timeout=6, markup=False)

    def stop_waiting(self) -> None:
        """Return the waiting prompts after a failure, and show nothing as running."""
        self.give_back_unsent()
        self._show_busy()

    def _show_busy(self) -> None:
        session = self._opener.session
        self._chat.set_busy(session is not None and session.queue.busy)

    def give_back_unsent(self) -> None:
        """Put the waiting prompts back into the prompt. Waiting commands are dropped, which is reported."""
        unsent, self._unsent, self._run = self._unsent, [], None
        self.show_waiting()
        for each in unsent:
            if isinstance(each, OutgoingPrompt):
                self.give_back(each.text)
        dropped = [each.text for each in unsent if isinstance(each, WaitingCommand)]
        if dropped:
            self._chat.feed.note(f"{NOT_CARRIED_OUT} {one_line(', '.join(dropped), 200)}.", "error")


def _failure_text(error: Exception, session: "Session") -> str:
    if not isinstance(error, StoreError):
        return f"Turn failed: {error!r}"
    return f"{error} {KEPT_HERE}" if session.has_unsaved else str(error)
