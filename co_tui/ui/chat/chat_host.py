"""What the chat asks of whoever shows it."""

from collections.abc import Sequence
from typing import Protocol

from co_tui.events import Event
from co_tui.session.file_references import NamedFile


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

    async def load_back_to(self, seq: int) -> None:
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

    def heeds_effort(self, model: str) -> bool:
        """Whether the model supports a reasoning effort; False until the engine is loaded."""

    def interrupt(self) -> None:
        """Stop the running turn."""

    def cancel_compaction(self) -> None:
        """Stop the compaction a turn waits for; the turn, if any, continues."""

    def draft_changed(self) -> None:
        """Save the draft soon."""


class ChatHost(Protocol):
    """Called at once, not by messages: what was sent or commanded must not be overtaken by the keys that follow."""

    @property
    def last_typed_at(self) -> float:
        """When something was typed, by the monotonic clock."""

    @property
    def controller(self) -> SessionControl: ...

    def chat_mounted(self) -> None:
        """The chat is there and wants to be filled before it is painted."""

    def folder_changed(self) -> None:
        """The work goes on in another folder: what that one wants has to be asked."""

    def run_command(self, name: str, arguments: str) -> None: ...

    def send(self, prompt: str, files: Sequence[NamedFile] = (), *, steers: bool = False) -> None:
        """Say something, with these files; with `steers` to the turn that runs, if one does."""

    def call_back(self, words: str) -> None:
        """Tell whoever looks elsewhere; nothing while somebody looks here."""

    async def open_address(self, address: str) -> bool:
        """In the user's browser; False where there is none."""

    def open_entry(self, event: Event) -> None:
        """Open an entry of the timeline."""
