"""Times as other programs write them."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

_MICROSECONDS_FROM: Final = 10**14
_MILLISECONDS_FROM: Final = 10**11
_EARLIEST: Final = datetime(1980, 1, 1, tzinfo=UTC)
_AHEAD: Final = timedelta(days=1)
"""A clock may be wrong; a session from next year would stand at the top of every list until then."""


def read_time(value: Any) -> datetime | None:
    """An ISO text, or seconds, milli- or microseconds since 1970; None for what is no time of a session."""
    try:
        moment = _moment(value)
    except (ValueError, OverflowError, OSError):
        return None
    if moment is None or not _EARLIEST <= moment <= datetime.now(UTC) + _AHEAD:
        return None
    return moment


def _moment(value: Any) -> datetime | None:
    if isinstance(value, str) and len(value) <= 64:
        read = datetime.fromisoformat(value)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    unit = 1_000_000 if value >= _MICROSECONDS_FROM else 1_000 if value >= _MILLISECONDS_FROM else 1
    return datetime.fromtimestamp(value / unit, UTC)
