"""When somebody last looked at a session's next request: what has left it since is news."""

import contextlib
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.events import Ref
from co_tui.paths import read_small_text, write_atomically

MOST_BYTES: Final = 4_000_000


class LastView(NamedTuple):
    """The point of the log at which it was."""

    seq: int = 0
    at: str = ""
    """The time; empty when nobody has looked yet."""
    smaller: frozenset[Ref] = frozenset()
    """The messages that were not, or not whole, in the request then."""


NEVER_VIEWED: Final = LastView()


class LastViewFile:
    """One small file of a session, beside its log: looking changes nothing of the session itself."""

    def __init__(self, folder: Path | None) -> None:
        """`folder` is the session's own; None for one that leaves nothing behind."""
        self._file = folder / "last-look.json" if folder is not None else None

    def read(self) -> LastView:
        """What cannot be read was no look."""
        if self._file is None:
            return NEVER_VIEWED
        try:
            found = json.loads(read_small_text(self._file, MOST_BYTES))
            return LastView(int(found["seq"]), str(found["at"]), frozenset(map(_ref, found["smaller"])))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return NEVER_VIEWED

    def write(self, look: LastView) -> None:
        """A look that cannot be remembered is no reason to complain."""
        if self._file is not None:
            kept = {"seq": look.seq, "at": look.at, "smaller": sorted(look.smaller)}
            with contextlib.suppress(OSError):
                write_atomically(self._file, json.dumps(kept))


def _ref(value: Any) -> Ref:
    seq, index = value
    return int(seq), int(index)
