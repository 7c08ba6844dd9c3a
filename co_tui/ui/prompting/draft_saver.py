"""Keeps the prompt that is being written, a moment after each change."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from textual.app import App
from textual.timer import Timer

from co_tui.store.port import PromptDrafts

SAVE_S = 1.0


class DraftSaver:
    """For the session that is shown when it is saved; an empty id is the next new one's."""

    def __init__(
        self, host: App[Any], drafts: PromptDrafts, session_id: Callable[[], str], written: Callable[[], str]
    ) -> None:
        """`written` is asked when something is saved, not with every key: it may be long."""
        self._host, self._drafts, self._session_id, self._written = host, drafts, session_id, written
        self._timer: Timer | None = None
        self._writing = threading.Lock()
        self._asked = 0
        self._kept: dict[str, int] = {}
        """Which of all that was asked for is in each file: nothing older is put there any more."""

    def read(self) -> str:
        return self._drafts.read(self._session_id())

    def save(self) -> None:
        """At once, in place of what was to be saved; it is done when this returns."""
        self._stop()
        self._next_write(self._session_id(), self._written())()

    def save_beside(self) -> None:
        """The same beside the screen: writing a file for good takes as long as the disk does."""
        self._stop()
        write = self._next_write(self._session_id(), self._written())
        self._host.run_worker(write, thread=True, group="draft", exit_on_error=False)

    def save_soon(self) -> None:
        self._stop()
        self._timer = self._host.set_timer(SAVE_S, self.save_beside)

    def forget_next(self) -> None:
        """What was written for the next new session is said in it now."""
        self._next_write("", "")()

    def _next_write(self, session_id: str, text: str) -> Callable[[], None]:
        self._asked += 1
        return partial(self._write, self._asked, session_id, text)

    def _write(self, number: int, session_id: str, text: str) -> None:
        with self._writing:
            if number > self._kept.get(session_id, 0):
                self._kept[session_id] = number
                self._drafts.write(session_id, text)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
