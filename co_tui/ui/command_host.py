"""Runs commands on the app."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from textual.app import App
from textual.screen import Screen

from co_tui.actions import SlashCommand
from co_tui.events import Event
from co_tui.inert import one_line
from co_tui.session.file_references import NamedFile
from co_tui.session.state.session_state import SessionState
from co_tui.store.store_errors import StoreError
from co_tui.ui.background import report, run_in_background
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.commands.registry import function_of
from co_tui.ui.control.controller import SessionController
from co_tui.ui.control.embedded_offer import EmbeddedOffer
from co_tui.ui.control.import_offer import ImportOffer
from co_tui.ui.control.prompt_sender import WaitingCommand
from co_tui.ui.control.prompts_under_way import OutgoingPrompt
from co_tui.ui.control.server_offer import ServerOffer
from co_tui.ui.keys import command_table
from co_tui.ui.theme_choice import Appearance

if TYPE_CHECKING:
    from co_tui.session.session import Session

T = TypeVar("T")


class AppCommandHost:
    """Runs each command in the background; failures are shown in the chat."""

    def __init__(self, app: App[Any], chat: ChatScreen, controller: SessionController, appearance: Appearance) -> None:
        self._app = app
        self.view = chat
        self.sessions, self.settings = controller, controller.settings
        self.appearance = appearance
        self._is_editing_elsewhere = False
        self.embedded_model = EmbeddedOffer(app, chat, controller, lambda: self.run("model", ""))
        self.other_programs = ImportOffer(app, chat, controller)

    def offer_models(self) -> None:
        """Offer a server on this machine, else the download of the embedded model if it is missing."""
        offer = ServerOffer(self.view, self.sessions, self.run, self.embedded_model.ask_once)
        run_in_background(self._app, "Looking for model servers", offer.look, group="servers")

    def offer_import(self) -> None:
        """Offer the sessions that other programs have on this machine."""
        run_in_background(self._app, "Looking for sessions", self.other_programs.offer_once, group="importing")

    def run(self, name: str, arguments: str) -> None:
        """Run a command given as a slash command, by a key or in the palette."""
        row = command_table.find(name)
        if row is None and (own := command_table.find_own(name, self.view.own_commands)) is not None:
            self._send_own(own, arguments)
        elif row is None:
            self.fail(command_table.unknown_command(one_line(name, 40)))
        elif self.has_to_wait(row, arguments):
            self.sessions.hints.used(name)
            text = f"{row.slash} {arguments}".strip()
            self.sessions.sender.hold(WaitingCommand(text, partial(self._waited, row, arguments)))
        else:
            self._start(name, partial(self._do, row, arguments))

    def _send_own(self, command: SlashCommand, arguments: str) -> None:
        """Send a command from a file or a server; one that takes arguments first waits for them in the prompt."""
        if command.arguments and not arguments:
            self.view.set_draft(f"{command.slash} ")
        else:
            self.sessions.sender.send(OutgoingPrompt(f"{command.slash} {arguments}".strip()))

    def has_to_wait(self, row: SlashCommand, arguments: str) -> bool:
        """Whether a command given now must wait until the session is open."""
        needs_session = row.needs_session == "always" or (bool(arguments) and row.needs_session == "with arguments")
        # Choosing another model answers the question that blocks opening the session.
        is_answer = row.name == "model" and self.sessions.resume_questions.is_asking
        return needs_session and not is_answer and self.sessions.sender.holds_commands

    async def _waited(self, row: SlashCommand, arguments: str) -> None:
        """Run a command that waited; its failure must not block what waits behind it."""
        try:
            await self._attempt(partial(self._do, row, arguments))
        except Exception as error:
            report(self._app, row.slash, error, self.show_busy)

    async def _do(self, row: SlashCommand, arguments: str) -> None:
        await function_of(row)(self, arguments)

    def open_entry(self, event: Event) -> None:
        from co_tui.ui.commands.timeline_commands import open_entry

        self._start("timeline", partial(open_entry, self, event))

    def _start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.sessions.hints.used(name)
        run_in_background(self._app, f"/{name}", partial(self._attempt, work), group="commands", failed=self.show_busy)

    async def _attempt(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except StoreError as error:
            self.fail(str(error))

    # The CommandHost protocol

    @property
    def session(self) -> "Session | None":
        return self.sessions.session

    @property
    def state(self) -> SessionState:
        return self.sessions.state

    def say(self, text: str) -> None:
        """Add a note and scroll to it."""
        self.view.feed.note(text)
        self.view.transcript.follow_end()

    def notice(self, text: str) -> None:
        self._app.notify(text, timeout=3, markup=False)

    def fail(self, text: str) -> None:
        self.view.feed.note(text, "error")
        self.view.transcript.follow_end()

    def show_busy(self) -> None:
        self.view.set_busy(self.sessions.busy)

    def send(self, prompt: str, files: Sequence[NamedFile] = ()) -> None:
        self.sessions.sender.run_next(OutgoingPrompt(prompt, tuple(files)))

    @property
    def is_dark(self) -> bool:
        return self._app.current_theme.dark

    async def edit_elsewhere(self, text: str) -> str:
        from co_tui.ui.prompt.external_editor import edit_externally

        if self._is_editing_elsewhere:
            return text  # a key was pressed twice
        launch = self.settings.launch
        self._is_editing_elsewhere = True
        try:
            return await edit_externally(self._app, text, launch.environ, launch.cwd)
        finally:
            self._is_editing_elsewhere = False

    async def ask(self, make: Callable[[], Screen[T]]) -> T | None:
        if self._app.screen is not self.view:
            return None  # a key was pressed twice
        return await self._answer_of(make())

    async def confirm(self, question: str) -> bool:
        from co_tui.ui.dialogs.simple_dialogs import ConfirmScreen

        return await self._answer_of(ConfirmScreen(question)) or False

    async def _answer_of(self, screen: Screen[T]) -> T | None:
        # Shielded: the screen can still be answered after the command was cancelled.
        return await asyncio.shield(self._app.push_screen(screen, wait_for_dismiss=True))

    async def quit(self) -> None:
        await self._app.action_quit()
