"""What the chat asks of whoever shows it."""

from collections.abc import Sequence
from typing import Protocol

from co_tui.events import Event
from co_tui.session.file_references import NamedFile


class ChatHost(Protocol):
    """Called at once, not by messages: what was sent or commanded must not be overtaken by the keys that follow."""

    @property
    def last_typed_at(self) -> float:
        """When something was typed, by the monotonic clock."""

    @property
    def mode(self) -> str:
        """What runs without a question, in the session that is shown or the one that begins next."""

    def next_mode(self) -> None:
        """Switch to the next mode."""

    def heeds_effort(self, model: str) -> bool:
        """Whether a model can be asked to think more or less; False as long as nobody can tell."""

    def chat_mounted(self) -> None:
        """The chat is there and wants to be filled before it is painted."""

    def folder_changed(self) -> None:
        """The work goes on in another folder: what that one wants has to be asked."""

    def run_command(self, name: str, arguments: str) -> None: ...

    def send(self, prompt: str, files: Sequence[NamedFile] = (), *, steers: bool = False) -> None:
        """Say something, with these files; with `steers` to the turn that runs, if one does."""

    def send_held(self) -> None:
        """Go on with the prompts that an interruption left waiting."""

    def interrupt(self) -> None:
        """Stop the turn that runs."""

    def take_back(self) -> None:
        """Take back what was given last and waits for a session."""

    def cancel_compaction(self) -> None:
        """Stop the compaction that is waited for; the turn behind it, if any, goes on."""

    def call_back(self, words: str) -> None:
        """Tell whoever looks elsewhere; nothing while somebody looks here."""

    def draft_changed(self) -> None:
        """Something else is being written."""

    def load_older(self) -> None:
        """Show what comes before the first block that is loaded."""

    async def load_back_to(self, seq: int) -> None:
        """Show everything from an event on."""

    async def open_address(self, address: str) -> bool:
        """In the user's browser; False where there is none."""

    def open_entry(self, event: Event) -> None:
        """Open an entry of the timeline."""
