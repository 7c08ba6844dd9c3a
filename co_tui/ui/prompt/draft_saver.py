"""Saves the draft shortly after each change."""

import threading
from collections.abc import Callable
from contextlib import suppress
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
        self._fails = False
        """Whether the last save failed, which was reported then."""
        self._kept: dict[str, int] = {}
        """The number of the newest save written by key; older ones are skipped."""

    def open(self) -> str:
        """The draft of what is shown from now on."""
        if self._drafts.is_empty:
            self._drafts.leave()
            return ""
        return self._drafts.open(self._key())

    def leave(self) -> None:
        """Nothing is shown any longer."""
        self._drafts.leave()

    def _read(self) -> str:
        return "" if self._drafts.is_empty else self._drafts.read(self._key())

    def await_fetched(self) -> None:
        """Before a session is opened, which fetches its files."""
        self._before = self._read()

    def fetched(self) -> str | None:
        """What was typed in the session on another machine, once its files are here; None if that is what is shown, or
        that was changed here since."""
        typed, draft = self._written(), self._read()
        return None if typed == draft or typed != self._before else draft

    def save(self) -> str:
        """Save now, instead of any pending save. Returns a sentence if that failed."""
        self._stop()
        try:
            self._next_write(self._key(), self._written())()
        except OSError as error:
            return f"The draft was not saved: {error.strerror or error}."
        return ""

    def save_in_background(self) -> None:
        """Save in a thread: syncing to disk may be slow."""
        self._stop()
        write = self._next_write(self._key(), self._written())

        def reported_once() -> None:
            try:
                write()
                self._fails = False
            except OSError:
                was_reported, self._fails = self._fails, True
                if not was_reported:
                    raise

        run_thread(self._host, SAVING, reported_once, group="draft")

    def save_soon(self) -> None:
        self._stop()
        self._timer = self._host.set_timer(SAVE_S, guarded_callback(self._host, SAVING, self.save_in_background))

    def forget_next(self) -> None:
        """Delete the draft of the folder's next session: it has been sent."""
        with suppress(OSError):  # then it comes back, and can be deleted
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
