"""Keeps the prompt that is being written, a moment after each change."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import App
from textual.timer import Timer

from co_tui.store.port import PromptDrafts
from co_tui.store.prompt_drafts import new_session_draft
from co_tui.ui.background import guarded_callback, run_thread

SAVE_S = 1.0
SAVING = "Saving the draft"


class DraftSaver:
    """Saves for the session that is shown, or if there is none yet, for the folder."""

    def __init__(
        self,
        host: App[Any],
        drafts: PromptDrafts,
        session_id: Callable[[], str],
        folder: Callable[[], Path],
        written: Callable[[], str],
    ) -> None:
        """`written` is asked when something is saved, not with every key: it may be long."""
        self._host, self._drafts, self._written = host, drafts, written
        self._session_id, self._folder = session_id, folder
        self._timer: Timer | None = None
        self._writing = threading.Lock()
        self._asked = 0
        self._kept: dict[str, int] = {}
        """Which of all that was asked for is in each file: nothing older is put there any more."""

    def read(self) -> str:
        return self._drafts.read(self._key())

    def save(self) -> None:
        """At once, in place of what was to be saved; it is done when this returns."""
        self._stop()
        self._next_write(self._key(), self._written())()

    def save_beside(self) -> None:
        """The same beside the screen: writing a file for good takes as long as the disk does."""
        self._stop()
        write = self._next_write(self._key(), self._written())
        run_thread(self._host, SAVING, write, group="draft")

    def save_soon(self) -> None:
        self._stop()
        self._timer = self._host.set_timer(SAVE_S, guarded_callback(self._host, SAVING, self.save_beside))

    def forget_next(self) -> None:
        """What was written for the next new session is said in it now."""
        self._next_write(new_session_draft(self._folder()), "")()

    def _key(self) -> str:
        return self._session_id() or new_session_draft(self._folder())

    def _next_write(self, key: str, text: str) -> Callable[[], None]:
        self._asked += 1
        return partial(self._write, self._asked, key, text)

    def _write(self, number: int, key: str, text: str) -> None:
        with self._writing:
            if number > self._kept.get(key, 0):
                self._kept[key] = number
                self._drafts.write(key, text)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
