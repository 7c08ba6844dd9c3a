"""Saves the draft shortly after each change."""

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
    """Saves the draft of the session shown, or of the folder's next session."""

    def __init__(
        self,
        host: App[Any],
        drafts: PromptDrafts,
        session_id: Callable[[], str],
        folder: Callable[[], Path],
        written: Callable[[], str],
    ) -> None:
        """`written` returns the draft; called only to save, since it may be long."""
        self._host, self._drafts, self._written = host, drafts, written
        self._session_id, self._folder = session_id, folder
        self._timer: Timer | None = None
        self._writing = threading.Lock()
        self._asked = 0
        self._before = ""
        self._kept: dict[str, int] = {}
        """The number of the newest save written by key; older ones are skipped."""

    def read(self) -> str:
        return "" if self._drafts.is_empty else self._drafts.read(self._key())

    def await_fetched(self) -> None:
        """Before a session is opened, which fetches its files."""
        self._before = self.read()

    def fetched(self) -> str | None:
        """What was typed in the session on another machine, once its files are here; None if that is what is shown, or
        that was changed here since."""
        typed, draft = self._written(), self.read()
        return None if typed == draft or typed != self._before else draft

    def save(self) -> None:
        """Save now, instead of any pending save."""
        self._stop()
        self._next_write(self._key(), self._written())()

    def save_in_background(self) -> None:
        """Save in a thread: syncing to disk may be slow."""
        self._stop()
        write = self._next_write(self._key(), self._written())
        run_thread(self._host, SAVING, write, group="draft")

    def save_soon(self) -> None:
        self._stop()
        self._timer = self._host.set_timer(SAVE_S, guarded_callback(self._host, SAVING, self.save_in_background))

    def forget_next(self) -> None:
        """Delete the draft of the folder's next session: it has been sent."""
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
