"""What a writer does while nothing is requested: index what was written, and remove what crashes left."""

import sqlite3
from collections.abc import Iterator
from functools import partial

from co_tui.store.sqlite.bulk.removal import clean_up
from co_tui.store.sqlite.index_queue import INDEXES, Waiting, index_some, merge_some, waiting
from co_tui.store.sqlite.transaction import LET_OTHERS_IN_S, Steps
from co_tui.store.sqlite.upkeep import Step, index_steps, performed

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
            self.pause_s = QUIET_S if self._is_more else None
            self._steps, self._is_more = self._all_steps(), False

    def catch_up(self) -> Steps[None]:
        """Index until little enough waits not to be noticed in a search."""
        while self._waiting().is_much and self._performed(index_some):
            for index in INDEXES:
                self._performed(partial(merge_some, index=index))
            yield

    def _all_steps(self) -> Iterator[None]:
        while self._performed(clean_up):
            yield
        if not self._waiting().is_worth_a_step:
            return
        for step in index_steps():
            while self._performed(step):
                yield

    def _performed(self, step: Step) -> bool:
        return performed(step, self._connection)

    def _waiting(self) -> Waiting:
        return waiting(self._connection)
