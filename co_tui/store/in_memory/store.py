"""The store in memory: its sessions, who may write them, and what is being written in the prompt."""

import threading
from typing import Self

from co_tui.store.in_memory.kept_session import KeptSession
from co_tui.store.in_memory.reader import InMemoryReader
from co_tui.store.in_memory.writer import InMemoryWriter
from co_tui.store.store_errors import SessionBusy


class InMemoryStore:
    """Every change is done when it is asked for, so its future is resolved already."""

    location = "memory"

    def __init__(self) -> None:
        self._sessions: dict[str, KeptSession] = {}
        self._claimed: set[str] = set()
        self._changing = threading.Lock()
        self._writer = InMemoryWriter(self._sessions, self._changing)
        self.prompt_drafts = InMemoryPromptDrafts()

    def reading(self) -> InMemoryReader:
        return InMemoryReader(self._sessions)

    def writing(self) -> InMemoryWriter:
        return self._writer

    def claim(self, session_id: str) -> "InMemoryLock":
        with self._changing:
            if session_id in self._claimed:
                raise SessionBusy(f"Session {session_id} is open already. Close it there first.")
            self._claimed.add(session_id)
        return InMemoryLock(self._claimed, session_id)

    def delete(self, session_id: str) -> None:
        self._writer.delete(session_id).result()
        self.prompt_drafts.write(session_id, "")

    def claimed(self) -> frozenset[str]:
        return frozenset(self._claimed)

    def close(self) -> None:
        self._writer.closed = True

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

    def read(self, key: str) -> str:
        return self._texts.get(key, "")

    def write(self, key: str, text: str) -> None:
        self._texts[key] = text if text.strip() else ""
