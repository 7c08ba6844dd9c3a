"""Regular expressions that are compiled when they are first used.

Compiling one takes a tenth of a millisecond or more, and the first paint and the first request import dozens that they
do not use.
"""

import re
from typing import Any, cast


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, for a module that is imported long before it is used."""
    return cast(re.Pattern[str], _LatePattern(pattern, flags))


class _LatePattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found
