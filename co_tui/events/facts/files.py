"""What happened to the files of the session's folder (E13)."""

from typing import ClassVar, Final

from co_tui.events.facts.base import NOTHING, Json, Logged
from co_tui.events.symbols import EntryKind, EntryStyle, EntryWeight
from co_tui.events.wording import ExportEntry, counted, long, short

NEW: Final = "new"
GONE: Final = "gone"
AS_BEFORE: Final = "as before"
UNSURE: Final = "unsure"
"""It may have changed since without a record."""
FOLDER: Final = "folder"
"""What a changed path is now, compared to before the session first changed it; other changed files have no word."""


class FilesTouched(Logged):
    """Files of the folder, and what was done to them."""

    DONE: ClassVar[str] = ""
    turn: int
    paths: tuple[str, ...]
    """Relative to the folder; the first of very many."""
    snapshot: str
    """Of the folder before a change, or that was brought back."""
    now: Json = NOTHING
    """What some of the paths are now: `new`, `gone` or `as before`, compared to before the session first changed them,
    or `folder` for a folder, which is named if nothing in it is."""

    def timeline_text(self) -> str:
        return f"{counted(len(self.paths), 'file')} {self.DONE}\n{short(', '.join(self.paths))}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"{counted(len(self.paths), 'file')} {self.DONE}: {long(', '.join(self.paths))}")


class FilesChanged(FilesTouched):
    """A tool or a command changed files."""

    TYPE = "files.changed"
    ENTRY = EntryStyle("✎", EntryKind.WORK, is_quiet=True)
    DONE = "changed"


class FilesRestored(FilesTouched):
    """Files were brought back to what they were before a turn, or a restore was undone."""

    TYPE = "files.restored"
    ENTRY = EntryStyle("↶", EntryKind.CONTEXT, EntryWeight.NOTABLE)
    DONE = "restored"
    as_before: tuple[str, ...] = ()
    """Those of the paths that are again as before the session first changed them."""
    undoes: int = 0
    """The event of the restore that it undoes."""
    conversation_stays: bool = False
    """Whether the conversation did not go back with them, so that a note has to say which files did."""
