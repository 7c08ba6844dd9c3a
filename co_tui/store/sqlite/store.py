"""The store of an installation: one database, a lock file a session, a small file a prompt draft.

What takes time to import is imported when it is first asked for: the first paint may need none of it.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from co_tui.paths import Paths
from co_tui.store.polling import Polling
from co_tui.store.prompt_drafts import PromptDraftFiles
from co_tui.store.sqlite.schema import bytes_to_rewrite
from co_tui.store.synced.synced_file import LOCAL_FILES

if TYPE_CHECKING:
    from co_tui.store.sqlite.lock import SessionLockFile
    from co_tui.store.sqlite.reader import Reader
    from co_tui.store.sqlite.writer import Writer

SLOW_MIGRATION_BYTES = 30_000_000


class SqliteStore:
    """Several processes may use the same folders; locks assign each session to one."""

    is_remote, cached_list = False, None
    files = LOCAL_FILES

    def __init__(self, paths: Paths) -> None:
        """Nothing is opened or created before it is needed."""
        self._database = paths.database
        self._locks = paths.locks
        self._session_folder = paths.session
        self._snapshots = paths.snapshots
        self.prompt_drafts = PromptDraftFiles(paths.state / "drafts")
        self._writer: Writer | None = None
        self._report: Callable[[str], None] = lambda sentence: None
        self._opening = threading.Lock()

    @property
    def location(self) -> str:
        return str(self._database)

    def migrate(self, report: Callable[[str], None]) -> None:
        """Migrate a large, old database now and report it, rather than silently delay the first query.

        Only in a new process: it reads the file without SQLite.
        """
        size = bytes_to_rewrite(self._database)
        if size >= SLOW_MIGRATION_BYTES:
            report(
                f"Upgrading your sessions to this version ({size // 1_000_000:,} MB, up to a minute). "
                "Interrupting is safe."
            )
            from co_tui.store.sqlite.connect import connect_for_writing

            connect_for_writing(self._database, self._locks, report).close()
            report("Your sessions are up to date. Older messages become searchable while co-tui is open.")

    def report_to(self, report: Callable[[str], None]) -> None:
        """Also that a change waits for another program."""
        self._report = report

    def stop_waiting(self) -> None:
        if self._writer is not None:
            self._writer.stop_waiting()

    def reading(self) -> "Reader":
        from co_tui.store.sqlite.reader import Reader

        return Reader(self._database, self._locks)

    def writing(self) -> "Writer":
        from co_tui.store.sqlite.writer import Writer

        with self._opening:
            if self._writer is None:
                self._writer = Writer(self._database, self._locks, report=lambda sentence: self._report(sentence))
            return self._writer

    def claim(self, session_id: str, *, take_over: bool = False) -> "SessionLockFile":
        """A process that died holds no lock, so that none has to be taken over."""
        from co_tui.store.sqlite.lock import SessionLockFile

        lock = SessionLockFile(self._locks, session_id)
        lock.acquire()
        return lock

    def delete(self, session_id: str) -> None:
        # The files last: when the database refuses, the session stays, and stays whole.
        self.writing().delete(session_id).result()
        self.prompt_drafts.write(session_id, "")
        for folder in (self._session_folder(session_id), self._snapshots(session_id)):
            if folder.exists():
                import shutil

                shutil.rmtree(folder, ignore_errors=True)

    def claimed(self) -> frozenset[str]:
        from co_tui.store.sqlite.lock import claimed_sessions

        return claimed_sessions(self._locks)

    def follow(self, session_id: str, changed: Callable[[], None]) -> Polling:
        return Polling()

    def close(self) -> None:
        """Finish pending writes; later ones fail."""
        with self._opening:
            if self._writer is not None:
                self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if failure[0] is KeyboardInterrupt:
            self.stop_waiting()
        self.close()
