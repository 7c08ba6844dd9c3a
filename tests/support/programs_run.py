"""Which programs this process starts, as Python itself reports them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_STARTING = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty")
_seen: list[str] | None = None


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if _seen is not None and event in _STARTING:
        _seen.append(f"{event} {arguments[:2]}")


@cache
def _begin_to_hear() -> None:
    """Stays for the life of the process, and is called for each file, import and attribute: only where it is needed."""
    sys.addaudithook(_hear)


@contextmanager
def programs_run() -> Iterator[list[str]]:
    """The programs that are started meanwhile."""
    global _seen
    _begin_to_hear()
    _seen = heard = []
    try:
        yield heard
    finally:
        _seen = None
