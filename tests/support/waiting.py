"""Waiting for something to happen, never for a time."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from co_tui.events import Fact
    from co_tui.session.recorder import Listener

POLL_S = 0.005
PATIENCE_S = 180.0
"""The longest wait for anything: a loaded machine keeps it, and a pass does not take longer."""
HANGING_S = 600.0
"""How long something takes that the test expects to be stopped: far longer than anything is waited for."""
F = TypeVar("F", bound="Fact")


async def until(condition: Callable[[], object], seconds: float = PATIENCE_S, *, poll_s: float = POLL_S) -> None:
    """Return as soon as the condition holds; fails when it never does."""
    latest = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < latest, f"did not happen within {seconds} s: {condition}"
        await asyncio.sleep(poll_s)


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """The same where no loop runs."""
    asyncio.run(until(condition, seconds))


async def next_fact(listener: "Listener", kind: type[F], seconds: float = PATIENCE_S) -> F:
    """The next fact of that kind."""
    async with asyncio.timeout(seconds):
        async for event in listener:
            if isinstance(event.fact, kind):
                return event.fact
    raise AssertionError(f"the session ended without a {kind.__name__}")
