"""When a streaming block is drawn again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

STREAM_INTERVAL_S = 0.05
"""Minimum time between redraws of a streaming block."""
LONGEST_INTERVAL_S = 0.5
DRAWING_SHARE = 0.06
"""Share of a processor's time that goes into drawing while a reply streams: costly frames are drawn less often."""
WAITING_SHARE = 0.12
"""Share of the time that goes by while a frame is laid out and drawn. A machine with other work to do takes several
times as long for a frame as its processor time, and has that much less to give."""
BAR_INTERVAL_S = 1.0
"""Minimum time between redraws of the scroll bar, which costs as much as the text next to it."""
NOW_S = 0.005
"""Not worth a timer."""


class StreamPace:
    """Measures the frames of a stream, in processor time and by the clock: on a busy machine there are fewer of them.

    There are fewer still when they come late: the text that waits is read first.
    """

    def __init__(self) -> None:
        self._frame_at_s = self._bar_at_s = float("-inf")
        self._frame_used_s = self._frame_took_s = self._late_s = 0.0
        """Processor time of the last frame, its time by the clock, and how late it was."""
        self.holds_bar = False
        """Whether the scroll bar stays as it is in the frame being drawn."""

    @property
    def wait_s(self) -> float:
        """How long until the next frame; 0 for now."""
        affordable_s = max(STREAM_INTERVAL_S, self._frame_used_s / DRAWING_SHARE, self._frame_took_s / WAITING_SHARE)
        interval_s = min(LONGEST_INTERVAL_S, affordable_s + self._late_s)
        left_s = self._frame_at_s + self._frame_took_s + interval_s - time.monotonic()
        return left_s if left_s > NOW_S else 0.0

    @contextmanager
    def frame(self, due_s: float = float("inf")) -> Iterator[None]:
        """Surrounds the layout of a frame, which was due at a time on the monotonic clock if it was waited for."""
        self._frame_at_s = time.monotonic()
        self._frame_used_s = self._frame_took_s = 0.0
        self._late_s = max(0.0, self._frame_at_s - due_s)
        self.holds_bar = self._frame_at_s - self._bar_at_s < BAR_INTERVAL_S
        try:
            with self.measured():
                yield
        finally:
            self.holds_bar = False

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Surrounds what drawing costs after the layout; it belongs to the last frame."""
        start_s, used_before_s = time.monotonic(), time.thread_time()
        try:
            yield
        finally:
            self._frame_used_s += time.thread_time() - used_before_s
            self._frame_took_s += time.monotonic() - start_s

    def bar_drawn(self) -> None:
        self._bar_at_s = time.monotonic()
