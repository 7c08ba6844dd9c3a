"""What commands can use of the app that runs them."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from textual.screen import Screen

from co_tui.actions import SlashCommand
from co_tui.session.slash import command_host
from co_tui.settings import Settings
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.prompt_sender import PromptSender
from co_tui.ui.control.stored_sessions import StoredSessions
from co_tui.ui.keys.active_keys import ActiveKey

T = TypeVar("T")


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
    def is_read_only(self) -> bool:
        """Whether another process has the shown session open, and it is only read here."""

    @property
    def stored(self) -> StoredSessions:
        """Changes stored sessions."""


class SettingChanges(Protocol):
    """The settings in force."""

    def show(self) -> None:
        """Show what new sessions start with."""


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


class CommandHost(command_host.CommandHost, Protocol):
    """The part of the app that commands use."""

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

    @property
    def why_not_open(self) -> str:
        """Why no session is open, and what to do about it."""

    def run(self, name: str, arguments: str) -> None:
        """Run another command."""

    async def edit_elsewhere(self, text: str) -> str:
        """Edit a text in the user's editor; returns the result. Raises `EditorError`."""

    async def ask(self, make: Callable[[], Screen[T]]) -> T | None:
        """Open a screen and wait for its answer. None if a screen is open already: they never stack."""

    @property
    def is_dark(self) -> bool:
        """Whether the present theme is dark."""

    @property
    def appearance(self) -> AppearanceChanges: ...

    async def quit(self) -> None: ...
