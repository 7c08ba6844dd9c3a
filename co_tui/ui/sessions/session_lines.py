"""The lines of a list of sessions: each under the day of its last word, this folder's before all others."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Final, NamedTuple

from co_tui.store.stored_values import SessionRow

PINNED: Final = "Pinned"
ELSEWHERE: Final = "Elsewhere · "


class SessionLine(NamedTuple):
    """A heading, or a session under it."""

    heading: str = ""
    row: SessionRow | None = None
    when: str = ""
    """When something was said in the session last: the clock where the heading tells the day."""
    is_gap: bool = False
    """A heading that stands for sessions that are not loaded yet."""


def lines_of(rows: Iterable[SessionRow], cwd: str, today: date) -> Iterator[SessionLine]:
    """The sessions in their order, with a heading wherever another group begins."""
    before = ""
    for row in rows:
        said = _local(row.updated)
        heading = PINNED if row.pinned else day_name(said.date(), today)
        if not row.pinned and row.cwd != cwd:
            heading = f"{ELSEWHERE}{heading}"
        if heading != before:
            before = heading
            yield SessionLine(heading)
        yield SessionLine(row=row, when=short_time(said, today) if row.pinned else f"{said:%H:%M}")


def lines_under(heading: str, rows: Iterable[SessionRow], today: date) -> Iterator[SessionLine]:
    """Sessions of any day, under one heading; nothing when there are none."""
    for number, row in enumerate(rows):
        if number == 0:
            yield SessionLine(heading)
        yield SessionLine(row=row, when=short_time(_local(row.trashed or row.updated), today))


def day_name(day: date, today: date) -> str:
    """Today, Yesterday, Monday, 3 November, 3 November 2025."""
    days = (today - day).days
    if days <= 1:
        return "Yesterday" if days == 1 else "Today"
    if days < 7:
        return f"{day:%A}"
    return f"{day.day} {day:%B}" if day.year == today.year else f"{day.day} {day:%B %Y}"


def short_time(when: datetime, today: date) -> str:
    """14:09 for today, 03 Nov for this year, Nov 2025 before."""
    if when.date() == today:
        return f"{when:%H:%M}"
    return f"{when:%d %b}" if when.year == today.year else f"{when:%b %Y}"


def _local(timestamp: str) -> datetime:
    return datetime.fromisoformat(timestamp).astimezone()
