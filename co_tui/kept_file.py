"""Small files that several processes read and change: settings, keys, answers, drafts, what was learned.

A change is made under a lock, to what the file holds by then. The new content is read as its readers will read it,
before it replaces the old one in one step. A file that cannot be read is left as it is. Nothing else writes such files.
"""

import contextlib
import errno
import fcntl
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final, Generic, NamedTuple, TypeVar

from co_tui.paths import ensure_file, read_small_text, replaced_atomically

T = TypeVar("T")
LIMIT_BYTES: Final = 1_000_000
"""Of a file that names no other limit."""
WAIT_S: Final = 30.0
"""How long a change waits for those of other processes, each of which takes a moment."""
_RETRY_S: Final = 0.005


class Change(NamedTuple, Generic[T]):
    """What a file held before a change, and after it."""

    before: T
    after: T


class KeptFile(Generic[T]):
    """One file. What it raises is an OSError that names the file and whose `strerror` says why."""

    def __init__(
        self,
        path: Path,
        *,
        parse: Callable[[str], T],
        written: Callable[[T], str],
        limit_bytes: int = LIMIT_BYTES,
        lock: Path | None = None,
    ) -> None:
        """`parse` reads the text, which is empty for a missing file, and raises ValueError with the reason why it
        cannot; `written` makes the text, and for an empty one the file is removed. The lock is `lock_of(path)` if no
        other is named."""
        self.path = path
        self._limit_bytes = limit_bytes
        self._parse, self._written = parse, written
        self._lock = lock or lock_of(path)

    def read(self) -> T:
        try:
            return self._read(self.path)
        except FileNotFoundError:
            return self._parse("")

    def read_or_empty(self) -> T:
        """The same, for readers that go without it: one that cannot be read counts as missing."""
        try:
            return self.read()
        except OSError:
            return self._parse("")

    def change(self, change: Callable[[T], T]) -> Change[T]:
        """Change what the file holds in one step. After a failure it holds what it held before."""
        with self.locked():
            before = self.read()
            present = self._written(before)
            after = change(before)
            if self._written(after) != present:
                self.write(after)
            return Change(before, after)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all others from changing the file."""
        try:
            with file_lock(self._lock, wait_s=WAIT_S):
                yield
        except OSError as error:
            error.filename = str(self.path)
            raise

    def write(self, value: T) -> None:
        """Replace what the file holds; only while it is `locked`."""
        if not (text := self._written(value)):
            self.path.unlink(missing_ok=True)
            return
        with replaced_atomically(self.path) as stream:
            try:
                stream.write(text.encode())
            except UnicodeEncodeError:
                raise OSError(errno.EILSEQ, "it would hold characters that UTF-8 has none for") from None
            stream.flush()
            try:
                self._read(Path(stream.name))
            except OSError as error:
                raise OSError(error.errno, f"it could not be read again: {error.strerror}") from None

    def _read(self, path: Path) -> T:
        try:
            return self._parse(read_small_text(path, self._limit_bytes))
        except UnicodeDecodeError:
            why = "part of it is not UTF-8 and would be lost. Save it as UTF-8, or move it"
        except RecursionError:
            why = "it is nested too deeply"
        except ValueError as error:
            why = str(error)
        raise OSError(errno.EINVAL, why, str(path))


def lock_of(path: Path) -> Path:
    """The lock of a file that has one of its own."""
    return path.with_suffix(".lock")


def kept_text(path: Path, *, limit_bytes: int = LIMIT_BYTES, lock: Path | None = None) -> KeptFile[str]:
    """A file of any text; a blank one is removed."""
    return KeptFile(path, parse=str, written=unless_blank, limit_bytes=limit_bytes, lock=lock)


def unless_blank(text: str) -> str:
    return text if text.strip() else ""


def kept_table(path: Path) -> KeptFile[dict[str, Any]]:
    """A file with a JSON object; an empty one is removed."""
    return KeptFile(path, parse=parse_table, written=table_text)


def parse_table(text: str) -> dict[str, Any]:
    """The JSON object in a text, empty for a blank one. Raises ValueError that says why there is none."""
    found = parse_json(text)
    if not isinstance(found, dict | None):
        raise ValueError("it is not a JSON object")
    return found or {}


def parse_json(text: str) -> Any:
    """None for a blank text. Raises ValueError that says why it is not JSON."""
    try:
        return json.loads(text) if text.strip() else None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None


def table_text(table: dict[str, Any]) -> str:
    """A table as it is stored; empty without entries."""
    return json.dumps(table, indent=1) if table else ""


@contextlib.contextmanager
def file_lock(path: Path, *, wait_s: float | None = None) -> Iterator[None]:
    """Hold an exclusive lock on `path`, which the operating system releases when the process ends, however it ends.

    It waits until the lock is free, or for `wait_s`; then it raises `BlockingIOError`.
    """
    with open(ensure_file(path), "r+", encoding="utf-8") as handle:
        latest = time.monotonic() + (wait_s or 0.0)
        while True:
            try:
                lock(handle, wait=wait_s is None)
                break
            except BlockingIOError:
                if time.monotonic() >= latest:
                    why = "another program has been changing it for too long. Try again"
                    raise BlockingIOError(errno.EAGAIN, why, str(path)) from None
            time.sleep(_RETRY_S)
        yield


def lock(handle: IO[str] | int, *, wait: bool, shared: bool = False) -> None:
    """Lock the open file; without `wait`, raises OSError when another process has it."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(handle, kind if wait else kind | fcntl.LOCK_NB)
