"""Finds the files that a prompt may name: beside the screen, and again when a while has passed."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from textual.screen import Screen

from co_tui.ui.background import run_in_background
from co_tui.ui.prompt.completion import CompletionOffer
from co_tui.ui.prompt.file_matching import FileNames

LISTING = "Listing files"
FRESH_S = 5.0
"""So long a list of files is good, and then until somebody looks for another one."""


class FileFinder:
    """One folder. The list that is there serves while a new one is made."""

    def __init__(self, screen: Screen[Any], cwd: Path) -> None:
        self._screen = screen
        self._cwd = cwd
        self._listed_at = float("-inf")
        self._listing = False
        self._asked = 0

    def look_in(self, folder: Path) -> None:
        """Another folder from now on."""
        self._cwd, self._listed_at = folder, float("-inf")

    def look(self, offer: CompletionOffer, found: Callable[[], None]) -> None:
        """Look for the file that is being named, if one is; `found` hears of it. What was asked before is given up."""
        self._asked += 1
        if offer.sought is None:
            return
        if not self._listing and time.monotonic() - self._listed_at > FRESH_S:
            self._listing = True
            run_in_background(self._screen, LISTING, partial(self._list, offer, found), group="list files")
        # Each sees itself whether it was given up.
        run_in_background(self._screen, LISTING, partial(self._match, offer, found), group="match files")

    async def _list(self, offer: CompletionOffer, found: Callable[[], None]) -> None:
        try:
            names = await asyncio.to_thread(self._names)
        finally:
            self._listing, self._listed_at = False, time.monotonic()
        if names.paths != offer.files.paths:
            offer.files = names
            await self._match(offer, found)

    def _names(self) -> FileNames:
        from co_tui.ui.prompt.file_index import find_files

        return FileNames(find_files(self._cwd))

    async def _match(self, offer: CompletionOffer, found: Callable[[], None]) -> None:
        asked, sought = self._asked, offer.sought
        if sought is None:
            return
        paths = await asyncio.to_thread(sought.find, lambda: asked == self._asked)
        if asked == self._asked:
            offer.take(sought, paths)
            found()
