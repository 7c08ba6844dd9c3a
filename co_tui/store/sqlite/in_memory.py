"""The same store in memory, for private sessions and tests: nothing reaches the disk."""

import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Self

from co_tui.store.sqlite.shared_connection import SharedConnection
from co_tui.store.store_errors import SessionBusy
from co_tui.store.sync.sync import NO_SYNC

if TYPE_CHECKING:
    from collections.abc import Callable

    from co_tui.store.sqlite.reader import Reader
    from co_tui.store.sqlite.writer import Writer
    from co_tui.store.stored_values import Deletion

IN_MEMORY = Path(":memory:")
"""The name of the database in messages."""


class InMemoryStore:
    """Sessions that end with the process, in a SQLite database of its own; opened when it is first written to."""

    location = "memory"
    sync = NO_SYNC

    def __init__(self) -> None:
        self._shared = SharedConnection()
        self._writer: Writer | None = None
        self._claimed: set[str] = set()
        self._lock = threading.Lock()
        self.prompt_drafts = InMemoryPromptDrafts()

    def report_to(self, report: "Callable[[str], None]") -> None:
        """Nothing to report: no server is between."""

    def stop_waiting(self) -> None:
        """Nothing waits: no other program writes to it."""

    def reading(self) -> "Reader":
        from co_tui.store.sqlite.reader import Reader

        return Reader(IN_MEMORY, shared=self._shared)

    def writing(self) -> "Writer":
        from co_tui.store.sqlite.writer import Writer

        with self._lock:
            if self._writer is None:
                self._writer = Writer(IN_MEMORY, shared=self._shared)
            return self._writer

    def claim(self, session_id: str, *, take_over: bool = False) -> "InMemoryLock":
        with self._lock:
            if session_id in self._claimed:
                raise _busy(session_id)
            self._claimed.add(session_id)
        return InMemoryLock(self._claimed, session_id)

    def open_elsewhere(self, session_id: str) -> SessionBusy | None:
        return _busy(session_id) if session_id in self._claimed else None

    def delete(self, session_id: str, deletion: "Deletion | None" = None) -> None:
        self.writing().delete(session_id, deletion).result()
        self.prompt_drafts.forget(session_id)

    def claimed(self) -> frozenset[str]:
        return frozenset(self._claimed)

    def importing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        """Finish pending writes; what was written can still be read."""
        with self._lock:
            if self._writer is not None:
                self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class InMemoryLock:
    """The right to write one session."""

    def __init__(self, claimed: set[str], session_id: str) -> None:
        self._claimed = claimed
        self._held = {session_id}

    def release(self) -> None:
        self._claimed -= self._held
        self._held = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.release()


class InMemoryPromptDrafts:
    """Unsent prompts, by key."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    @property
    def is_empty(self) -> bool:
        return not any(self._texts.values())

    def read(self, key: str) -> str:
        return self._texts.get(key, "")

    open = read

    def write(self, key: str, text: str) -> None:
        self._texts[key] = text if text.strip() else ""

    def leave(self) -> None:
        pass

    def forget(self, key: str) -> None:
        self._texts.pop(key, None)


def _busy(session_id: str) -> SessionBusy:
    return SessionBusy(f"Session {session_id} is already open. Close it there first.")
