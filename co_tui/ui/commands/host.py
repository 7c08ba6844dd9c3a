"""What commands can use of the app that runs them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from textual.screen import Screen

from co_tui.actions import SlashCommand
from co_tui.session.file_references import NamedFile
from co_tui.settings import Loaded, Settings
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.prompt_sender import PromptSender
from co_tui.ui.control.session_mode import Modes
from co_tui.ui.control.stored_sessions import StoredSessions
from co_tui.ui.keys.active_keys import ActiveKey
from co_tui.ui.launch import Launch

if TYPE_CHECKING:
    from co_tui.session.session import Session
    from co_tui.session.state.session_state import SessionState

T = TypeVar("T")
NO_SESSION = "No session yet. Send a prompt to start one."
"""The reply of commands that need a session."""
NOT_YET = "The session is still opening, or a question about it is pending."
READ_ALONG = (
    "This session is read-only here: another co-tui or another user has it. /fork copies it, or close it there and "
    "send a prompt."
)
NOT_OPENED = "The session did not open. Send a prompt to try again, or choose another model with {model}."


def why_not_open(host: "CommandHost") -> str:
    """Says why no session is open, and what to do about it."""
    sessions = host.sessions
    if not sessions.session_id:
        return NO_SESSION
    if sessions.is_read_only:
        return READ_ALONG
    if sessions.opening or not sessions.backend.ready:
        return NOT_YET
    return NOT_OPENED.format(model=host.view.shortcut_for("model"))


class SessionChanges(Protocol):
    """Switches between sessions."""

    @property
    def session_id(self) -> str:
        """Of the session that is shown, open or not; empty before the first prompt."""

    async def begin_session(self) -> None:
        """Start one with the model and policy of the present session."""

    async def switch_session(self, session_id: str, *, takes_waiting: bool = False) -> None:
        """`takes_waiting` moves the waiting prompts and commands to the other session."""

    @property
    def backend(self) -> Backend:
        """The engine, once it is loaded."""

    @property
    def sender(self) -> PromptSender:
        """Sends prompts, and returns those that were not sent."""

    @property
    def opening(self) -> bool:
        """Whether the session is being opened."""

    @property
    def is_read_only(self) -> bool:
        """Whether another process has the shown session open, and it is only read here."""

    def restart_mcp_servers(self) -> None:
        """Restart the ones that failed."""

    @property
    def modes(self) -> Modes:
        """The permission modes."""

    async def choose_model(self, name: str) -> None:
        """Use it for the session that the first prompt starts. Raises `ModelUnusable`."""

    @property
    def stored(self) -> StoredSessions:
        """Changes stored sessions."""


class SettingChanges(Protocol):
    """The settings in force, and how to change them."""

    @property
    def launch(self) -> Launch: ...

    async def choose_policy(self, loaded: Loaded) -> None: ...

    def show(self) -> None:
        """Show what new sessions start with."""

    async def apply(self, key: str, loaded: Loaded) -> str:
        """Apply changed settings; returns when the change of this key takes effect."""


class EmbeddedModel(Protocol):
    """The model that works without a key, and may have to be downloaded first."""

    @property
    def is_installed(self) -> bool: ...

    def fetch(self) -> None:
        """Start the download in the background."""


class OtherPrograms(Protocol):
    """The sessions that other programs keep on this machine."""

    async def ask(self) -> None:
        """Ask whether to import them."""


class ChatView(Protocol):
    """Changes what the chat shows."""

    def keys_here(self) -> Sequence[ActiveKey]:
        """The keys in force where the focus is."""

    def shortcut_for(self, name: str) -> str:
        """How a sentence names a command: by its key in force, else by its slash command."""

    @property
    def own_commands(self) -> Sequence[SlashCommand]:
        """The commands from files and MCP servers."""

    def toggle_side(self) -> None: ...

    def go_to_timeline(self) -> None: ...

    def toggle_folds(self) -> None: ...

    async def find(self, text: str) -> None: ...

    async def show_message(self, seq: int) -> None:
        """Scroll to the message of an event and mark it; loads it first if needed."""

    @property
    def draft(self) -> str:
        """The text in the prompt."""

    def set_draft(self, text: str) -> None:
        """Replace the draft, which stays in the prompt history."""


class AppearanceChanges(Protocol):
    """Changes the app's appearance."""

    def use(self, setting: str) -> None:
        """Use a theme, named as in the settings."""

    def follow(self, settings: Settings) -> None:
        """Apply settings that may have changed."""


class CommandHost(Protocol):
    """The part of the app that commands use."""

    @property
    def session(self) -> "Session | None":
        """The open session."""

    @property
    def state(self) -> "SessionState":
        """The shown state: all events received so far."""

    @property
    def sessions(self) -> SessionChanges: ...

    @property
    def settings(self) -> SettingChanges: ...

    @property
    def view(self) -> ChatView: ...

    @property
    def embedded_model(self) -> EmbeddedModel: ...

    @property
    def other_programs(self) -> OtherPrograms: ...

    def say(self, text: str) -> None:
        """Add a note to the chat; it is not part of the session."""

    def notice(self, text: str) -> None:
        """Show a short notice without scrolling the chat."""

    def fail(self, text: str) -> None:
        """Add an error to the chat."""

    def show_busy(self) -> None:
        """Update whether a turn is shown as running."""

    def run(self, name: str, arguments: str) -> None:
        """Run another command."""

    def send(self, prompt: str, files: Sequence[NamedFile] = ()) -> None:
        """Send a prompt with files, as if the user had typed it."""

    async def edit_elsewhere(self, text: str) -> str:
        """Edit a text in the user's editor; returns the result. Raises `EditorError`."""

    async def ask(self, make: Callable[[], Screen[T]]) -> T | None:
        """Open a screen and wait for its answer. None if a screen is open already: they never stack."""

    async def confirm(self, question: str) -> bool:
        """Ask yes or no, whatever screen is open."""

    @property
    def is_dark(self) -> bool:
        """Whether the present theme is dark."""

    @property
    def appearance(self) -> AppearanceChanges: ...

    async def quit(self) -> None: ...
