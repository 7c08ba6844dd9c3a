"""Free memory when this process uses more than the setting allows."""

import asyncio
import contextlib
import ctypes
import gc
import os
from pathlib import Path

from co_tui.events.triggers import Trigger
from co_tui.session.compaction.compactor import CompactionRefused, Compactor
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.state.session_state import SessionState

RELIEVED_FOR_MESSAGES = 40
"""Messages to wait after compacting for memory before doing it again."""
PACKED_AT_ONCE = 20
"""Messages that leave the history before they are packed."""


class MemoryRelief:
    """Packs what left the history. Above the limit, gives back free memory, and if that is not enough, compacts."""

    def __init__(self, compactor: Compactor) -> None:
        self._compactor = compactor
        self._relieved_at = -RELIEVED_FOR_MESSAGES
        """The transcript's length when memory was last freed."""
        self._packed = 0
        """Messages that had left the history when some were last packed."""

    async def after_turn(self, runtime: Runtime) -> None:
        messages, left = _lengths(runtime.history.state)
        self._packed = min(self._packed, left)  # an undone compaction brings messages back
        if left >= self._packed + PACKED_AT_ONCE and not self._compactor.running:
            self._packed = left
            runtime.history.release_memory()
            await asyncio.to_thread(_trim)
        if messages < self._relieved_at + RELIEVED_FOR_MESSAGES or self._compactor.running:
            return
        if await exceeds_limit(runtime.settings.memory_limit_mb):
            self._relieved_at = messages
            with contextlib.suppress(CompactionRefused):
                await self._compactor.compact(runtime.compactable, trigger=Trigger.MEMORY_PRESSURE)
            runtime.history.release_memory()
            runtime.history.whole_transcript.forget()
            await asyncio.to_thread(give_back)


def _lengths(state: SessionState) -> tuple[int, int]:
    """How many messages there are, and how many of them left the history. The caller must not hold the state: it has
    every message as it was before it was packed."""
    return len(state.transcript), len(state.transcript) - len(state.history)


_STATM = Path("/proc/self/statm")


async def exceeds_limit(limit_mb: int) -> bool:
    """Whether memory is above the limit even after giving back what is free; False where usage is unknown."""
    if not limit_mb or resident_mb() <= limit_mb:
        return False
    gc.collect()
    await asyncio.to_thread(_trim)
    return resident_mb() > limit_mb


def give_back() -> None:
    """Return freed memory to the system where it supports that; otherwise the process keeps its size."""
    gc.collect()
    _trim()


def _trim() -> None:
    """The same without collecting garbage, which would delay keystrokes."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def resident_mb() -> float:
    """The process's resident memory; 0 where the system does not report it."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_048_576
