"""The web pages a session has fetched; deleted with the session."""

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Final

from co_tui.agent.web.fetch import Page
from co_tui.paths import read_small_text, write_atomically
from co_tui.store.sync.files.synced_file import OnChange, not_synced

MOST_PAGES: Final = 50
MOST_BYTES: Final = 20_000_000
"""Of one file; a page's text is at most 4 million characters."""
FOLDER: Final = "pages"


class PageCache:
    """Keeps the newest pages, in files or, for a private session, in memory."""

    def __init__(self, session_folder: Path | None, on_change: OnChange = not_synced) -> None:
        self._on_change = on_change
        self._folder = session_folder / FOLDER if session_folder is not None else None
        self._kept: dict[str, Page] = {}

    def get(self, url: str) -> Page | None:
        """The page as it was fetched, by the address asked for; None if it is not kept."""
        if self._folder is None:
            return self._kept.get(url)
        try:
            found = json.loads(read_small_text(self._file(url), MOST_BYTES))
            return Page(**{name: type(getattr(_EMPTY, name))(found[name]) for name in Page.FIELDS})
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def put(self, url: str, page: Page) -> None:
        """Write errors are ignored: the page can be fetched again."""
        if self._folder is None:
            self._kept.pop(url, None)
            self._kept[url] = page
            for oldest in list(self._kept)[:-MOST_PAGES]:
                del self._kept[oldest]
            return
        with contextlib.suppress(OSError, UnicodeEncodeError):
            write_atomically(self._file(url), json.dumps({name: getattr(page, name) for name in Page.FIELDS}))
            files = sorted(self._folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
            for old in files[:-MOST_PAGES]:
                old.unlink(missing_ok=True)
            self._on_change()

    def _file(self, url: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"


_EMPTY: Final = Page(url="")
