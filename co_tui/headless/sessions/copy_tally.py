"""Counts and reports sessions that are restored or copied."""

import time
from collections import Counter
from typing import Final

from co_tui.events.wording import counted
from co_tui.exchange.intake.copying import CopiedSession
from co_tui.exchange.intake.take_in import Outcome, TakenIn
from co_tui.headless.output import put_json, say
from co_tui.inert import one_line

PROGRESS_EVERY_S: Final = 5.0
MAX_SHOWN: Final = 20
"""Sessions of one kind that are named; the rest are counted."""
TITLE_CHARS: Final = 72
_REFUSED: Final = "refused"


class CopyTally:
    """What came of all sessions so far; `done` is the word for it, as in `12 sessions restored`."""

    def __init__(self, done: str, total: int, *, as_json: bool) -> None:
        self._done, self._total, self._as_json = done, total, as_json
        self._counts: Counter[str] = Counter()
        self.stored: list[str] = []
        """The ids of those that are in the store now."""
        self.same: list[str] = []
        """The ids of those that are not forks: they are the same session on both sides."""
        self._reported = time.monotonic()

    def count(self, brought: CopiedSession) -> None:
        kind = brought.taken.outcome.value if brought.taken else _REFUSED
        self._counts[kind] += 1
        if brought.taken:
            self.stored.append(brought.taken.session_id)
            self.same += [brought.session_id] if brought.session_id == brought.taken.session_id else []
        if self._as_json:
            put_json(_as_json(brought, kind))
        if self._counts[kind] <= MAX_SHOWN:
            self._name(brought)
        if time.monotonic() - self._reported >= PROGRESS_EVERY_S:
            self._reported = time.monotonic()
            say(f"{self._counts.total():,} of {counted(self._total, 'session')}")

    def _name(self, brought: CopiedSession) -> None:
        if brought.taken is None:
            say(brought.refused)
        elif brought.taken.outcome is Outcome.FORKED:
            as_fork = f"{self._done.title()} as a fork: {brought.taken.session_id}."
            say(f"Session {brought.session_id} was continued differently on both sides. {as_fork}")
        elif brought.taken.outcome is Outcome.CONTINUED:
            say(f"Session {brought.session_id}: {growth_text(brought.taken)}.")

    @property
    def has_added(self) -> bool:
        """Whether anything came in."""
        return any(self._counts[each.value] for each in _ORDER if each is not Outcome.KNOWN)

    @property
    def refused(self) -> int:
        return self._counts[_REFUSED]

    @property
    def text(self) -> str:
        """The numbers for people; those that are 0 are left out, but for the new ones."""
        new, grown, forks, known = (self._counts[each.value] for each in _ORDER)
        parts = (
            f"{counted(new, 'session')} {self._done}",
            f"{grown:,} continued" if grown else "",
            f"{counted(forks, 'fork')} {self._done}" if forks else "",
            f"{known:,} already there" if known else "",
            f"{counted(self.refused, 'session')} not {self._done}" if self.refused else "",
        )
        return ", ".join(filter(None, parts))


def growth_text(taken: TakenIn) -> str:
    """What was added to a session that was here."""
    added = [counted(taken.added, "message")] if taken.added else []
    added += [counted(taken.rewrites, "history change")] if taken.rewrites else []
    parts = [f"continued with {' and '.join(added)}"] if added else []
    parts += [f"renamed to “{one_line(taken.renamed, TITLE_CHARS)}”"] if taken.renamed else []
    parts += ["moved to the trash"] if taken.trashed else []
    return ", ".join(parts) or f"{counted(taken.added_events, 'event')} added"


_ORDER: Final = (Outcome.NEW, Outcome.CONTINUED, Outcome.FORKED, Outcome.KNOWN)


def _as_json(brought: CopiedSession, kind: str) -> dict[str, object]:
    taken = brought.taken
    if taken is None:
        return {"session_id": brought.session_id, "outcome": kind, "why": brought.refused}
    return {
        "session_id": taken.session_id,
        "outcome": kind,
        **({"messages": taken.added} if taken.outcome is Outcome.CONTINUED else {}),
        **({"fork_of": taken.fork_of} if taken.fork_of else {}),
    }
