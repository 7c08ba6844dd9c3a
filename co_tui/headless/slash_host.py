"""Runs slash commands without a screen, on a session or without one."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from co_tui.actions import SlashCommand
from co_tui.agent.mcp.servers import McpServers, ServerReport
from co_tui.events.wording import mode_line
from co_tui.headless.sessions.diff_command import change_text, changes_summary
from co_tui.session.approvals.modes import ModeRefused
from co_tui.session.file_references import NamedFile
from co_tui.session.launch import Launch
from co_tui.session.session import Session
from co_tui.session.slash.applying import apply_setting
from co_tui.session.slash.command_host import (
    CommandFailed,
    CommandHost,
    NoSession,
    WrongArguments,
    check_arguments,
    function_of,
)
from co_tui.session.slash.file_rewinds import CONVERSATION, FILES
from co_tui.session.slash.typed_command import find
from co_tui.session.snapshots.file_diffs import SessionChanges
from co_tui.session.snapshots.file_restores import Consent
from co_tui.session.snapshots.restore import RestorePlan
from co_tui.session.state.session_state import SessionState
from co_tui.session.turns.turn import Outcome
from co_tui.settings import Loaded
from co_tui.settings.trust_texts import waiting_instructions_text

Say = Callable[[str], None]


class SlashHost:
    """Does what a command asks of its host; `say` gets words for people, `answer` what was asked for."""

    policy_scope = "this session"
    is_ready = True
    starts_sessions = False

    def __init__(
        self,
        launch: Launch,
        session: Session | None,
        say: Say,
        answer: Say,
        *,
        yes: bool = False,
        read_only: bool = False,
        how_to_agree: str = "Add --yes to do it.",
        keeps_mode: bool = True,
    ) -> None:
        """`yes` agrees to every question; else `how_to_agree` is said. `read_only` lets commands change the
        conversation only. `keeps_mode`: the session stays open, and its mode in force."""
        self.launch = launch
        self.session = session
        self.say = self.done = self.notice = say
        self.answer = answer
        self._yes, self._read_only, self._how_to_agree = yes, read_only, how_to_agree
        self._keeps_mode = keeps_mode
        self._turn: Callable[[], Awaitable[Outcome | None]] | None = None
        """Sends what the command wrote."""
        self._has_failed = False

    async def run(self, row: SlashCommand, arguments: str) -> Outcome:
        """Run a command, and the turn it asks for. Raises `CommandFailed` and as `Session.submit`."""
        host: CommandHost = self
        check_arguments(row, arguments)
        outcome = await function_of(row)(host, arguments)
        if self._turn is not None:
            outcome = await self._turn()
        return Outcome.FAILED if self._has_failed else outcome or Outcome.DONE

    @property
    def has_sent(self) -> bool:
        """Whether the command sent a prompt, or the last request again."""
        return self._turn is not None

    @property
    def session_id(self) -> str:
        return self.session.id if self.session is not None else ""

    @property
    def state(self) -> SessionState:
        return self.session.state if self.session is not None else SessionState()

    @property
    def mode(self) -> str:
        return self.state.mode if self.session is not None else self.launch.settings.mode

    @property
    def mode_switch(self) -> str:
        return "/mode MODE" if self._keeps_mode else "--mode MODE"

    def opened(self) -> Session:
        if self.session is None:
            raise NoSession("No session is open.")
        return self.session

    def require_writable(self) -> None:
        if self._read_only:
            raise WrongArguments("--read-only lets commands change the conversation only. Leave it out.")

    def shortcut_for(self, name: str) -> str:
        return row.slash if (row := find(name)) is not None else ""

    def fail(self, text: str) -> None:
        self._has_failed = True
        self.say(text)

    def show_busy(self) -> None:
        """Its events say what runs."""

    def send(self, prompt: str, files: Sequence[NamedFile] = ()) -> None:
        self._turn = partial(self.opened().submit, prompt, files=files)

    def retry(self) -> None:
        self._turn = self.opened().retry

    def give_back(self, prompt: str) -> None:
        """There is no draft to put it in; it stays in the log."""

    async def continue_in(self, session_id: str) -> None:
        self.answer(session_id)

    async def confirm(self, question: str) -> bool:
        if not self._yes:
            raise CommandFailed(f"{question} {self._how_to_agree}")
        return True

    async def choose_restored(self, plan: RestorePlan, *, edits: bool) -> str:
        self.say(f"Files stay as they are. `/rewind {plan.turn} {FILES}` restores them, too.")
        return CONVERSATION

    async def consent(self, by_others: Sequence[str], *, undoes: bool) -> Consent:
        """What others changed stays; what is restored says so."""
        return Consent(keep=True)

    async def show_changes(self, changes: SessionChanges) -> None:
        self.answer("\n".join(map(change_text, changes.files)))
        self.say(changes_summary(changes))

    async def switch_mode(self, mode: str) -> None:
        if not self._keeps_mode:
            raise WrongArguments(f"A mode is for one run. Add --mode {mode} to the run with your prompt.")
        try:
            await self.opened().switcher.switch_mode(mode)
        except ModeRefused as refused:
            raise CommandFailed(str(refused)) from None
        self.say(mode_line(mode))

    async def folders_changed(self, added: Path | None) -> None:
        requested = self.opened().folders.untrusted() if added is not None else []
        for each in requested:
            self.say(waiting_instructions_text(each))

    async def choose_model(self, name: str, *, compact: bool) -> None:
        await self.opened().switcher.switch_model(name, compact=compact)

    async def apply(self, key: str, loaded: Loaded) -> str:
        self.launch = self.launch.but(loaded=loaded)
        return await apply_setting(key, loaded, self.session)

    async def server_reports(self, *, restart: bool) -> Sequence[ServerReport]:
        """Each server is started to see how it is, unless nothing may be changed."""
        settings, servers = self.launch.settings, McpServers(waits_for_start=True)
        try:
            if "mcp" in settings.tools and not self._read_only:
                await servers.ready(settings.mcp_servers, self.launch.cwd, self.launch.environ)
            return servers.reports
        finally:
            await servers.close()
