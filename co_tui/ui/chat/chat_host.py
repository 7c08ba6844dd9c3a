"""What the chat screen needs from the app."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from co_tui.events import Event
from co_tui.events.stored_messages import Span
from co_tui.session.file_references import NamedFile

if TYPE_CHECKING:
    from co_tui.ui.work.session_work import WorkRow


class WaitingPrompts(Protocol):
    """Prompts that are not part of the conversation yet."""

    def send_held(self) -> None:
        """Release the prompts that an interruption left waiting."""

    def withdraw_latest(self) -> bool:
        """Withdraw the latest prompt or command that waits for a session; False if none does."""


class EarlierMessages(Protocol):
    """Messages of the shown session that are not loaded yet."""

    def load(self) -> None:
        """Show the page before the first loaded block."""

    async def load_back_to(self, seq: int) -> bool:
        """Show everything from an event on."""


class CurrentMode(Protocol):
    @property
    def current(self) -> str:
        """The permission mode of the shown session, or of the next one."""


class SessionControl(Protocol):
    """The shown session, as far as the chat controls it."""

    @property
    def sender(self) -> WaitingPrompts: ...

    @property
    def older(self) -> EarlierMessages: ...

    @property
    def modes(self) -> CurrentMode: ...

    def next_mode(self) -> None:
        """Switch to the next mode."""

    def supports_effort(self, model: str) -> bool:
        """Whether the model supports a reasoning effort; False until the engine is loaded."""

    async def list_resources(self) -> Mapping[str, str]:
        """The resources of running MCP servers, as a prompt names them, with their titles."""

    def interrupt(self) -> None:
        """Stop the running turn."""

    def running_commands(self) -> "list[WorkRow]":
        """The background commands that run."""

    @property
    def can_move(self) -> bool:
        """Whether a running command can be moved to the background."""

    def stop_work(self, key: str) -> None:
        """Stop a background command or a delegation."""

    def cancel_compaction(self) -> None:
        """Stop the compaction a turn waits for; the turn, if any, continues."""

    def draft_changed(self) -> None:
        """Save the draft soon."""


class ChatHost(Protocol):
    """Called directly, not through messages: keys that follow must not overtake a prompt or a command."""

    @property
    def last_typed_at(self) -> float:
        """Monotonic time of the last key typed."""

    @property
    def controller(self) -> SessionControl:
        """Made when first asked for: an empty chat is painted without it."""

    @property
    def mode(self) -> str:
        """The permission mode of the session shown, or of the next one."""

    async def chat_mounted(self) -> None:
        """The chat is mounted and must be filled before the first paint."""

    def folder_changed(self) -> None:
        """The working folder changed: ask whether to trust it, and report its problems."""

    def run_command(self, name: str, arguments: str) -> None: ...

    def refresh_commands(self) -> None:
        """Read again which commands files and MCP servers offer."""

    def send(
        self, prompt: str, files: Sequence[NamedFile] = (), *, steers: bool = False, pasted: Sequence[Span] = ()
    ) -> None:
        """Send a prompt with these files; with `steers`, to the running turn if there is one. `pasted` are the parts
        of it that were pasted and folded."""

    async def use_configured_model(self) -> bool:
        """Let the configured model answer in the example session; False if it cannot, or the user does not want it."""

    def alert(self, text: str) -> None:
        """Alert the user through the terminal, unless it has the focus, as far as known."""

    async def open_address(self, address: str) -> bool:
        """Open an address in the user's browser; False where there is none."""

    def open_entry(self, event: Event) -> None:
        """Open a timeline entry."""

    def open_work(self, key: str) -> None:
        """Open a background command or a delegation."""
