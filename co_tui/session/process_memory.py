"""Whether this process takes more memory than it may."""

import contextlib
import ctypes
import gc
import os
from pathlib import Path

_STATM = Path("/proc/self/statm")


def pressed(limit_mb: int) -> bool:
    """Whether memory is above the limit even after collecting garbage; False where nobody tells."""
    if not limit_mb or resident_mb() <= limit_mb:
        return False
    gc.collect()
    return resident_mb() > limit_mb


def give_back() -> None:
    """Hand freed memory back to the system, where that can be asked for: else the process stays as large as it was."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def resident_mb() -> float:
    """What the process holds in memory now; 0 where the system does not tell."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_048_576
