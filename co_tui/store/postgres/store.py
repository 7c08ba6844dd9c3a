"""The store on a PostgreSQL server: one database for several machines, a lease a session.

Files of sessions, projects and the user are in the database, too; those here are copies. Snapshots of folders belong to
this machine alone. What takes time to import is imported when it is first asked for: the first paint may need none of
it.
"""

import hashlib
import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Self

from co_tui.paths import Paths
from co_tui.store.cached_list import CachedList
from co_tui.store.prompt_drafts import SyncedDrafts

if TYPE_CHECKING:
    from co_tui.store.postgres.away.kept_here import KeptHere
    from co_tui.store.postgres.change_listener import ChangeListener, Follower
    from co_tui.store.postgres.files.file_sync import PostgresFileSync
    from co_tui.store.postgres.read_connections import ReadConnections
    from co_tui.store.postgres.reader import Reader
    from co_tui.store.postgres.redaction import Hiding
    from co_tui.store.postgres.server import Server
    from co_tui.store.postgres.writer import Writer


class PostgresStore:
    """Several processes on several machines may use the same database; leases assign each session to one."""

    is_remote = True

    def __init__(
        self,
        paths: Paths,
        url: str,
        password: Callable[[], str] = str,
        hiding: "Callable[[], Hiding] | None" = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Nothing is opened before it is needed. A URL that cannot be used raises `StoreError` then.

        `hiding` is asked before something is first written; without it, texts are stored as they are. `report` gets
        sentences about a server that is away or back, from any thread.
        """
        self._url, self._password, self._hiding = url, password, hiding
        self._report = report or (lambda _: None)
        self._kept_folder = paths.state / "kept"
        self._folders = (paths.session, paths.snapshots)
        name = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()[:16]
        self.cached_list = CachedList(paths.state / "session-lists" / f"{name}.json")
        self._copies = paths.state / f"copied-files-{name}.sqlite"
        self.prompt_drafts = SyncedDrafts(paths.state / "drafts", lambda: self.files)
        self._writer: Writer | None = None
        self._opening = threading.Lock()

    @cached_property
    def _server(self) -> "Server":
        from co_tui.store.postgres.server import Server

        if self._hiding is None:
            return Server(self._url, self._password)
        return Server(self._url, self._password, self._hiding)

    @cached_property
    def _connections(self) -> "ReadConnections":
        from co_tui.store.postgres.read_connections import ReadConnections

        return ReadConnections(self._server)

    @cached_property
    def _listener(self) -> "ChangeListener":
        from co_tui.store.postgres.change_listener import ChangeListener

        return ChangeListener(self._server)

    @cached_property
    def files(self) -> "PostgresFileSync":
        from co_tui.store.postgres.files.file_sync import PostgresFileSync
        from co_tui.store.postgres.files.known_files import KnownFiles

        return PostgresFileSync(KnownFiles(self._copies), lambda: self._writer, self.writing, self._without_secrets)

    def _without_secrets(self, text: str) -> str:
        return self._server.redaction.get().json_text(text)

    @cached_property
    def _kept(self) -> "KeptHere":
        from co_tui.store.postgres.away.kept_here import KeptHere

        return KeptHere(self._kept_folder, self._server.location)

    def report_to(self, report: Callable[[str], None]) -> None:
        self._report = report

    def stop_waiting(self) -> None:
        """Nothing waits: what the server does not take is kept here."""

    @property
    def location(self) -> str:
        return self._server.location

    def reading(self) -> "Reader":
        from co_tui.store.postgres.away.kept_reader import KeptReader

        return KeptReader(self._connections, self._kept)

    def writing(self) -> "Writer":
        from co_tui.store.postgres.writer import Writer

        with self._opening:
            if self._writer is None:
                report = lambda sentence: self._report(sentence)  # noqa: E731  # `report_to` may change it
                self._writer = writer = Writer(self._server, self._kept, report, self._carry)
                writer.after_commit = lambda: self.files.send_again(writer)
                self.files.send_unsent(writer)
                self.files.drop_deleted(writer, self._remove_files)
            return self._writer

    def claim(self, session_id: str, *, take_over: bool = False) -> "SessionLease":
        writer = self.writing()
        writer.claim(session_id, take_over=take_over)
        return SessionLease(writer, session_id)

    def delete(self, session_id: str) -> None:
        # The files last: when the database refuses, the session stays, and stays whole.
        self.writing().delete(session_id).result()
        self._remove_files(session_id)

    def _remove_files(self, session_id: str) -> None:
        self.prompt_drafts.file(session_id).unlink(missing_ok=True)
        self.files.forget(session_id)
        import shutil

        for folder in self._folders:
            shutil.rmtree(folder(session_id), ignore_errors=True)

    def _carry(self, source: str, target: str) -> None:
        """Copy a session's files to a fork of it."""
        import shutil
        from contextlib import suppress

        for folder in self._folders:
            with suppress(OSError, shutil.Error):  # without them, it can still be continued
                shutil.copytree(folder(source), folder(target), symlinks=True, dirs_exist_ok=True)

    def claimed(self) -> frozenset[str]:
        with self.reading() as reading:
            return reading.claimed()

    def follow(self, session_id: str, changed: Callable[[], None]) -> "Follower":
        return self._listener.follow(session_id, changed)

    def close(self) -> None:
        """Finish pending writes; later ones fail."""
        if "_listener" in vars(self):
            self._listener.close()
        if "files" in vars(self):
            self.files.send_last()
        with self._opening:
            if self._writer is not None:
                self._writer.close()
        if "files" in vars(self):
            self.files.close()
        if "_connections" in vars(self):
            self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class SessionLease:
    """The right to write one session, renewed until it is released."""

    def __init__(self, writer: "Writer", session_id: str) -> None:
        self._writer: Writer | None = writer
        self._session_id = session_id

    def release(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.release(self._session_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.release()
