"""Says once, after an upgrade, where to read what is new."""

from typing import Final

from co_tui import __version__
from co_tui.paths import Paths
from co_tui.store.learned_numbers import LearnedNumbers

VERSION: Final = "version"
NEW_VERSION: Final = f"Now co-tui {__version__}. /help changes says what is new."


def is_upgraded(paths: Paths) -> bool:
    """Whether the app ran here before, and only in older versions. Remembers this one; reads and writes a file."""
    has_run = paths.hints.exists()
    known = LearnedNumbers(paths.hints)
    before, now = known.get(VERSION), version_number(__version__)
    if before != now:
        known.put(VERSION, now)
    return has_run and (before or 0) < now


def version_number(version: str) -> int:
    """Versions in order as numbers: `1.2.3` is 1002003."""
    major, minor, patch = map(int, version.split("."))
    return (major * 1000 + minor) * 1000 + patch
