"""Times of the log for people, in their own zone."""

from datetime import datetime


def clock(timestamp: str) -> str:
    return _as(timestamp, "%H:%M")


def day_and_time(timestamp: str) -> str:
    return _as(timestamp, "%Y-%m-%d %H:%M")


def _as(timestamp: str, form: str) -> str:
    try:
        return datetime.fromisoformat(timestamp).astimezone().strftime(form)
    except (ValueError, OverflowError):
        return ""
