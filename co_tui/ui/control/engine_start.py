"""Starts the engine, and what can only run once it is loaded: MCP servers, prompt history, upkeep while idle."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from textual.app import App

from co_tui.inert import one_line
from co_tui.session.approvals.kept_approvals import kept_for
from co_tui.session.clean_up import clean_up_now
from co_tui.session.launch import Launch
from co_tui.store.store_errors import StoreError
from co_tui.ui.background import report, run_in_background
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.new_version import NEW_VERSION, is_upgraded
from co_tui.ui.heavy_imports import import_locked

PRELOADED = ("co_tui.ui.lens.lens_screen", "co_tui.ui.commands.lens_source")
"""Slow to import. Their key must open them at once: keys typed after it are meant for them."""
RECALLED_PROMPTS = 100
FIRST_UPKEEP_S = 15.0
UPKEEP_EVERY_S = 600.0
PAUSE_S = 0.2
"""Between two steps of the upkeep, so that others can use the disk."""


class EngineStart:
    """Loads the backend in a thread while the screen is already in use."""

    def __init__(self, host: App[Any], chat: ChatScreen, backend: Backend, is_idle: Callable[[], bool]) -> None:
        """`is_idle` says whether no turn runs."""
        self._host, self._chat, self._backend, self._is_idle = host, chat, backend, is_idle

    async def load(self, model: str) -> str:
        """Load the engine; returns why it cannot be used, empty if it can."""
        store, loop = self._backend.launch.store, asyncio.get_running_loop()
        store.report_to(partial(_from_thread, loop, self._chat.feed.note))
        store.sync.show_unpushed(lambda unpushed: _from_thread(loop, self._chat.show_unpushed, unpushed.text))
        launch = self._backend.launch
        # Before a session or a hint leaves traces of this version.
        if not launch.private and await asyncio.to_thread(is_upgraded, launch.paths):
            self._chat.feed.note(NEW_VERSION)
        try:
            await asyncio.to_thread(self._backend.load, model)
        except Exception as error:
            return str(error) if isinstance(error, StoreError) else f"Startup failed: {error!r}"
        if self._backend.trouble:
            self._chat.feed.note(self._backend.trouble, "error")
        try:
            self._backend.start_servers(model)
        except Exception as error:  # sessions work without them
            report(self._host, "Starting MCP servers", error)
        return ""

    async def follow_up(self) -> None:
        """Fill the prompt history, report dropped approvals, and start the upkeep."""
        with contextlib.suppress(StoreError):  # optional
            self._chat.prompt.remember(await asyncio.to_thread(self._latest_prompts))
        await self._report_dropped_approvals()
        upkeep = partial(run_upkeep, self._backend.launch, self._is_idle, self._chat.feed.note)
        run_in_background(self._host, "Cleaning up", upkeep, group="care", latest=True)

    def _latest_prompts(self) -> list[str]:
        with self._backend.launch.store.reading() as reading:
            return reading.prompts(limit=RECALLED_PROMPTS)

    async def _report_dropped_approvals(self) -> None:
        """Report, once, kept approvals of an older version that allowed too much and were dropped."""
        launch = self._backend.launch
        kept = kept_for(launch.files, launch.cwd, keeps_more=not launch.private)
        if dropped := await asyncio.to_thread(kept.drop_too_broad):
            many = (
                f"{len(dropped)} saved approvals were too broad and are"
                if len(dropped) > 1
                else "A saved approval was too broad and is"
            )
            self._chat.feed.note(f"{many} asked again: {one_line(', '.join(dropped), 300)}")


def _from_thread(loop: asyncio.AbstractEventLoop, show: Callable[[str], object], text: str) -> None:
    with contextlib.suppress(RuntimeError):  # the app has ended
        loop.call_soon_threadsafe(show, text)


async def run_upkeep(launch: Launch, is_idle: Callable[[], bool], notify: Callable[[str], object]) -> None:
    """Preload slow screens, clean up old sessions once, then maintain the database for as long as the app runs."""
    for module in PRELOADED:
        await asyncio.to_thread(import_locked, partial(import_module, module))
    await asyncio.sleep(FIRST_UPKEEP_S)
    if report_of_clean_up := await asyncio.to_thread(clean_up_now, launch.store, launch.loaded, launch.paths):
        notify(report_of_clean_up)
    while True:
        if is_idle():
            await maintain_store(launch, is_idle)
        await asyncio.sleep(UPKEEP_EVERY_S)


async def maintain_store(launch: Launch, is_idle: Callable[[], bool]) -> None:
    """Run the database's maintenance steps until done or no longer idle."""
    try:
        for step in launch.store.writing().upkeep_steps():
            await asyncio.wrap_future(step)
            await asyncio.sleep(PAUSE_S)
            if not is_idle():
                return
    except StoreError:
        return  # the next write reports what is wrong
