"""Context boards: what was learnt about a repository and branch, one Markdown file each."""

import hashlib
import re
import secrets
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

from co_tui.kept_file import kept_text
from co_tui.paths import read_small_text
from co_tui.store.notes.board_text import (
    Board,
    BoardChange,
    BoardEntry,
    board_text,
    read_board,
    safe_entry_text,
)
from co_tui.store.sync.files.synced_file import OnChange, not_synced
from co_tui.store.timestamps import now

FILE_BYTES: Final = 1_000_000
NAME_CHARS: Final = 40
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


class BoardFailed(Exception):
    """The board could not be read or written; the text names the file and the reason."""


def new_entry(text: str, session_id: str) -> BoardEntry:
    """A learning of now."""
    return BoardEntry(secrets.token_hex(4), safe_entry_text(text), now(), session_id)


class ContextBoard:
    """The board of one branch of one repository; several processes may change it at once, each in one step."""

    def __init__(self, folder: Path, repository: str, branch: str) -> None:
        """`folder` holds the boards of all repositories."""
        self.repository, self.branch = repository, branch
        self.on_change: OnChange = not_synced
        # Different names may become equal once they are safe; the hash keeps them apart.
        self.file = folder / _safe(repository, Path(repository).name) / f"{_safe(branch, branch or 'folder')}.md"

    def read(self) -> Board:
        """Empty when there is none. Raises `BoardFailed`."""
        try:
            return read_board(read_small_text(self.file, FILE_BYTES, errors="replace"))
        except FileNotFoundError:
            return Board()
        except OSError as error:
            raise BoardFailed(f"Cannot read context board {self.file}: {error.strerror or error}.") from error

    def change(self, added: Iterable[BoardEntry] = (), pruned: Collection[str] = ()) -> BoardChange:
        """Add and remove entries in one step; returns what changed. Raises `BoardFailed`."""
        return self._replace(lambda board: board.changed(added, pruned))

    def undo(self) -> BoardChange:
        """Undo the latest change. Raises `BoardFailed`."""
        return self._replace(Board.undone)

    def _replace(self, change: Callable[[Board], Board]) -> BoardChange:
        def changed(text: str) -> str:
            before = read_board(text)
            after = change(before)
            return text if after == before else board_text(after, self.repository, self.branch, text)

        try:
            before, after = kept_text(self.file, limit_bytes=FILE_BYTES).change(changed)
        except OSError as error:
            raise BoardFailed(f"Cannot write context board {self.file}: {error.strerror or error}.") from error
        if before == after:
            return BoardChange()
        self.on_change()
        return read_board(after).latest


def _safe(exact: str, name: str) -> str:
    """A file name for anything: a readable part, and a hash that keeps it unique."""
    readable = _UNSAFE.sub("-", name).strip("-.")[:NAME_CHARS] or "root"
    return f"{readable}-{hashlib.sha256(exact.encode(errors='surrogateescape')).hexdigest()[:10]}"
