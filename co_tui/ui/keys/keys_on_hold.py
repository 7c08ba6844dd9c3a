"""Keys pressed right behind one that opens a screen: they are meant for that screen, and wait until it is there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from textual import events

LOOK_S: Final = 0.01
MOST_LOOKS: Final = 60
"""A screen that does not come by then was not to come: a sentence was said instead."""


class KeysOnHold:
    """Holds keys, and gives them on in the order of typing."""

    def __init__(self) -> None:
        self._held: list[events.Event] | None = None

    def take(self, event: events.Event) -> bool:
        """Whether the key is held; otherwise it goes its usual way."""
        if self._held is None:
            return False
        self._held.append(event)
        return True

    def hold(self) -> None:
        """From the next key on."""
        self._held = self._held or []

    async def give_on(self, is_there: Callable[[], bool], give: Callable[[events.Event], Awaitable[None]]) -> None:
        """As soon as the screen is there; what comes while they are given on waits behind them."""
        try:
            for _ in range(MOST_LOOKS):
                if is_there():
                    break
                await asyncio.sleep(LOOK_S)
            while self._held:
                await give(self._held.pop(0))
        finally:
            self._held = None
