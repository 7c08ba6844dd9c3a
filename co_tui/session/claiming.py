"""Claim sessions without blocking the event loop: a claim may go over a network."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from co_tui.session.run_to_completion import run_to_completion
from co_tui.store.port import SessionLock, Store


async def claim(store: Store, session_id: str, *, take_over: bool = False) -> SessionLock:
    """The right to write a session, see `Store.claim`. Raises `SessionBusy`. A claim of a cancelled caller is released
    again."""
    claiming = asyncio.create_task(asyncio.to_thread(store.claim, session_id, take_over=take_over))
    try:
        return await asyncio.shield(claiming)
    except asyncio.CancelledError:
        await asyncio.wait([claiming])
        if claiming.exception() is None:
            await release(claiming.result())
        raise


async def release(lock: SessionLock) -> None:
    await run_to_completion(asyncio.to_thread(lock.release))


@asynccontextmanager
async def claimed(store: Store, session_id: str) -> AsyncIterator[None]:
    """Hold a session while open. Raises `SessionBusy`."""
    lock = await claim(store, session_id)
    try:
        yield
    finally:
        await release(lock)
