"""Holds keys, pastes and clicks until the screen or field they are meant for is ready, and has done what keys before
them asked for."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from textual import events
from textual.app import App

from co_tui.ui.background import run_in_background

CHECK_S: Final = 0.002
EXPECTED_S: Final = 0.6
"""How long an expected screen is waited for: the command may have shown a message instead."""
MAX_CHECKS: Final = 5000
"""Limits the wait for a screen, on a slow machine."""
SETTLING_CHECKS: Final = 500
"""The same for what earlier keys asked for: work that takes longer must not make a dialog deaf."""


def is_typed(event: events.Key | events.Paste) -> bool:
    """Whether it is text."""
    return isinstance(event, events.Paste) or event.is_printable


class KeysOnHold:
    """Holds events while a screen is being created or still handles a key, then delivers them one by one: no key
    overtakes another, whatever a binding's priority is."""

    def __init__(
        self, app: App[Any], deliver: Callable[[events.Event], Awaitable[None]], is_settled: Callable[[], bool]
    ) -> None:
        """`is_settled` says whether the screen has done what the keys before asked for."""
        self._app, self._deliver, self._is_settled = app, deliver, is_settled
        self._held: deque[events.Event] = deque()
        self._is_expected_there: Callable[[], bool] | None = None
        self._expected_until = 0.0
        self._is_releasing = False

    def expect(self, is_there: Callable[[], bool]) -> None:
        """A screen or field was requested: hold events until `is_there`."""
        self._is_expected_there, self._expected_until = is_there, time.monotonic() + EXPECTED_S

    def hold(self, event: events.Event) -> bool:
        """Whether the event is held; else the caller handles it as usual."""
        if not self._held and not self._is_releasing and self._may_pass() and self._is_settled():
            return False
        self._held.append(event)
        if not self._is_releasing:
            self._is_releasing = True
            run_in_background(self._app, "This key", self._release, group="keys")
        return True

    async def _release(self) -> None:
        """Deliver all held events, including those that arrive until then."""
        try:
            while self._held:
                await self._wait_until_passable()
                await self._deliver(self._held.popleft())
        finally:
            self._is_releasing = False

    async def _wait_until_passable(self) -> None:
        for check in range(MAX_CHECKS):
            if self._may_pass() and (check >= SETTLING_CHECKS or self._is_settled()):
                return
            await asyncio.sleep(CHECK_S)

    def _may_pass(self) -> bool:
        is_screen_whole = not self._app.screen_stack or self._app.screen.is_mounted
        return is_screen_whole and not self._is_something_expected()

    def _is_something_expected(self) -> bool:
        if self._is_expected_there is None:
            return False
        if self._is_expected_there() or time.monotonic() > self._expected_until:
            self._is_expected_there = None
        return self._is_expected_there is not None
