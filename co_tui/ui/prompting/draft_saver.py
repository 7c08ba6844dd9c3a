"""Keeps the prompt that is being written, a moment after each change."""

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.timer import Timer

from co_tui.store.port import PromptDrafts

SAVE_S = 1.0


class DraftSaver:
    """For the session that is shown when it is saved; an empty id is the next new one's."""

    def __init__(self, host: App[Any], drafts: PromptDrafts, session_id: Callable[[], str]) -> None:
        self._host, self._drafts, self._session_id = host, drafts, session_id
        self._timer: Timer | None = None

    def read(self) -> str:
        return self._drafts.read(self._session_id())

    def save(self, text: str) -> None:
        """At once, in place of what was to be saved."""
        self._stop()
        self._drafts.write(self._session_id(), text)

    def save_soon(self, text: str) -> None:
        self._stop()
        self._timer = self._host.set_timer(SAVE_S, lambda: self.save(text))

    def forget_next(self) -> None:
        """What was written for the next new session is said in it now."""
        self._drafts.write("", "")

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
