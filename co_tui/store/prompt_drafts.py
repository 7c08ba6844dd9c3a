"""Unsent prompts, in files: one for each window that has some."""

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Final

from co_tui.kept_file import KeptFile, kept_text, lock
from co_tui.paths import ensure_file
from co_tui.store.sync.files.synced_file import FileSync, SyncedFile

LIMIT_BYTES = 64_000_000
_SUFFIX: Final = ".txt"
_NEW: Final = "new-"
"""How the keys of folders begin."""
_BETWEEN: Final = "\x1e"
"""Between the texts of a draft, and at its end if none of them is being written."""


def new_session_draft(folder: Path) -> str:
    """The key of what is written before a session exists: one for each working directory, links resolved.

    Earlier versions had one `new.txt` for all folders. It is ignored, since its folder is unknown.
    """
    import hashlib  # slow to import

    return f"{_NEW}{hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]}"


def draft_of(texts: Sequence[str], *, is_being_written: bool) -> str:
    """A draft of several texts that were not sent. The first may be one that is being written."""
    return _BETWEEN.join(texts) + ("" if is_being_written or not texts else _BETWEEN)


def texts_of(draft: str) -> tuple[list[str], bool]:
    """The texts of a draft, and whether the first is being written."""
    *texts, last = draft.split(_BETWEEN)
    return ([*texts, last], True) if last else (texts, False)


class PromptDraftFiles:
    """The drafts, as one window has them.

    For the key that it shows, a window has a file, and for as long a lock on it: `KEY.txt` is that of the first window,
    `KEY.2.txt` that of the next. A window that begins to show a key takes over what windows that ended left, however
    they ended: nothing holds their locks. Who has which file changes only under the lock of the folder.

    The first window's draft of a session follows the session to other machines; what is typed before there is a session
    belongs to a folder here, and stays.
    """

    def __init__(self, folder: Path, files: FileSync) -> None:
        self._folder, self._files = folder, files
        self._key = self._name = ""
        """What this window shows, and the name of its file."""
        self._release: Callable[[], object] | None = None
        """Releases the lock on that file."""
        self._seen = ""
        """Its draft, as last read or written: what is only shown again must not replace what comes from elsewhere."""
        self._threads = threading.RLock()

    @property
    def is_empty(self) -> bool:
        try:
            return not any(file.suffix == _SUFFIX for file in self._folder.iterdir())
        except OSError:
            return True

    def open(self, key: str) -> str:
        with self._threads:
            self.leave()
            try:
                with self._kept(key).locked():
                    return self._take_over(key)
            except OSError:
                return self.read(key)

    def read(self, key: str) -> str:
        with self._threads:
            if key != self._key:
                return self._kept(key).read_or_empty()
            self._seen = self._kept(self._name).read_or_empty()
            return self._seen

    def write(self, key: str, text: str) -> None:
        text = text if text.strip() else ""
        with self._threads:
            if key != self._key:
                if not text:
                    return
                self.leave()
                with self._kept(key).locked():
                    self._hold(key, self._unused(key))
            if text != self._seen:
                self._kept(self._name).change(lambda _: text)
                self._seen = text
                self._changed(self._name)

    def leave(self) -> None:
        with self._threads:
            if self._release is not None:
                with contextlib.suppress(OSError), self._kept(self._key).locked():
                    self._lock(self._name).unlink(missing_ok=True)
                self._release()
            self._key = self._name = self._seen = ""
            self._release = None

    def forget(self, key: str) -> None:
        with self._threads:
            if key == self._key:
                self.leave()
            if stored := self._stored(key):
                with contextlib.suppress(OSError), self._kept(key).locked():
                    for name in filter(self._is_free, stored):
                        self._remove(name)
                self._changed(key)

    def _take_over(self, key: str) -> str:
        """Have a file with what windows that ended left; while the folder is locked."""
        texts: dict[str, str] = {}
        for name in dict.fromkeys((*self._stored(key), key)):
            with contextlib.suppress(OSError):  # what cannot be read stays as it is
                if self._is_free(name):
                    texts[name] = self._kept(name).read()
        self._hold(key, key if key in texts else next(iter(texts), "") or self._unused(key))
        self._seen = _joined(texts.values())
        if self._seen != texts.get(self._name, ""):
            self._kept(self._name).write(self._seen)
            self._changed(self._name)
        for name in texts:
            if name != self._name:
                self._remove(name)
        return self._seen

    def _stored(self, key: str) -> list[str]:
        """The names of the files there are for a key, the one written last first."""
        with contextlib.suppress(OSError):
            found = [entry for entry in os.scandir(self._folder) if entry.name.endswith(_SUFFIX)]
            of_key = [each for each in found if each.name.startswith((f"{key}{_SUFFIX}", f"{key}."))]
            newest_first = sorted(of_key, key=lambda entry: -entry.stat().st_mtime_ns)
            return [entry.name.removesuffix(_SUFFIX) for entry in newest_first]
        return []

    def _unused(self, key: str) -> str:
        """A name that no window has, and under which nothing is stored."""
        names = chain([key], (f"{key}.{number}" for number in count(2)))
        return next(name for name in names if not self._path(name).exists() and self._is_free(name))

    def _is_free(self, name: str) -> bool:
        """Whether no window has the file."""
        try:
            with open(self._lock(name), "r+", encoding="utf-8") as handle:
                lock(handle, wait=False)
        except FileNotFoundError:
            return True
        except BlockingIOError:
            return False
        return True

    def _hold(self, key: str, name: str) -> None:
        handle = os.open(ensure_file(self._lock(name)), os.O_RDWR)
        self._release = weakref.finalize(self, os.close, handle)
        lock(handle, wait=False)
        self._key, self._name, self._seen = key, name, ""

    def _remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)
        self._lock(name).unlink(missing_ok=True)

    def _changed(self, name: str) -> None:
        if "." not in name and not name.startswith(_NEW):
            self._files.changed(draft_file(self._path(name), name))

    def _kept(self, name: str) -> KeptFile[str]:
        return kept_text(self._path(name), limit_bytes=LIMIT_BYTES, lock=self._folder / ".lock")

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"

    def _lock(self, name: str) -> Path:
        return self._folder / f"{name}.lock"


def _joined(drafts: Iterable[str]) -> str:
    """One draft of several, the first of which is continued."""
    first, *others = [texts_of(draft) for draft in drafts if draft] or [([], True)]
    texts, is_being_written = first
    every = dict.fromkeys((*texts, *(text for more, _ in others for text in more)))
    return draft_of([*every], is_being_written=is_being_written)


def draft_file(path: Path, session_id: str) -> SyncedFile:
    """The unsent prompt of a session."""
    return SyncedFile(f"drafts/{session_id}", path, "draft")
