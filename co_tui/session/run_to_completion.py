"""Run a coroutine to completion even if the caller is cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """Await the work; a cancellation of the caller is raised only after the work is done."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def is_being_cancelled() -> bool:
    """Whether the current task is being cancelled; otherwise a `CancelledError` comes from what it awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
