"""The store of an installation: one database, a lock file a session, a small file a prompt draft.

What takes time to import is imported when it is first asked for: the first paint may need none of it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Self

from co_tui.paths import Paths
from co_tui.store.prompt_drafts import PromptDraftFiles
from co_tui.store.sqlite.schema import bytes_to_rewrite
from co_tui.store.store_errors import SessionBusy, SessionOfAnother
from co_tui.store.sync.sync import NO_SYNC, Sync, SyncLease

if TYPE_CHECKING:
    from co_tui.store.sqlite.lock import SessionLockFile
    from co_tui.store.sqlite.reader import Reader
    from co_tui.store.sqlite.writer import Writer
    from co_tui.store.stored_values import Deletion

SLOW_MIGRATION_BYTES = 30_000_000


class SqliteStore:
    """Several processes may use the same folders; locks assign each session to one."""

    def __init__(self, paths: Paths, sync: "Callable[[SqliteStore], Sync] | None" = None) -> None:
        """Nothing is opened or created before it is needed. `sync` makes what carries the sessions elsewhere."""
        self._database = paths.database
        self._locks = paths.locks
        self._session_folder = paths.session
        self._snapshots = paths.snapshots
        self.sync: Sync = sync(self) if sync is not None else NO_SYNC
        self.prompt_drafts = PromptDraftFiles(paths.state / "drafts", self.sync.files)
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
        self._report = report
        self.sync.report_to(report)

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
                self._writer.changed = self.sync.changed
            return self._writer

    def claim(self, session_id: str, *, take_over: bool = False) -> "SessionClaim":
        lock = self.lock(session_id)
        try:
            return SessionClaim(lock, self.sync.lease(session_id, take_over=take_over, is_new=self._is_new(session_id)))
        except BaseException:
            lock.release()
            raise

    def open_elsewhere(self, session_id: str) -> SessionBusy | None:
        from co_tui.store.sqlite.lock import held_elsewhere

        with self.reading() as reading:
            owner = reading.owner(session_id)
        return SessionOfAnother.of(session_id, owner) if owner else held_elsewhere(self._locks, session_id)

    def lock(self, session_id: str, *, for_sync: bool = False) -> "SessionLockFile":
        """The right to write a session among the processes of this machine. Raises `SessionBusy`.

        A process that died holds no lock, so that none has to be taken over. One `for_sync` is held for a moment.
        """
        from co_tui.store.sqlite.lock import SYNC, SessionLockFile

        lock = SessionLockFile(self._locks, session_id, *([SYNC] if for_sync else []))
        lock.acquire()
        return lock

    def drain(self) -> None:
        """Wait until all changes that were requested are made."""
        if self._writer is not None:
            self._writer.change(lambda connection: None).result()

    def _is_new(self, session_id: str) -> bool:
        """Whether there is no such session. Raises `SessionOfAnother`."""
        with self.reading() as reading:
            owner = reading.owner(session_id)
        if owner:
            raise SessionOfAnother.of(session_id, owner)
        return owner is None

    def delete(self, session_id: str, deletion: "Deletion | None" = None) -> None:
        # The files last: when the database refuses, the session stays, and stays whole.
        self.writing().delete(session_id, deletion).result()
        self.prompt_drafts.forget(session_id)
        for folder in (self._session_folder(session_id), self._snapshots(session_id)):
            if folder.exists():
                import shutil

                shutil.rmtree(folder, ignore_errors=True)

    def claimed(self) -> frozenset[str]:
        from co_tui.store.sqlite.lock import claimed_sessions

        return claimed_sessions(self._locks) | self.sync.leased()

    @contextmanager
    def importing(self) -> Iterator[None]:
        from co_tui.kept_file import file_lock
        from co_tui.store.sqlite.sqlite_failures import explained

        path = self._locks / "importing"
        with ExitStack() as held:
            try:
                held.enter_context(file_lock(path))
            except OSError as error:
                raise explained(error, path) from error
            yield

    def close(self) -> None:
        """Finish pending writes; later ones fail."""
        self.prompt_drafts.leave()
        self.sync.close()
        with self._opening:
            if self._writer is not None:
                self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if failure[0] is KeyboardInterrupt:
            self.stop_waiting()
        self.close()


class SessionClaim:
    """The right to write one session, here and on all machines."""

    def __init__(self, lock: "SessionLockFile", lease: SyncLease) -> None:
        self._lock, self._lease = lock, lease

    def release(self) -> None:
        self._lock.release()
        self._lease.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.release()
