"""Runs commands on the app; those that open a screen are in this folder, all others work without one."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from textual.app import App
from textual.screen import Screen

from co_tui.actions import SlashCommand
from co_tui.inert import one_line
from co_tui.session.file_references import NamedFile
from co_tui.session.launch import Launch
from co_tui.session.slash import command_host, typed_command
from co_tui.session.slash.command_host import CommandFailed, NoSession, check_arguments
from co_tui.session.state.session_state import SessionState
from co_tui.settings import Loaded, SettingsError
from co_tui.store.store_errors import StoreError
from co_tui.ui.background import report, run_in_background
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.controller import SessionController
from co_tui.ui.control.import_offer import ImportOffer
from co_tui.ui.control.model_offers import EmbeddedOffer, ServerOffer
from co_tui.ui.control.own_files_offer import OwnFilesOffer
from co_tui.ui.control.prompt_sender import WaitingCommand
from co_tui.ui.control.prompts_under_way import OutgoingPrompt
from co_tui.ui.models.model_list import RecentModels
from co_tui.ui.theme_choice import Appearance

if TYPE_CHECKING:
    from co_tui.agent.mcp.servers import ServerReport
    from co_tui.session.session import Session
    from co_tui.session.snapshots.file_diffs import SessionChanges
    from co_tui.session.snapshots.file_restores import Consent
    from co_tui.session.snapshots.restore import RestorePlan

T = TypeVar("T")
NO_SESSION = "No session yet. Send a prompt to start one, or try /example."
"""The reply of commands that need a session."""
NOT_YET = "The session is still opening, or a question about it is pending."
READ_ALONG = (
    "This session is read-only here: another co-tui or another user has it. /fork copies it, or close it there and "
    "send a prompt."
)
NOT_OPENED = "The session did not open. Send a prompt to try again, or choose another model with {model}."


class CommandHost:
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
        offer = ServerOffer(self._app, self.view, self.sessions, self.run, self.embedded_model.ask_once)
        run_in_background(self._app, "Looking for model servers", offer.look, group="servers")

    def offer_import(self) -> None:
        """Offer the sessions that other programs have on this machine."""
        run_in_background(self._app, "Looking for sessions", self._offer_other_programs, group="importing")

    async def _offer_other_programs(self) -> None:
        """Offer their sessions; else the user's own files for them."""
        await self.other_programs.offer_once()
        await OwnFilesOffer(self._app, self.view, self.sessions, self.run).offer_once()

    def run(self, name: str, arguments: str) -> None:
        """Run a command given as a slash command, by a key or in the palette."""
        row = typed_command.find(name, self.view.own_commands)
        if row is None and (own := typed_command.find_own(name, self.view.own_commands)) is not None:
            self._send_own(own, arguments)
        elif row is None:
            unknown = typed_command.unknown_command(one_line(name, 40), self.view.own_commands)
            self.fail(f"{unknown} ↑ brings back what you typed.")
        elif self.has_to_wait(row, arguments):
            self.sessions.hints.used(row.name)
            text = f"{row.slash} {arguments}".strip()
            self.sessions.sender.hold(WaitingCommand(text, partial(self._waited, row, arguments)))
        else:
            self.start(row.name, partial(self._do, row, arguments))

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
        check_arguments(row, arguments)
        await function_of(row)(self, arguments)

    def start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run work in the background, named after a command."""
        self.sessions.hints.used(name)
        run_in_background(self._app, f"/{name}", partial(self._attempt, work), group="commands", failed=self.show_busy)

    async def _attempt(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except (CommandFailed, StoreError) as error:
            self.fail(str(error))

    # As in `session/slash/command_host.py`

    @property
    def session(self) -> "Session | None":
        return self.sessions.session

    @property
    def session_id(self) -> str:
        return self.sessions.session_id

    @property
    def state(self) -> SessionState:
        return self.sessions.state

    @property
    def launch(self) -> Launch:
        return self.settings.launch

    @property
    def is_ready(self) -> bool:
        return self.sessions.backend.ready

    @property
    def mode(self) -> str:
        return self.sessions.modes.current

    @property
    def policy_scope(self) -> str:
        return "this session and new ones until you quit"

    @property
    def mode_switch(self) -> str:
        return " or ".join(filter(None, (self.shortcut_for("next_mode"), "/mode MODE")))

    def opened(self) -> "Session":
        if (session := self.session) is None:
            raise NoSession(self.why_not_open)
        return session

    @property
    def why_not_open(self) -> str:
        """Why no session is open, and what to do about it."""
        sessions = self.sessions
        if not sessions.session_id:
            return NO_SESSION
        if sessions.is_read_only:
            return READ_ALONG
        if sessions.opening or not self.is_ready:
            return NOT_YET
        return NOT_OPENED.format(model=self.shortcut_for("model"))

    def require_writable(self) -> None:
        """All may be changed."""

    def shortcut_for(self, name: str) -> str:
        return self.view.shortcut_for(name)

    def say(self, text: str) -> None:
        """Add a note and scroll to it."""
        self.view.feed.note(text)
        self.view.transcript.follow_end()

    def answer(self, text: str) -> None:
        self.say(text)

    def done(self, _: str) -> None:
        """The transcript shows it."""

    def notice(self, text: str) -> None:
        self._app.notify(text, timeout=3, markup=False)

    def fail(self, text: str) -> None:
        self.view.feed.note(text, "error")
        self.view.transcript.follow_end()

    def show_busy(self) -> None:
        self.view.set_busy(self.sessions.busy)

    def send(self, prompt: str, files: Sequence[NamedFile] = ()) -> None:
        self.sessions.sender.run_next(OutgoingPrompt(prompt, tuple(files)))

    def retry(self) -> None:
        self.sessions.sender.retry(self.opened())

    def give_back(self, prompt: str) -> None:
        self.sessions.chat.prompt.give_back(prompt, is_being_written=True)

    async def continue_in(self, session_id: str) -> None:
        await self.sessions.switch_session(session_id, takes_waiting=True)

    async def choose_restored(self, plan: "RestorePlan", *, edits: bool) -> str:
        from co_tui.ui.files.choice_screen import RESTORED, edit_question, rewind_question

        question = edit_question if edits else rewind_question
        return RESTORED.get(await self.ask(lambda: question(plan)) or "", "")

    async def consent(self, by_others: Sequence[str], *, undoes: bool) -> "Consent | None":
        from co_tui.session.snapshots.file_restores import Consent
        from co_tui.ui.files.choice_screen import KEEP, overwrite_question

        answer = await self.ask(partial(overwrite_question, by_others, undoes=undoes))
        if not answer:
            return None
        return Consent(keep=True) if answer == KEEP else Consent(overwrite=by_others)

    async def show_changes(self, changes: "SessionChanges") -> None:
        from co_tui.ui.files.changes_screen import ChangesScreen

        await self.ask(lambda: ChangesScreen(changes))

    async def switch_mode(self, mode: str) -> None:
        await self.sessions.modes.switch(mode)

    starts_sessions = True

    async def folders_changed(self, added: Path | None) -> None:
        from co_tui.ui.control.trust_question import ask_about_added

        self.view.show_launch(self.launch)
        if added is not None:
            await ask_about_added(self._app, self.view, self.sessions, [str(added)])

    async def choose_model(self, name: str, *, compact: bool) -> None:
        if self.session is not None:
            await self.session.switcher.switch_model(name, compact=compact)
        else:
            await self.sessions.choose_model(name)
        RecentModels(self.launch.paths).note(name)

    async def apply(self, key: str, loaded: Loaded) -> str:
        holds = await self.settings.apply(key, loaded)
        self.appearance.follow(loaded.settings)
        return holds

    async def server_reports(self, *, restart: bool) -> "Sequence[ServerReport]":
        if restart:
            self.sessions.restart_mcp_servers()
        return self.sessions.backend.server_reports()

    @property
    def is_dark(self) -> bool:
        return self._app.current_theme.dark

    async def edit_elsewhere(self, text: str) -> str:
        """Edit a text in the user's editor; returns the result. Raises `EditorError`."""
        from co_tui.ui.prompt.external_editor import edit_externally

        if self._is_editing_elsewhere:
            return text  # a key was pressed twice
        launch = self.launch
        self._is_editing_elsewhere = True
        try:
            return await edit_externally(self._app, text, launch.environ, launch.cwd)
        finally:
            self._is_editing_elsewhere = False

    async def edit_config(self) -> str:
        """Open the user's settings file in the editor, then read it again; returns a sentence about it. Raises
        `SettingsError`: then the settings in force stay as they are."""
        from co_tui.session.slash.settings_commands import read_again
        from co_tui.ui.prompt.external_editor import EditorError, edit_file

        launch = self.launch
        try:
            launch.paths.config_file.parent.mkdir(parents=True, exist_ok=True)
            await edit_file(self._app, launch.paths.config_file, launch.environ, launch.cwd)
        except EditorError as error:
            raise SettingsError(str(error)) from None
        except OSError as error:
            raise SettingsError(f"Cannot open {launch.paths.config_file}: {error.strerror or error}.") from None
        return await read_again(self)

    async def ask(self, make: Callable[[], Screen[T]]) -> T | None:
        """Open a screen and wait for its answer. None if a screen is open already: they never stack."""
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


CommandFunction: TypeAlias = Callable[[CommandHost, str], Awaitable[object]]
"""Takes the arguments as typed."""
_FUNCTIONS: dict[str, CommandFunction] = {}


def command(name: str) -> Callable[[CommandFunction], CommandFunction]:
    """Register the decorated function for a command."""

    def register(function: CommandFunction) -> CommandFunction:
        _FUNCTIONS[name] = function
        return function

    return register


def function_of(row: SlashCommand) -> CommandFunction:
    """The function of a command; its module is imported when one of its commands is first used."""
    import_module(f"{__package__}.{row.group}_commands")
    return _FUNCTIONS.get(row.name) or command_host.function_of(row)
