"""What a command may ask of the app that runs it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from textual.screen import Screen

from co_tui.settings import Loaded, Settings
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.prompt_sender import PromptSender
from co_tui.ui.control.session_mode import Modes
from co_tui.ui.control.stored_sessions import StoredSessions
from co_tui.ui.keys.keys_in_force import KeyInForce
from co_tui.ui.launch import Launch

if TYPE_CHECKING:
    from co_tui.session.session import Session
    from co_tui.session.state.session_state import SessionState

T = TypeVar("T")
NO_SESSION = "There is no session yet: the first prompt starts one."
"""The answer of commands that need a session."""
NOT_YET = "The session is not open yet: it is being opened, or a question about it waits above the prompt."
READ_ALONG = (
    "Another co-tui has this session open, and it is only read here: /fork goes on in a copy of it; or close it there, "
    "and the next prompt opens it here."
)
NOT_OPENED = "The session could not be opened: a prompt tries it again, {model} chooses another model."


def why_not_open(host: "CommandHost") -> str:
    """Why there is no session in which something could be done, and what to do about it."""
    sessions = host.sessions
    if not sessions.session_id:
        return NO_SESSION
    if sessions.is_read_only:
        return READ_ALONG
    if sessions.opening or not sessions.backend.ready:
        return NOT_YET
    return NOT_OPENED.format(model=host.view.way_to("model"))


class SessionChanges(Protocol):
    """What can be done with the sessions as a whole."""

    @property
    def session_id(self) -> str:
        """Of the session that is shown, open or not; empty before the first prompt."""

    async def begin_session(self) -> None:
        """With the model and the policy of the session that is left."""

    async def switch_session(self, session_id: str, *, takes_waiting: bool = False) -> None:
        """With `takes_waiting`, what waits to be carried out goes along to the other session."""

    @property
    def backend(self) -> Backend:
        """The engine, once it is loaded."""

    @property
    def sender(self) -> PromptSender:
        """Sends prompts, and returns those that were not sent."""

    @property
    def opening(self) -> bool:
        """Whether the session is just being opened."""

    @property
    def is_read_only(self) -> bool:
        """Whether the session that is shown is open in another process, and only read here."""

    def restart_mcp_servers(self) -> None:
        """Those that failed."""

    @property
    def modes(self) -> Modes:
        """What runs without a question."""

    async def choose_model(self, name: str) -> None:
        """For the session that the first prompt will start. Raises `ModelUnusable`."""

    @property
    def stored(self) -> StoredSessions:
        """All of them, to be changed."""


class SettingChanges(Protocol):
    """What governs the sessions, and how it is changed."""

    @property
    def launch(self) -> Launch: ...

    async def choose_policy(self, loaded: Loaded) -> None: ...

    async def apply(self, key: str, loaded: Loaded) -> str:
        """Let changed settings hold; returns from when on that is, for this key."""


class EmbeddedModel(Protocol):
    """The model that answers without a key, and may have to be fetched first."""

    @property
    def is_installed(self) -> bool: ...

    def fetch(self) -> None:
        """Begin, beside everything else."""


class ChatView(Protocol):
    """What can be shown otherwise in the chat."""

    def keys_here(self) -> Sequence[KeyInForce]:
        """What the keys do where the focus is."""

    def way_to(self, name: str) -> str:
        """How a sentence names the way to a command: by its key in force, else by what can be typed."""

    def toggle_side(self) -> None: ...

    def go_to_timeline(self) -> None: ...

    def toggle_folds(self) -> None: ...

    async def find(self, text: str) -> None: ...

    @property
    def draft(self) -> str:
        """What is being written."""

    def set_draft(self, text: str) -> None:
        """Put a text in place of what is being written, which stays among the earlier prompts."""


class AppearanceChanges(Protocol):
    """What can be changed about the app's looks."""

    def use(self, setting: str) -> None:
        """A theme as the settings name it."""

    def follow(self, settings: Settings) -> None:
        """Settings that may have changed."""


class CommandHost(Protocol):
    """The app, as far as commands know it."""

    @property
    def session(self) -> "Session | None":
        """The open session."""

    @property
    def state(self) -> "SessionState":
        """What is shown: all events heard so far."""

    @property
    def sessions(self) -> SessionChanges: ...

    @property
    def settings(self) -> SettingChanges: ...

    @property
    def view(self) -> ChatView: ...

    @property
    def embedded_model(self) -> EmbeddedModel: ...

    def say(self, text: str) -> None:
        """A note in the chat; it is not part of the session."""

    def notice(self, text: str) -> None:
        """A word that goes away again; whoever reads in the chat stays where they are."""

    def fail(self, text: str) -> None:
        """The same for what went wrong."""

    def show_busy(self) -> None:
        """Show again whether a turn runs."""

    def run(self, name: str, arguments: str) -> None:
        """Run another command."""

    def send(self, prompt: str) -> None:
        """Say something, as if it had been written in the prompt."""

    async def edit_elsewhere(self, text: str) -> str:
        """The text as the user's editor left it. Raises `EditorTrouble`."""

    async def ask(self, make: Callable[[], Screen[T]]) -> T | None:
        """Open a screen and wait for its answer. None, and nothing made, when one is open already: they never stack."""

    async def confirm(self, question: str) -> bool:
        """Yes or no, whatever is open."""

    @property
    def is_dark(self) -> bool:
        """Whether the present theme is."""

    @property
    def appearance(self) -> AppearanceChanges: ...

    async def quit(self) -> None: ...
