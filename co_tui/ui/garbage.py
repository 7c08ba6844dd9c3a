"""Garbage is searched for rarely, and never among what stays: a whole search takes longer than several frames."""

import gc

_RARELY = (5_000, 20, 20)
"""So many new objects, such searches among the young, and among the older ones, before the next wider search."""


def search_rarely() -> None:
    """For a process that is the app's alone, once its libraries are loaded."""
    gc.set_threshold(*_RARELY)
    gc.freeze()
    gc.enable()


def set_aside_loaded() -> None:
    """What was loaded since stays to the end, too. Elsewhere than in the app's own process, nothing is set aside."""
    if gc.get_threshold() == _RARELY:
        gc.freeze()
