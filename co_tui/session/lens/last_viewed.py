"""When the lens of a session was last viewed, so that it can show what has left the request since."""

import contextlib
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.events import Ref
from co_tui.paths import read_small_text, write_atomically
from co_tui.store.sync.files.synced_file import OnChange, not_synced

MOST_BYTES: Final = 4_000_000


class LastView(NamedTuple):
    """The state of the log and the request at that view."""

    seq: int = 0
    at: str = ""
    """The time; empty if it was never viewed."""
    shortened: frozenset[Ref] = frozenset()
    """The messages that were left out or shortened in the request then."""


NEVER_VIEWED: Final = LastView()


class LastViewFile:
    """A small file in the session's folder: viewing changes nothing in the session itself."""

    def __init__(self, folder: Path | None, on_change: OnChange = not_synced) -> None:
        """`folder` is the session's own; None for a private session."""
        self._on_change = on_change
        self._file = folder / "last-look.json" if folder is not None else None

    def read(self) -> LastView:
        """The last view; a file that cannot be read counts as never viewed."""
        if self._file is None:
            return NEVER_VIEWED
        try:
            found = json.loads(read_small_text(self._file, MOST_BYTES))
            return LastView(int(found["seq"]), str(found["at"]), frozenset(map(_ref, found["smaller"])))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return NEVER_VIEWED

    def write(self, view: LastView) -> None:
        """Store a view; write errors are ignored."""
        if self._file is not None:
            kept = {"seq": view.seq, "at": view.at, "smaller": sorted(view.shortened)}
            with contextlib.suppress(OSError):
                write_atomically(self._file, json.dumps(kept))
                self._on_change()


def _ref(value: Any) -> Ref:
    seq, index = value
    return int(seq), int(index)
