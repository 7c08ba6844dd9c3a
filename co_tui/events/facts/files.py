"""What happened to the files of the session's folder (E13)."""

from co_tui.events.facts.base import Logged
from co_tui.events.symbols import EntryKind, EntryStyle, EntryWeight
from co_tui.events.wording import ExportEntry, counted, long, short


class FilesChanged(Logged):
    """A tool or a command changed files."""

    TYPE = "files.changed"
    ENTRY = EntryStyle("✎", EntryKind.WORK, is_quiet=True)
    turn: int
    paths: tuple[str, ...]
    """Relative to the folder; the first of very many."""
    snapshot: str
    """The snapshot of the folder before."""

    def timeline_text(self) -> str:
        return f"{counted(len(self.paths), 'file')} changed\n{short(', '.join(self.paths))}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"{counted(len(self.paths), 'file')} changed: {long(', '.join(self.paths))}")


class FilesRestored(Logged):
    """Files were brought back to what they were before a turn, or a restore was undone."""

    TYPE = "files.restored"
    ENTRY = EntryStyle("↶", EntryKind.CONTEXT, EntryWeight.NOTABLE)
    turn: int
    paths: tuple[str, ...]
    """Relative to the folder; the first of very many."""
    snapshot: str
    """The snapshot that was brought back."""
    as_before: tuple[str, ...] = ()
    """Those of the paths that are again as before the session first changed them."""
    conversation_stays: bool = False
    """Whether the conversation did not go back with them, so that a note has to say which files did."""

    def timeline_text(self) -> str:
        return f"{counted(len(self.paths), 'file')} restored\n{short(', '.join(self.paths))}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"{counted(len(self.paths), 'file')} restored: {long(', '.join(self.paths))}")
