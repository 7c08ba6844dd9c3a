"""Libraries that are slow to import come in threads, one after the other.

Two threads that import parts of one library at the same time may each find the other's half made, and fail.
"""

import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
ONE_AT_A_TIME: Final = threading.RLock()


def one_at_a_time(importing: Callable[[], T]) -> T:
    """What it gives, once nobody else imports. Runs in a thread."""
    with ONE_AT_A_TIME:
        return importing()
