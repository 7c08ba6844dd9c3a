"""Load heavy libraries without stalling the screen: one import at a time, and no garbage collection over what stays."""

import gc
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Final, TypeVar

T = TypeVar("T")
IMPORT_LOCK: Final = threading.RLock()
"""Two threads importing parts of one library at the same time can each see the other's half-initialised module."""
_RARE_COLLECTION = (5_000, 20, 20)
"""Thresholds of the three generations: a full collection takes longer than several frames."""


def import_locked(importing: Callable[[], T]) -> T:
    """Run an import while no other thread imports. Runs in a thread."""
    with IMPORT_LOCK:
        return importing()


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
