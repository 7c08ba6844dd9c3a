"""The store on a PostgreSQL server: one database for several machines, a lease a session.

What belongs to this machine alone, as an unsent prompt, stays in files here. What takes time to import is imported when
it is first asked for: the first paint may need none of it.
"""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Self

from co_tui.paths import Paths
from co_tui.store.prompt_drafts import PromptDraftFiles

if TYPE_CHECKING:
    from co_tui.store.postgres.away.kept_here import KeptHere
    from co_tui.store.postgres.read_connections import ReadConnections
    from co_tui.store.postgres.reader import Reader
    from co_tui.store.postgres.server import Server
    from co_tui.store.postgres.writer import Writer


class PostgresStore:
    """Several processes on several machines may use the same database; leases assign each session to one."""

    def __init__(
        self, paths: Paths, url: str, password: Callable[[], str] = str, report: Callable[[str], None] | None = None
    ) -> None:
        """Nothing is opened before it is needed. A URL that cannot be used raises `StoreError` then.

        `report` gets sentences about a server that is away or back, from any thread.
        """
        self._report = report or (lambda _: None)
        self._kept_folder = paths.state / "kept"
        self._url, self._password = url, password
        self._folders = (paths.session, paths.snapshots)
        self.prompt_drafts = PromptDraftFiles(paths.state / "drafts")
        self._writer: Writer | None = None
        self._opening = threading.Lock()

    @cached_property
    def _server(self) -> "Server":
        from co_tui.store.postgres.server import Server

        return Server(self._url, self._password)

    @cached_property
    def _connections(self) -> "ReadConnections":
        from co_tui.store.postgres.read_connections import ReadConnections

        return ReadConnections(self._server)

    @cached_property
    def _kept(self) -> "KeptHere":
        from co_tui.store.postgres.away.kept_here import KeptHere

        return KeptHere(self._kept_folder, self._server.location)

    def report_to(self, report: Callable[[str], None]) -> None:
        self._report = report

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
                self._writer = Writer(self._server, self._kept, lambda sentence: self._report(sentence), self._carry)
            return self._writer

    def claim(self, session_id: str) -> "SessionLease":
        writer = self.writing()
        writer.claim(session_id)
        return SessionLease(writer, session_id)

    def delete(self, session_id: str) -> None:
        # The files last: when the database refuses, the session stays, and stays whole.
        self.writing().delete(session_id).result()
        self.prompt_drafts.write(session_id, "")
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

    def close(self) -> None:
        """Finish pending writes; later ones fail."""
        with self._opening:
            if self._writer is not None:
                self._writer.close()
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
