"""What is done while nobody waits: old sessions are cleaned up, and the database is kept quick and small."""

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module

from co_tui.session.clean_up import clean_up_now
from co_tui.store.store_errors import StoreError
from co_tui.ui.heavy_imports import import_locked
from co_tui.ui.launch import Launch

SOON_OPENED = ("co_tui.ui.lens.lens_screen", "co_tui.ui.commands.lens_source")
"""Take long to load; a key that opens them must open them at once, for what is typed behind it is meant for them."""
FIRST_AFTER_S = 15.0
EVERY_S = 600.0
PAUSE_S = 0.2
"""Between two steps of the upkeep, so that the disk is everybody's."""


async def care(launch: Launch, is_idle: Callable[[], bool], tell: Callable[[str], object]) -> None:
    """Go on for as long as the app runs."""
    for module in SOON_OPENED:
        await asyncio.to_thread(import_locked, partial(import_module, module))
    await asyncio.sleep(FIRST_AFTER_S)
    if words := await asyncio.to_thread(clean_up_now, launch.store, launch.loaded):
        tell(words)
    while True:
        if is_idle():
            await keep_up(launch, is_idle)
        await asyncio.sleep(EVERY_S)


async def keep_up(launch: Launch, is_idle: Callable[[], bool]) -> None:
    """Care for the database, until something else is to be done."""
    try:
        for step in launch.store.writing().upkeep_steps():
            await asyncio.wrap_future(step)
            await asyncio.sleep(PAUSE_S)
            if not is_idle():
                return
    except StoreError:
        return  # the next write will say what is wrong
