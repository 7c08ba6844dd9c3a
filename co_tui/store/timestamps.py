"""The time as it is written in the log."""

from datetime import UTC, datetime


def now() -> str:
    return written(datetime.now(UTC))


def written(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
