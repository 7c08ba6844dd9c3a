"""The context board: the notes a session starts with, and its changes to them."""

from co_tui.events.facts.base import NOTHING, Announced, Json, Occurrence
from co_tui.events.symbols import EntryKind, EntryStyle
from co_tui.events.wording import ExportEntry, counted


class BoardShown(Occurrence):
    """The session starts with these notes; they are part of every request, even if the board changes later."""

    TYPE = "board.shown"
    ENTRY = EntryStyle("+", EntryKind.MEMORY, is_quiet=True)
    note: str
    """As sent to the model."""
    entries: int = 0
    left_out: int = 0
    """Older notes that did not fit."""
    tokens: int = 0
    mark: str = ""
    """See `MARK`."""

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Started with {counted(self.entries, 'note')} from earlier sessions", self.note)


class BoardChanged(Occurrence):
    """Notes were added or removed, each with its `id`, `text`, `added` and `session_id`."""

    TYPE = "board.changed"
    ENTRY = EntryStyle("+", EntryKind.MEMORY, is_quiet=True)
    NEEDS_SESSION = True
    added: tuple[Json, ...] = ()
    pruned: tuple[Json, ...] = ()
    model: str = ""
    """The model that chose them; empty for the user and for unfinished runs."""
    usage: Json = NOTHING
    cost: float | None = None
    billed: bool = False
    """Whether `RequestBilled` counts its cost; in older logs, `cost` counts."""

    def export_entry(self) -> ExportEntry:
        changes = [
            *(f"+ {each.get('text')}" for each in self.added),
            *(f"- {each.get('text')}" for each in self.pruned),
        ]
        if changes or self.model:
            return ExportEntry("Context board updated", "\n".join(changes))
        return ExportEntry("Context board unchanged", self.outcome)


class BoardProgress(Announced):
    """An agent is reading the conversation to update the board."""

    TYPE = "board.progress"
    text: str = ""
    over: bool = False
