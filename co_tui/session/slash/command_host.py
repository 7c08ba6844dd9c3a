"""What slash commands can use of the program that runs them: the screen, `co-tui run` or an editor."""

from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypeAlias

from co_tui.actions import SlashCommand
from co_tui.inert import one_line
from co_tui.session.file_references import NamedFile
from co_tui.session.launch import Launch
from co_tui.settings import Loaded

if TYPE_CHECKING:
    from pathlib import Path

    from co_tui.agent.mcp.servers import ServerReport
    from co_tui.session.session import Session
    from co_tui.session.snapshots.file_diffs import SessionChanges
    from co_tui.session.snapshots.file_restores import Consent
    from co_tui.session.snapshots.restore import RestorePlan
    from co_tui.session.state.session_state import SessionState
    from co_tui.session.turns.turn import Outcome


class CommandFailed(Exception):
    """Why a command did nothing: a sentence."""


class NoSession(CommandFailed):
    """A command needs a session, and none is open: a sentence that says why."""


class WrongArguments(CommandFailed):
    """What a command takes instead of what was typed after it: a sentence."""


class CommandHost(Protocol):
    """Runs commands on a session, and passes on what they say."""

    @property
    def session(self) -> "Session | None":
        """The open session."""

    @property
    def session_id(self) -> str:
        """Of the session that commands are about, open or not; empty before there is one."""

    @property
    def state(self) -> "SessionState":
        """The known state of that session."""

    @property
    def launch(self) -> Launch:
        """Folders, store and settings in force."""

    @property
    def is_ready(self) -> bool:
        """Whether the engine is loaded."""

    @property
    def mode(self) -> str:
        """The permission mode in force."""

    @property
    def mode_switch(self) -> str:
        """How a sentence says to switch the mode."""

    def opened(self) -> "Session":
        """The open session. Raises `NoSession`."""

    def require_writable(self) -> None:
        """Raises `CommandFailed` if files, settings, notes and what others may read must stay as they are."""

    def shortcut_for(self, name: str) -> str:
        """How a sentence names a command: by its key in force, else by its slash command."""

    def say(self, text: str) -> None:
        """Say something to the user; it is not part of the session."""

    def answer(self, text: str) -> None:
        """Say what the command was asked for."""

    def done(self, text: str) -> None:
        """Say what was done, where the session's events are not shown."""

    def notice(self, text: str) -> None:
        """Say something that the user also sees elsewhere."""

    def fail(self, text: str) -> None:
        """Say what went wrong."""

    def show_busy(self) -> None:
        """Update whether something is shown as running."""

    def send(self, prompt: str, files: Sequence[NamedFile] = ()) -> None:
        """Send a prompt with files, as if the user had typed it."""

    def retry(self) -> None:
        """Send the last request again."""

    def give_back(self, prompt: str) -> None:
        """Offer a prompt for editing."""

    async def continue_in(self, session_id: str) -> None:
        """Continue in a copy of the session."""

    async def confirm(self, question: str) -> bool:
        """Ask yes or no. Raises `CommandFailed` if there is no one to ask."""

    async def choose_restored(self, plan: "RestorePlan", *, edits: bool) -> str:
        """What a rewind brings back: one of `WHATS`, or nothing."""

    async def consent(self, by_others: Sequence[str], *, undoes: bool) -> "Consent | None":
        """What to do with files that others changed since; None restores nothing."""

    async def show_changes(self, changes: "SessionChanges") -> None:
        """Show what the session changed in its folder."""

    async def switch_mode(self, mode: str) -> None:
        """Raises `CommandFailed`."""

    @property
    def starts_sessions(self) -> bool:
        """Whether sessions follow that begin as it is chosen now."""

    async def folders_changed(self, added: "Path | None") -> None:
        """A folder was added or removed. Ask, or say, whether the instructions of the added one count."""

    async def choose_model(self, name: str, *, compact: bool) -> None:
        """Use a model for the session, or for the next one. Raises as `RuntimeSwitcher.switch_model`."""

    async def apply(self, key: str, loaded: Loaded) -> str:
        """Apply changed settings; returns when the change of this key takes effect."""

    @property
    def policy_scope(self) -> str:
        """What a chosen policy is for."""

    async def server_reports(self, *, restart: bool) -> "Sequence[ServerReport]":
        """The states of the MCP servers; `restart` restarts failed ones first."""


CommandFunction: TypeAlias = Callable[[CommandHost, str], "Awaitable[Outcome | None]"]
"""Takes the arguments as typed; returns how its work ended, if its events do not say it all."""
_FUNCTIONS: dict[str, CommandFunction] = {}


def command(name: str) -> Callable[[CommandFunction], CommandFunction]:
    """Register the decorated function for a command."""

    def register(function: CommandFunction) -> CommandFunction:
        _FUNCTIONS[name] = function
        return function

    return register


def check_arguments(row: SlashCommand, arguments: str) -> None:
    """Raises `WrongArguments` for words after a command that takes none."""
    if arguments and not row.arguments:
        raise WrongArguments(f"{row.slash} takes no arguments: leave out {one_line(arguments, 40)!r}.")


def function_of(row: SlashCommand) -> CommandFunction:
    """The function of a command that needs no screen; its module is imported when it is first used."""
    import_module(f"{__package__}.{row.group}_commands")
    return _FUNCTIONS[row.name]
