"""Lists and matches the files that a prompt can name, in threads."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from textual.screen import Screen

from co_tui.session.workplace.workplace import Workplace
from co_tui.ui.background import run_in_background
from co_tui.ui.prompt.completion import CompletionOffer, FileNames

LISTING = "Listing files"
ListResources = Callable[[], Awaitable[Mapping[str, str]]]
"""Returns the resources that MCP servers offer, as a prompt names them, with their titles."""
FRESH_S = 5.0
"""A file list older than this is refreshed at the next search."""


class FileFinder:
    """Finds files of one folder, and resources of MCP servers; the old list is used while a new one is made."""

    def __init__(self, screen: Screen[Any], workplace: Workplace, list_resources: ListResources) -> None:
        self._screen = screen
        self._workplace = workplace
        self._list_resources = list_resources
        self._resources: Mapping[str, str] = {}
        self._listed_at = float("-inf")
        self._listing = False
        self._asked = 0

    def set_workplace(self, workplace: Workplace) -> None:
        """Switch to another folder."""
        self._workplace, self._listed_at = workplace, float("-inf")

    def search(self, offer: CompletionOffer, found: Callable[[], None]) -> None:
        """Match the file being named, if any, then call `found`. Cancels the previous search."""
        self._asked += 1
        if offer.pending_search is None:
            return
        if not self._listing and time.monotonic() - self._listed_at > FRESH_S:
            self._listing = True
            run_in_background(self._screen, LISTING, partial(self._list, offer, found), group="list files")
        # Each search checks by itself whether it was cancelled.
        run_in_background(self._screen, LISTING, partial(self._match, offer, found), group="match files")

    async def _list(self, offer: CompletionOffer, found: Callable[[], None]) -> None:
        try:
            files = await asyncio.to_thread(self._workplace.list_files)
        finally:
            self._listing, self._listed_at = False, time.monotonic()
        await self._use(files, offer, found)
        # After the files: a server may take long.
        resources = await self._list_resources()
        if resources != self._resources:
            self._resources = offer.resources = resources
            await self._use(files, offer, found)

    async def _use(self, files: list[str], offer: CompletionOffer, found: Callable[[], None]) -> None:
        paths = (*files, *self._resources)
        if paths != offer.files.paths:
            offer.files = await asyncio.to_thread(FileNames, paths)
            await self._match(offer, found)

    async def _match(self, offer: CompletionOffer, found: Callable[[], None]) -> None:
        asked, pending_search = self._asked, offer.pending_search
        if pending_search is None:
            return
        paths = await asyncio.to_thread(pending_search.find, lambda: asked == self._asked)
        if asked == self._asked:
            offer.take(pending_search, paths)
            found()
