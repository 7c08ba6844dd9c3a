"""All that is kept here: in the file of this process, and in those that ended processes left."""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from co_tui.store.postgres.away.journal import SUFFIX, Journal, KeptSession
from co_tui.store.store_errors import SessionBusy, StoreError


class KeptPlace(NamedTuple):
    """Where a reader finds the part of a session that is only here."""

    path: Path
    base: int


class KeptHere:
    """The writer's thread changes it; readers of other threads ask `place` and `present_id`."""

    def __init__(self, folder: Path, location: str) -> None:
        """`location` names the server: files of different servers are kept apart."""
        self._folder = folder / hashlib.sha256(location.encode()).hexdigest()[:16]
        self._journals: list[Journal] = []
        self._own: Journal | None = None
        self._places: dict[str, KeptPlace] = {}
        self._moved: dict[str, str] = {}

    def adopt(self) -> bool:
        """Take the files of processes that ended; returns whether something is in them."""
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            with suppress(SessionBusy):  # its process is alive
                journal = Journal(self._folder, path.stem)
                self._journals.append(journal)
                self.publish(journal)
        return bool(self._places)

    def own(self) -> Journal:
        """The file for sessions that are in no file yet."""
        if self._own is None:
            self._own = Journal(self._folder)
            self._journals.append(self._own)
        return self._own

    def journal_of(self, session_id: str) -> Journal | None:
        return next((each for each in self._journals if each.find(session_id) is not None), None)

    def sessions(self) -> list[tuple[Journal, KeptSession]]:
        return [(journal, session) for journal in self._journals for session in journal.sessions()]

    @contextmanager
    def changing(self) -> Iterator[None]:
        """What is changed in any file is durable at the end. Raises `StoreError`."""
        with ExitStack() as stack:
            for journal in self._journals:
                stack.enter_context(journal.changing())
            yield

    def leave(self, journal: Journal) -> None:
        """Leave a file as it is, for a later process."""
        self._journals.remove(journal)
        self._places = {name: place for name, place in self._places.items() if place.path != journal.path}
        self._own = None if journal is self._own else self._own
        journal.close()

    def publish(self, journal: Journal) -> None:
        """Let readers see what the file holds now."""
        held = {each.session_id: KeptPlace(journal.path, each.base) for each in journal.sessions()}
        others = {name: place for name, place in self._places.items() if place.path != journal.path}
        self._places = others | held

    def place(self, session_id: str) -> KeptPlace | None:
        return self._places.get(session_id)

    def places(self) -> dict[str, KeptPlace]:
        return self._places

    def move(self, session_id: str, fork_id: str) -> None:
        """From now on, a session that is open here is another one: it was continued elsewhere."""
        self._moved = self._moved | {session_id: fork_id}

    def forget_move(self, session_id: str) -> None:
        self._moved = {name: moved for name, moved in self._moved.items() if name != session_id}

    def present_id(self, session_id: str) -> str:
        """The session that is open under this id."""
        return self._moved.get(session_id, session_id)

    def drop_empty(self) -> None:
        """Remove the files that hold nothing any more."""
        for journal in [each for each in self._journals if not each.sessions()]:
            self.leave(journal)

    def close(self) -> None:
        for journal in self._journals:
            with suppress(StoreError):
                journal.close()
        self._journals, self._own, self._places = [], None, {}
