"""What a writer does while nothing is requested.

It removes what crashes left, writes the texts that a migration left to it, and indexes what was written.
"""

import sqlite3
from collections.abc import Iterator

from co_tui.store.sqlite.bulk.removal import clean_up
from co_tui.store.sqlite.index_queue import Waiting, index_some, merge_or_index, merge_some, waiting
from co_tui.store.sqlite.schema import lacks_texts
from co_tui.store.sqlite.text_rebuild import rebuild_some
from co_tui.store.sqlite.transaction import LET_OTHERS_IN_S, Steps
from co_tui.store.sqlite.upkeep import Step, performed

QUIET_S = 0.5
"""Without requests, before it begins."""


class IdleWork:
    """Short steps, each when `pause_s` has passed without a request."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._steps = self._all_steps()
        self._is_more = False
        self.pause_s: float | None = QUIET_S
        """How long to wait for a request before the next step; None while there is nothing to do."""

    def something_was_written(self) -> None:
        self._is_more = True
        self.pause_s = QUIET_S

    def step(self) -> None:
        """Do a little, or find that there is nothing to do."""
        try:
            next(self._steps)
            self.pause_s = LET_OTHERS_IN_S
        except StopIteration:
            is_more = self._is_more or lacks_texts(self._connection)
            self.pause_s = QUIET_S if is_more else None
            self._steps, self._is_more = self._all_steps(), False

    def catch_up(self) -> Steps[None]:
        """Index until little enough waits not to be noticed in a search."""
        while self._waiting().is_much and self._performed(index_some):
            yield
            self._performed(merge_some)
            yield

    def _all_steps(self) -> Iterator[None]:
        while self._performed(clean_up):
            yield
        while self._performed(rebuild_some):
            yield
            while self._waiting().is_worth_a_step and self._performed(merge_or_index):
                yield
        is_worth_it = self._waiting().is_worth_a_step
        while is_worth_it and self._performed(merge_or_index):
            yield

    def _performed(self, step: Step) -> bool:
        return performed(step, self._connection)

    def _waiting(self) -> Waiting:
        return waiting(self._connection)
