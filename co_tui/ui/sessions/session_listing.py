"""What the session browser lists: the query, what is loaded for it, and its lines. Knows no widget."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import Final, NamedTuple

from co_tui.events.wording import counted, local_time
from co_tui.inert import one_line
from co_tui.store.search.session_filter import matches_filter
from co_tui.store.stored_values import SessionRow
from co_tui.ui.sessions.session_finder import FIRST_PAGE, Found, Listed, SessionFinder

PINNED: Final = "Pinned"
ELSEWHERE: Final = "Elsewhere · "
IN_TRASH: Final = "Deleted last"
TYPED_CHARS: Final = 60
GROWTH: Final = 4
"""By which factor more is loaded when the reader comes near the end of what is loaded."""


class SessionLine(NamedTuple):
    """A heading, or a session under it."""

    heading: str = ""
    row: SessionRow | None = None
    when: str = ""
    """When the session was last used: only the time if the heading names the day."""
    is_gap: bool = False
    """A heading in place of sessions that are not loaded yet."""


def lines_of(rows: Iterable[SessionRow], folders: Collection[str], today: date) -> Iterator[SessionLine]:
    """The sessions in their order, grouped by day, with other folders apart."""
    before = ""
    for row in rows:
        used = local_time(row.updated)
        heading = PINNED if row.pinned else day_name(used.date(), today)
        if not row.pinned and row.cwd not in folders:
            heading = f"{ELSEWHERE}{heading}"
        if heading != before:
            before = heading
            yield SessionLine(heading)
        yield SessionLine(row=row, when=short_time(used, today) if row.pinned else f"{used:%H:%M}")


def lines_under(heading: str, rows: Iterable[SessionRow], today: date) -> Iterator[SessionLine]:
    """Sessions of any day under one heading; nothing if there are none."""
    for number, row in enumerate(rows):
        if number == 0:
            yield SessionLine(heading)
        yield SessionLine(row=row, when=short_time(local_time(row.trashed or row.updated), today))


def day_name(day: date, today: date) -> str:
    """Today, Yesterday, Monday, 3 November, 3 November 2025. Tomorrow may be today on the machine that wrote it."""
    days = (today - day).days
    if -1 <= days <= 1:
        return "Yesterday" if days == 1 else "Today"
    if 1 < days < 7:
        return f"{day:%A}"
    return f"{day.day} {day:%B}" if day.year == today.year else f"{day.day} {day:%B %Y}"


def short_time(when: datetime, today: date) -> str:
    """14:09 for today, 03 Nov for this year, Nov 2025 before."""
    if when.date() == today:
        return f"{when:%H:%M}"
    return f"{when:%d %b}" if when.year == today.year else f"{when:%b %Y}"


class SessionListing(NamedTuple):
    """Sessions whose title or folder matches, then those whose messages do."""

    typed: str
    listed: Listed
    found: Found | None = None
    """The hits in all messages; None until the search has answered."""
    in_trash: bool = False
    by_relevance: bool = False
    is_stale: bool = False

    def lines(self, folders: Collection[str], today: date) -> Sequence[SessionLine]:
        rows, found = self.listed.rows, self._matching_messages
        order = "by relevance" if self.by_relevance else "newest first"
        noun = ("other" if rows else "session") + ("" if len(found) == 1 and not self._more else "s")
        heading = f"Found in {len(found):,}{self._more} {noun}, {order}"
        last, missing = self.listed.last, self.listed.missing
        gap = [SessionLine(f"… {missing:,} more …", is_gap=True)] if last and missing else []
        shown = [*self._grouped(rows, folders, today), *gap, *self._grouped(last, folders, today)]
        lines = [*shown, *lines_under(heading, found, today)]
        return [*lines, SessionLine(self._not_searched)] if lines and self._not_searched else lines

    def _grouped(self, rows: Sequence[SessionRow], folders: Collection[str], today: date) -> Iterable[SessionLine]:
        return lines_under(IN_TRASH, rows, today) if self.in_trash else lines_of(rows, folders, today)

    @property
    def _matching_messages(self) -> list[SessionRow]:
        """Sessions that match only in their messages."""
        hits = self.found.hits if self.found else ()
        return [hit.session for hit in hits if not matches_filter(self.typed, hit.session.title, hit.session.cwd)]

    @property
    def _more(self) -> str:
        """`+` if there are more hits than were loaded."""
        return "+" if self.found is not None and self.found.is_more else ""

    @property
    def _not_searched(self) -> str:
        """A sentence about the messages that a search does not cover; empty if it covers all."""
        number = self.found.not_searched if self.typed and self.found is not None else 0
        return f"Not searched: {counted(number, 'shared session')} whose text is not here yet." if number else ""

    @property
    def title(self) -> str:
        name = "Trash" if self.in_trash else "Sessions"
        shown = f"{self.listed.matching + len(self._matching_messages):,}{self._more} of " if self.typed else ""
        missing = " · not all messages searched yet" if self.found is not None and self.found.is_incomplete else ""
        stale = " · server not reached" if self.is_stale else ""
        return f"{name} · {shown}{self.listed.of:,}{missing}{stale}"

    @property
    def empty_text(self) -> str:
        """The sentence shown in place of an empty list."""
        if self.typed and self.found is None:
            return f"No title matches “{one_line(self.typed, TYPED_CHARS)}”; searching all messages…"
        if self.typed:
            return f"No matches for “{one_line(self.typed, TYPED_CHARS)}”. Esc clears.\n{self._not_searched}".rstrip()
        if self.in_trash:
            return "The trash is empty. Deleted sessions can be restored here. Esc goes back."
        return "No sessions yet. Send a prompt in the chat to start one. Esc goes back."


class SessionQuery:
    """What the user asked for, and how much of the answer is loaded."""

    def __init__(self, finder: SessionFinder) -> None:
        self._finder = finder
        self.typed = ""
        """The filter that `listed` answers."""
        self.listed = Listed([], 0, 0)
        self.found: Found | None = None
        """The hits in all messages for the present filter; None until the search has answered."""
        self.in_trash = self.by_relevance = False
        self.is_stale = False
        """What is new on other machines may be missing."""
        self._limit, self._last = FIRST_PAGE, 0
        """How many are loaded from the start, and from the end."""

    def restart(self, *, in_trash: bool) -> None:
        """Go back to the first page."""
        self.in_trash, self._limit, self._last, self.found = in_trash, FIRST_PAGE, 0, None

    def load(self, typed: str) -> None:
        """Raises `StoreError`, with nothing listed."""
        self.typed, self.listed = typed, Listed([], 0, 0)
        self.listed = self._finder.listed(typed, in_trash=self.in_trash, limit=self._limit, last=self._last)

    async def search(self, typed: str) -> Found:
        """The hits in all messages. Raises `StoreError`."""
        return await self._finder.found(typed, by_relevance=self.by_relevance, in_trash=self.in_trash)

    def extend(self) -> bool:
        """Ask for more from the start; False if all of it is loaded."""
        if not self.listed.missing or len(self.listed.rows) < self._limit:
            return False
        self._limit *= GROWTH
        return True

    def extend_end(self) -> bool:
        """Ask for more before the loaded end; False if all of it is loaded."""
        if not self.listed.missing:
            return False
        self._last *= GROWTH
        return True

    def reach_end(self) -> bool:
        """Ask for the oldest sessions; False if they are loaded."""
        if not self.listed.missing or self._last:
            return False
        self._last = FIRST_PAGE
        return True

    def hit_in(self, row: SessionRow, present: str) -> int:
        """The seq of the newest matching message; 0 if the title matches, too, and the session is not shown yet."""
        if row.id != present and matches_filter(self.typed, row.title, row.cwd):
            return 0
        return next((hit.seq for hit in self.found.hits if hit.session.id == row.id), 0) if self.found else 0

    @property
    def listing(self) -> SessionListing:
        return SessionListing(self.typed, self.listed, self.found, self.in_trash, self.by_relevance, self.is_stale)
