"""Lists and matches the files that a prompt can name, in threads."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from textual.screen import Screen

from co_tui.folder_files import FolderWalk, modified_at
from co_tui.paths import find_upwards
from co_tui.ui.background import run_in_background
from co_tui.ui.prompt.completion import CompletionOffer, FileNames

LISTING = "Listing files"
ListResources = Callable[[], Awaitable[Mapping[str, str]]]
"""Returns the resources that MCP servers offer, as a prompt names them, with their titles."""
FRESH_S = 5.0
"""A file list older than this is refreshed at the next search."""


class FileFinder:
    """Finds files of one folder, and resources of MCP servers; the old list is used while a new one is made."""

    def __init__(self, screen: Screen[Any], cwd: Path, list_resources: ListResources) -> None:
        self._screen = screen
        self._cwd = cwd
        self._list_resources = list_resources
        self._resources: Mapping[str, str] = {}
        self._listed_at = float("-inf")
        self._listing = False
        self._asked = 0

    def set_folder(self, folder: Path) -> None:
        """Switch to another folder."""
        self._cwd, self._listed_at = folder, float("-inf")

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
            files = await asyncio.to_thread(find_files, self._cwd)
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


DATING_S: Final = 1.0
MAX_DATED_FILES: Final = 20_000
"""Files whose modification time is read: for more it would take longer than listing them."""


def find_files(cwd: Path) -> list[str]:
    """Paths below the folder, latest changed first. Slow; bounded in time and number; does not raise.

    Hidden files are included in a repository, whose ignore files apply.
    """
    hidden = find_upwards(".git", cwd) is not None
    found = [entry.path for entry in FolderWalk(cwd, hidden=hidden) if not entry.is_dir and hidden >= entry.is_hidden]
    # Names with control characters cannot be typed in the prompt.
    return _latest_first(cwd, [path for path in found if path.isprintable()])


def _latest_first(cwd: Path, paths: list[str]) -> list[str]:
    dated: list[tuple[float, str]] = []
    until = time.monotonic() + DATING_S
    for number, path in enumerate(paths[:MAX_DATED_FILES]):
        if time.monotonic() > until:
            return [path for _, path in sorted(dated, key=lambda each: -each[0])] + paths[number:]
        changed = modified_at(f"{cwd}/{path}")
        if changed is not None:
            dated.append((changed, path))
    dated.sort(key=lambda each: -each[0])
    return [path for _, path in dated] + paths[MAX_DATED_FILES:]
