"""Pilot waits for what is due, not for a quiet processor.

Textual sleeps for at least 20 ms after each key, and for up to a second while anything computes. Here a wait ends when
nothing is left to run, no timer is due within those 20 ms and no thread computes.
"""

import asyncio
from typing import Any

from textual import _wait, app, pilot

_wait_for_quiet = _wait.wait_for_idle
_run_in_executor = asyncio.BaseEventLoop.run_in_executor
_IN_THREADS = "_in_threads"


def wait_for_what_is_due() -> None:
    pilot.wait_for_idle = app.wait_for_idle = _wait_for_idle
    asyncio.BaseEventLoop.run_in_executor = _run_counted


def _run_counted(loop: Any, *what: Any) -> Any:
    future = _run_in_executor(loop, *what)
    running = vars(loop).setdefault(_IN_THREADS, set())
    running.add(future)
    future.add_done_callback(running.discard)
    return future


async def _wait_for_idle(min_sleep: float = _wait.SLEEP_GRANULARITY, max_sleep: float = 1) -> None:
    loop: Any = asyncio.get_running_loop()
    soon, latest = loop.time() + _wait.SLEEP_GRANULARITY, loop.time() + max_sleep
    while loop.time() < latest:
        await asyncio.sleep(0)
        if loop._ready:
            continue
        if vars(loop).get(_IN_THREADS):
            await _wait_for_quiet(min_sleep, max_sleep)
            return
        due = [timer.when() for timer in loop._scheduled if not timer.cancelled() and timer.when() <= soon]
        if not due:
            return
        await asyncio.sleep(min(due) - loop.time())
