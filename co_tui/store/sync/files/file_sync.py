"""Keep the files here and in the database equal.

A file was changed here when it differs from what was last known to be equal: a process that is killed between writing
a file and sending it loses nothing. Files are sent before the events that are logged later.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as WaitedTooLong
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from co_tui.store.store_errors import StoreError
from co_tui.store.sync.files import file_copies, file_rows
from co_tui.store.sync.files.file_copies import Redact, Unshareable
from co_tui.store.sync.files.file_rows import NewBody, StoredFile
from co_tui.store.sync.files.kinds import KINDS, is_in_folder
from co_tui.store.sync.files.known_files import EqualFile, FileStatus, KnownFile, KnownFiles, digest
from co_tui.store.sync.files.synced_file import SyncedFile
from co_tui.store.sync.sync import REFRESH_S

if TYPE_CHECKING:
    from concurrent.futures import Future

    from co_tui.store.sync.server.server import Connection

T = TypeVar("T")
MOST_TRIES: Final = 5
"""While other machines change the same files."""


NOT_STORED: Final = StoredFile(0, "")
"""Of a file that was known, in a database that has it no longer."""
NOT_KNOWN: Final = KnownFile(0, digest(""), FileStatus())


class Synced(NamedTuple):
    """What became of files: those equal now, and whether all are."""

    equal: Sequence[EqualFile]
    is_whole: bool
    """Otherwise another machine was quicker with some."""


class _Decision(NamedTuple):
    """About one file."""

    equal: EqualFile
    is_new: bool
    """Whether the database gets this text; the version is the one it replaces, 0 for none."""


class Ask(Protocol):
    """Asks the server in the sync's thread; fails at once with `StoreError` when it cannot be reached."""

    def __call__(self, work: "Callable[[Connection], T]", /) -> "Future[T]": ...


class ServerFiles:
    """The files that a server carries between machines."""

    def __init__(self, known: Path, ask: Ask) -> None:
        self._known, self._ask = KnownFiles(known), ask
        self.redact: Redact = str
        """Hides secrets. Set before anything is asked for, as is the next."""
        self.writer = ""
        """The name under which this process takes leases."""
        self._queued: set[SyncedFile] = set()
        self._lock = threading.Lock()

    def refresh(self, *files: SyncedFile) -> None:
        with contextlib.suppress(StoreError, WaitedTooLong):
            for _ in range(MOST_TRIES):
                if self._send(files).result(REFRESH_S).is_whole:
                    break

    def pull(self, file: SyncedFile) -> None:
        """Bring a file up to date soon. Returns at once."""
        self._send((file,))

    def changed(self, file: SyncedFile) -> None:
        self._known.add_unsent(file)
        with self._lock:
            if file in self._queued:
                return
            self._queued.add(file)
        self._send_changed(file)

    def unsent(self) -> int:
        return len(self._known.unsent())

    def send_unsent(self) -> None:
        """Send what this and earlier processes could not; called when there is a connection. Returns at once."""
        self._known.open()
        with self._lock:
            files = [file for file in self._known.unsent() if file not in self._queued]
            self._queued.update(files)
        for file in files:
            self._send_changed(file)

    def forget(self, session_id: str) -> None:
        """A session was deleted."""
        self._known.forget(session_id)

    def close(self) -> None:
        self._known.close()

    def _send_changed(self, file: SyncedFile, tries: int = MOST_TRIES) -> None:
        def done(sent: "Future[Synced]") -> None:
            if sent.exception():
                with self._lock:
                    self._queued.discard(file)
            elif not sent.result().is_whole and tries > 1:
                self._send_changed(file, tries - 1)
            else:
                self._known.sent(file)

        self._send((file,)).add_done_callback(done)

    def _send(self, files: Sequence[SyncedFile]) -> "Future[Synced]":
        def work(connection: "Connection") -> Synced:
            with self._lock:
                self._queued.difference_update(files)
            return self._written(connection, self._decided(connection, files))

        def done(sent: "Future[Synced]") -> None:
            if not sent.exception():
                self._known.record(sent.result().equal)

        sent = self._ask(work)
        sent.add_done_callback(done)
        return sent

    def _decided(self, connection: "Connection", files: Sequence[SyncedFile]) -> list[_Decision]:
        versions = file_rows.versions(connection, [file.name for file in files])
        known = {file: self._known.under(file) for file in files}
        single = [(each, known[file].get(each.name)) for file in files for each in _expanded(file, versions, known)]
        newer = {each.name for each, old in single if versions.get(each.name, 0) != (old.version if old else 0)}
        stored = file_rows.bodies(connection, [name for name in newer if name in versions])
        decisions: list[_Decision] = []
        for each, old in single:
            there = stored.get(each.name, NOT_STORED) if each.name in newer else None
            with contextlib.suppress(Unshareable, OSError):
                if (decision := self._decide(each, old, there)) is not None:
                    decisions.append(decision)
        return decisions

    def _decide(self, file: SyncedFile, old: KnownFile | None, there: StoredFile | None) -> _Decision | None:
        """Bring the copy up to date; returns what the database gets. `there` is None if it is as it was known.

        None if there is nothing to do. Raises `Unshareable` and OSError.
        """
        stays_apart = old is None and there is not None and bool(there.version) and not file.joins
        if stays_apart or (there is None and file_copies.status(file.path) == (old.status if old else FileStatus())):
            return None
        with file_copies.locked(file):
            mine = file_copies.read(file, self.redact)
            merged = self._merged(file, mine, old, there)
            if merged != mine:
                file_copies.write(file, merged)
            status = file_copies.status(file.path)
        stored = KnownFile(there.version, digest(there.body), status) if there is not None else old or NOT_KNOWN
        is_new = digest(merged) != stored.digest
        if not (is_new or stored.version):
            return None
        return _Decision(EqualFile(file, stored.version, merged, status), is_new)

    def _merged(self, file: SyncedFile, mine: str, old: KnownFile | None, there: StoredFile | None) -> str:
        if there is None or not there.version:
            return mine
        if mine == there.body or (digest(mine) == old.digest if old is not None else not mine):
            return there.body
        return KINDS[file.kind].merge(self._known.body(file) if old is not None else "", mine, there.body)

    def _written(self, connection: "Connection", decisions: Sequence[_Decision]) -> Synced:
        new = [decision.equal for decision in decisions if decision.is_new]
        refused = file_rows.refused_sessions(connection, {each.file.session_id for each in new} - {""}, self.writer)
        new = [each for each in new if each.file.session_id not in refused]
        bodies = [NewBody(each.file.name, each.body, each.version) for each in new]
        with connection.transaction():
            versions = file_rows.write(connection, bodies)
        equal = [decision.equal for decision in decisions if not decision.is_new]
        equal += [each._replace(version=versions[each.file.name]) for each in new if each.file.name in versions]
        return Synced(equal, is_whole=len(versions) == len(new))


def _expanded(
    file: SyncedFile, versions: dict[str, int], known: dict[SyncedFile, dict[str, KnownFile]]
) -> Iterator[SyncedFile]:
    """The file itself; all files of a folder that are here, are in the database, or were."""
    if not file.is_folder:
        yield file
        return
    stored = (name for name in versions if name.startswith(file.name))
    plain = {name for name in stored if is_in_folder(file.kind, name.removeprefix(file.name))}
    yield from map(file.file_in, sorted(plain | known[file].keys() | set(file_copies.names_in(file))))
