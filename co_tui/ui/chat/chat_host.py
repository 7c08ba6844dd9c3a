"""What the chat screen needs from the app."""

from collections.abc import Sequence
from typing import Protocol

from co_tui.events import Event
from co_tui.session.file_references import NamedFile


class ChatHost(Protocol):
    """Called directly, not through messages: keys that follow must not overtake a prompt or a command."""

    @property
    def last_typed_at(self) -> float:
        """Monotonic time of the last key typed."""

    @property
    def mode(self) -> str:
        """The permission mode of the session shown, or of the one that starts next."""

    def next_mode(self) -> None:
        """Switch to the next mode."""

    def heeds_effort(self, model: str) -> bool:
        """Whether a model has a reasoning effort to set; False while that is unknown."""

    def chat_mounted(self) -> None:
        """The chat is mounted and must be filled before the first paint."""

    def folder_changed(self) -> None:
        """The working folder changed: ask whether to trust it, and report its problems."""

    def run_command(self, name: str, arguments: str) -> None: ...

    def send(self, prompt: str, files: Sequence[NamedFile] = (), *, steers: bool = False) -> None:
        """Send a prompt with these files; with `steers`, to the running turn if there is one."""

    def send_held(self) -> None:
        """Send the prompts that an interruption put on hold."""

    def interrupt(self) -> None:
        """Stop the running turn."""

    def withdraw_prompt(self) -> None:
        """Withdraw the last prompt that waits for a session."""

    def cancel_compaction(self) -> None:
        """Cancel the blocking compaction; a turn waiting for it continues."""

    def alert(self, text: str) -> None:
        """Alert the user through the terminal, unless it has the focus."""

    def draft_changed(self) -> None:
        """The draft changed."""

    def load_older(self) -> None:
        """Load blocks above the first one loaded."""

    async def load_back_to(self, seq: int) -> None:
        """Load all blocks from this event on."""

    async def open_address(self, address: str) -> bool:
        """Open an address in the user's browser; False where there is none."""

    def open_entry(self, event: Event) -> None:
        """Open a timeline entry."""
