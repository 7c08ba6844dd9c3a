"""Load heavy libraries without stalling the screen: one import at a time, and no garbage collection over what stays.
Memory that is freed later goes back to the system."""

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Final, TypeVar

T = TypeVar("T")
IMPORT_LOCK: Final = threading.RLock()
"""Two threads importing parts of one library at the same time can each see the other's half-initialised module."""
_RARE_COLLECTION = (5_000, 20, 20)
"""Thresholds of the three generations: a full collection takes longer than several frames."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_HEAP_OPTIONS: Final = {_M_ARENA_MAX: 1, _M_MMAP_THRESHOLD: 131_072, _M_TRIM_THRESHOLD: 131_072}


@contextmanager
def without_palette() -> Iterator[None]:
    """Import Textual without its command palette and the widgets that only this uses, and without tree-sitter: we have
    our own palette, and our text areas highlight nothing. Whatever else imports them later gets them."""
    if "textual.app" in sys.modules:
        yield
        return
    palette = ModuleType("textual.command")
    palette.__getattr__ = lambda name: type(name, (), {})  # type: ignore[method-assign]
    sys.modules["textual.command"] = palette
    sys.modules["tree_sitter"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["textual.command"], sys.modules["tree_sitter"]


def import_locked(importing: Callable[[], T]) -> T:
    """Run an import while no other thread imports. Runs in a thread."""
    with IMPORT_LOCK:
        return importing()


def keep_heap_compact() -> None:
    """Let the C library have one heap for all threads, and blocks of 128 kB outside of it, which are given back as soon
    as they are freed. Before any thread starts.

    By default each thread gets a heap of its own, and once large blocks were freed, the next are put into the heaps,
    too: in a long session, what is small and stays keeps the room between it from being given back.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # another C library has no such options
            for option, value in _HEAP_OPTIONS.items():
                ctypes.CDLL(None).mallopt(option, value)


def collect_rarely() -> None:
    """Tune the collector for a process that runs only the app, once its libraries are loaded."""
    gc.set_threshold(*_RARE_COLLECTION)
    gc.freeze()
    gc.enable()


def freeze_loaded() -> None:
    """Exclude what was loaded since then from collection; does nothing outside the app's own process."""
    if gc.get_threshold() == _RARE_COLLECTION:
        gc.freeze()


def nearby_servers() -> ModuleType:
    """The module that asks model servers; slow to import."""
    from co_tui.agent.models import nearby_servers as module

    return module
