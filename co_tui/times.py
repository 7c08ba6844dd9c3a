"""Recorded times as people read them."""

from datetime import UTC, datetime
from typing import Final

EARLIEST: Final = datetime(1970, 1, 2, tzinfo=UTC)
LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC)
"""A day from the ends of what every time zone and platform can show."""


def local_time(timestamp: str) -> datetime:
    """A recorded time on this machine's clock; the earliest one if it cannot be read. Never raises."""
    return _within(timestamp) or EARLIEST.astimezone()


def local_text(timestamp: str, time_format: str) -> str:
    """The local time in a format of `strftime`; empty if it cannot be read."""
    when = _within(timestamp)
    return when.strftime(time_format) if when else ""


def _within(timestamp: str) -> datetime | None:
    """The local time, at most as early or late as can be shown."""
    try:
        when = datetime.fromisoformat(timestamp)
    except (TypeError, ValueError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return min(max(when, EARLIEST), LATEST).astimezone()
