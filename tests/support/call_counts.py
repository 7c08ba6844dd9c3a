"""Count the calls of our own code: all of them, across files, and back to a file that was left."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import co_tui

_OURS = str(Path(co_tui.__file__).parent)


class CallCounts:
    """What ran in this thread."""

    def __init__(self) -> None:
        self.steps = 0
        """Calls of functions, C functions among them, and resumed generators."""
        self.across_files = 0
        self.files: set[str] = set()
        """Those called from another file."""
        self._frames: dict[int, FrameType] = {}
        """Each is counted once, however often it is resumed; kept, so that no other gets its id."""

    @property
    def returns(self) -> int:
        """Calls to a file that was left before."""
        return self.across_files - len(self.files)

    def _count(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event not in ("call", "c_call") or not file.startswith(_OURS):
            return
        self.steps += 1
        if event == "c_call" or id(frame) in self._frames:
            return
        self._frames[id(frame)] = frame
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(_OURS):
            caller = caller.f_back
        if caller is None or caller.f_code.co_filename != file:
            self.across_files += 1
            self.files.add(file)


@contextmanager
def counted_calls() -> Iterator[CallCounts]:
    counts = CallCounts()
    before = sys.getprofile()
    sys.setprofile(counts._count)
    try:
        yield counts
    finally:
        sys.setprofile(before)
