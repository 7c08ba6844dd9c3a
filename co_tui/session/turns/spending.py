"""Stops a turn at the limits on spending, and warns when one is close.

The log is what was spent: its costs include summaries, titles and delegations, survive a crash, and are shared by all
processes. The harness's `SpendLimits` keeps counters of its own next to it and sees the requests of one agent only.
"""

import asyncio
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from co_tui.agent.models.catalogue import runs_locally
from co_tui.events import SessionError, SpentToday
from co_tui.events.model_names import short_name
from co_tui.events.wording import money
from co_tui.inert import one_line
from co_tui.session.recorder import Recorder
from co_tui.settings import Settings
from co_tui.store.port import Store
from co_tui.store.timestamps import written

CLOSE: Final = 0.8
"""The share of a limit at which the user is warned."""
READ_AGAIN_S: Final = 60.0
"""How long the sum of other sessions is used before it is read again."""


def start_of_today() -> str:
    """Midnight here, as times are written in the log."""
    # Without a zone until the end: the offset of midnight may differ from the present one.
    return written(datetime.now().replace(hour=0, minute=0, second=0, microsecond=0).astimezone())


SESSION_LIMIT: Final = "max_session_cost"


class SpendingLimitReached(Exception):
    """What was spent has reached a limit. The text is a sentence for people."""


class Limit(NamedTuple):
    """A limit in US dollars, and what was spent of it."""

    setting: str
    what: str
    spent: float
    most: float
    day: str = ""
    """For a limit that begins again each day."""

    @property
    def amounts(self) -> str:
        return f"{self.what} cost {money(self.spent)} of {money(self.most)} ({self.setting})"


class Spending:
    """What a session may still spend; shared by its turns and delegations."""

    def __init__(self, store: Store, recorder: Recorder) -> None:
        self._store, self._recorder = store, recorder
        self._warned: set[tuple[object, ...]] = set()
        self._day = ""
        self._day_cost = self._own_then = 0.0
        """The day's sum when it was read, and what this session had spent by then."""
        self._read_at = float("-inf")

    async def check(self, settings: Settings) -> None:
        """Called before each request. Raises `SpendingLimitReached`; warns once about each limit that is close."""
        if not settings.max_session_cost and not settings.max_daily_cost:
            return
        if settings.max_daily_cost:
            await self._read_day()
        limits = list(self._limits(settings))
        for limit in limits:
            if limit.spent >= limit.most:
                raise SpendingLimitReached(
                    f"Stopped: {limit.amounts}. Everything is kept. "
                    f"Raise the limit with /config {limit.setting} DOLLARS."
                )
            if limit.spent >= limit.most * CLOSE:
                about = (limit.setting, limit.most, limit.day)
                await self._warn("spending_close", f"Close to the limit: {limit.amounts}.", about)
        await self._warn_if_unpriced(limits[0].setting)

    def _limits(self, settings: Settings) -> Iterator[Limit]:
        if settings.max_session_cost:
            yield Limit(SESSION_LIMIT, "this session has", self._own, settings.max_session_cost)
        if settings.max_daily_cost:
            yield Limit("max_daily_cost", "today's sessions have", self._today, settings.max_daily_cost, self._day)

    @property
    def _own(self) -> float:
        state = self._recorder.state
        return (state.total_cost or 0.0) + state.assumed_cost

    @property
    def _today(self) -> float:
        return self._day_cost + max(0.0, self._own - self._own_then)

    async def _read_day(self) -> None:
        """Read the day's sum of all sessions, now and then: other processes spend, too."""
        day = start_of_today()
        if day != self._day or time.monotonic() - self._read_at > READ_AGAIN_S:
            own = self._own
            self._day_cost = await asyncio.to_thread(self._spent_since, day)
            self._own_then, self._day, self._read_at = own, day, time.monotonic()
        self._recorder.announce(SpentToday(dollars=self._today))

    def _spent_since(self, time: str) -> float:
        with self._store.reading() as reading:
            return reading.spent_since(time)

    async def _warn_if_unpriced(self, setting: str) -> None:
        bill = self._recorder.state.billed
        if bill is None or bill.cost is not None or runs_locally(bill.model):
            return
        model = one_line(short_name(bill.model), 60)
        what = f"{setting} does not count {model}: its price is unknown."
        if bill.assumed_cost is not None:
            what = f"{setting} counts {model} by an assumption: the price in the catalogue. Its server publishes none."
        await self._warn("unpriced", what)

    async def _warn(self, kind: str, what: str, about: tuple[object, ...] = ()) -> None:
        """Once for each kind and what it is about."""
        if (kind, *about) not in self._warned:
            self._warned.add((kind, *about))
            await self._recorder.record(SessionError(what=what, kind=kind, outcome="continuing"))
