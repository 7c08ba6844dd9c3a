"""The files of a session, its project and its user that are the same on every machine with the same database.

The project of a folder is a claim of the folder's own files. So what belongs to a project, its approvals and its
boards, comes to a folder only when one of the project's sessions is resumed in it.
"""

import contextlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.paths import Paths, path_text, read_small_text, write_atomically
from co_tui.session.checkout import repository_branch_of, repository_of
from co_tui.session.history.learned_limits import LIMITS_FILE
from co_tui.session.repository_identity import repository_id_of
from co_tui.store.notes.checkpoints import Checkpoints
from co_tui.store.notes.context_board import ContextBoard
from co_tui.store.notes.daily_memory import DailyMemory
from co_tui.store.prompt_drafts import draft_file
from co_tui.store.sync.files.synced_file import LOCAL_FILES, FileSync, OnChange, SyncedFile, session_files

APPROVALS_FILE: Final = "approvals.json"
RATIOS_FILE: Final = "token-ratios.json"
PROJECT_MARK: Final = "project.txt"
"""In a session's folder: the project it belongs to."""
_MARK_BYTES: Final = 10_000


class SyncedFiles(NamedTuple):
    """The files of an installation, and what keeps them equal elsewhere."""

    paths: Paths
    sync: FileSync

    def session_changed(self, session_id: str) -> OnChange:
        return partial(self.sync.changed, self._session(session_id))

    def limits_changed(self) -> None:
        self.sync.changed(self._limits)

    def ratios_changed(self) -> None:
        self.sync.changed(self._ratios)

    def checkpoints(self, session_id: str) -> Checkpoints:
        """The checkpoints of a session."""
        return Checkpoints(self.paths.session(session_id), self.session_changed(session_id))

    @property
    def memory(self) -> DailyMemory:
        return DailyMemory(self.paths.memory, partial(self.sync.changed, self._memory))

    def board(self, cwd: Path) -> ContextBoard:
        """The board of a folder's repository and branch."""
        where = repository_branch_of(cwd)
        board = ContextBoard(self.paths.boards, *where)
        board.on_change = lambda: self.sync.changed(_board_file(board, cwd))
        return board

    def approvals_changed(self, cwd: Path) -> OnChange:
        return lambda: self.sync.changed(approvals_file(self.paths, cwd))

    def refresh_session(self, session_id: str) -> None:
        """Bring the files of a session up to date."""
        draft = draft_file(self.paths.state / "drafts" / f"{session_id}.txt", session_id)
        self.sync.refresh(self._session(session_id), draft)

    def refresh_shared(self, cwd: Path, session_id: str = "") -> None:
        """Bring up to date what sessions in a folder share: with that of its project, if it is also the project of the
        session that is resumed there, or was before."""
        joins = bool(session_id) and self._project_of(session_id) == project_of(cwd)
        board = _board_file(ContextBoard(self.paths.boards, *repository_branch_of(cwd)), cwd)
        approvals = approvals_file(self.paths, cwd)
        own = (board._replace(joins=joins), approvals._replace(joins=joins))
        self.sync.refresh(self._memory, self._limits, self._ratios, *own)

    def refresh_resumed(self, cwd: Path, session_id: str) -> None:
        """Bring up to date all that a session needs that is resumed in a folder."""
        self.refresh_session(session_id)
        self.refresh_shared(cwd, session_id)

    def refresh_stored(self, session_ids: Iterable[str]) -> None:
        """Bring up to date the files of these sessions, and what all sessions share."""
        for session_id in session_ids:
            self.refresh_session(session_id)
        self.sync.refresh(self._memory, self._limits, self._ratios)

    def mark_project(self, session_id: str, project: str) -> None:
        """Remember the project of a new session, for other machines."""
        if project and self.sync is not LOCAL_FILES:
            with contextlib.suppress(OSError):
                write_atomically(self._mark(session_id), project)
                self.session_changed(session_id)()

    def carry(self, source: str, target: str, *, is_own: bool) -> None:
        """Send the files of a fork, which is of the same project if its source is the user's own."""
        self.mark_project(target, self._project_of(source) if is_own else "")
        self.session_changed(target)()

    def _project_of(self, session_id: str) -> str:
        try:
            return read_small_text(self._mark(session_id), _MARK_BYTES)
        except (OSError, UnicodeDecodeError):
            return ""

    def _mark(self, session_id: str) -> Path:
        return self.paths.session(session_id) / PROJECT_MARK

    def _session(self, session_id: str) -> SyncedFile:
        return session_files(self.paths, session_id)

    @property
    def _memory(self) -> SyncedFile:
        return SyncedFile("memory/", self.paths.memory, "memory")

    @property
    def _limits(self) -> SyncedFile:
        return SyncedFile("limits", self.paths.state / LIMITS_FILE, "limits")

    @property
    def _ratios(self) -> SyncedFile:
        return SyncedFile("ratios", self.paths.state / RATIOS_FILE, "ratios")


def project_of(cwd: Path) -> str:
    """The project of a folder, the same on every machine: where its repository comes from, else its path."""
    repository, _ = repository_of(cwd)
    return repository_id_of(cwd) or f"path:{repository or path_text(cwd)}"


def approvals_file(paths: Paths, cwd: Path) -> SyncedFile:
    """The approvals of the project that contains a folder."""
    repository, _ = repository_of(cwd)
    project = path_text((Path(repository) if repository else cwd).resolve())
    return SyncedFile(f"approvals/{project_of(cwd)}", paths.state / APPROVALS_FILE, "approvals", project, joins=False)


def _board_file(board: ContextBoard, cwd: Path) -> SyncedFile:
    project = repository_id_of(cwd) or f"path:{board.repository}"
    return SyncedFile(f"boards/{project}@{board.branch}", board.file, "board", joins=False)
