"""What the session browser lists for what was typed, in lines and words. Knows no widget."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final, NamedTuple

from co_tui.inert import one_line
from co_tui.store.search.session_filter import matches_filter
from co_tui.store.stored_values import SessionRow
from co_tui.ui.sessions.session_finder import Found, Listed
from co_tui.ui.sessions.session_lines import SessionLine, lines_of, lines_under

PUT_THERE: Final = "Deleted last"
TYPED_CHARS: Final = 60


class SessionListing(NamedTuple):
    """Sessions by title and folder, and behind them those in which it was said."""

    typed: str
    listed: Listed
    found: Found | None = None
    """What the search over all messages told; None while it has not answered."""
    in_trash: bool = False
    by_relevance: bool = False

    def lines(self, cwd: str, today: date) -> Sequence[SessionLine]:
        rows, found = self.listed.rows, self._said_in
        order = "by relevance" if self.by_relevance else "newest first"
        noun = ("other" if rows else "session") + ("" if len(found) == 1 and not self._more else "s")
        heading = f"Said in {len(found):,}{self._more} {noun}, {order}"
        last, missing = self.listed.last, self.listed.missing
        gap = [SessionLine(f"… {missing:,} more …", is_gap=True)] if last and missing else []
        shown = [*self._grouped(rows, cwd, today), *gap, *self._grouped(last, cwd, today)]
        return [*shown, *lines_under(heading, found, today)]

    def _grouped(self, rows: Sequence[SessionRow], cwd: str, today: date) -> Iterable[SessionLine]:
        return lines_under(PUT_THERE, rows, today) if self.in_trash else lines_of(rows, cwd, today)

    @property
    def _said_in(self) -> list[SessionRow]:
        """Sessions that hold what was typed, though not in their titles."""
        hits = self.found.hits if self.found else ()
        return [hit.session for hit in hits if not matches_filter(self.typed, hit.session.title, hit.session.cwd)]

    @property
    def _more(self) -> str:
        """A sign that there are more than were looked for."""
        return "+" if self.found is not None and self.found.is_more else ""

    @property
    def told_count(self) -> str:
        name = "Trash" if self.in_trash else "Sessions"
        shown = f"{self.listed.matching + len(self._said_in):,}{self._more} of " if self.typed else ""
        return f"{name} · {shown}{self.listed.of:,}"

    @property
    def told_nothing(self) -> str:
        """What stands where no session does."""
        if self.typed and self.found is None:
            return f"No title holds “{one_line(self.typed, TYPED_CHARS)}”; looking through all that was said…"
        if self.typed:
            return f"Nothing found for “{one_line(self.typed, TYPED_CHARS)}”; esc clears."
        if self.in_trash:
            return "The trash is empty. What you delete can be taken out of here again; esc goes back to the sessions."
        return "No sessions yet: the first prompt in the chat starts one. esc goes back there."
