"""Failures of a store, each a sentence that says what and where."""

from datetime import datetime
from typing import Final

from co_tui.inert import one_line

NOT_SHARED: Final = (
    'Sharing needs a database that others use too: set database = "postgresql://…" (see `co-tui help machines`).'
)
UNSAVED: Final = "The latest messages are not saved."


class StoreError(Exception):
    """The store cannot be used and was left unchanged; the text is for people."""


class SessionNotFound(StoreError):
    """No session, or more than one, matches the name."""


class QueryCancelled(StoreError):
    """The query was cancelled."""

    def __init__(self) -> None:
        super().__init__("The search was cancelled.")


class SessionBusy(StoreError):
    """Another process holds this session."""

    def __init__(self, sentence: str, owner: str = "") -> None:
        super().__init__(sentence)
        self.owner = owner
        """The process id, if known."""


class SessionOfAnother(SessionBusy):
    """The session belongs to another user, who shares it; `owner` is that user."""

    @classmethod
    def of(cls, session_id: str, owner: str) -> "SessionOfAnother":
        return cls(
            f"Session {session_id} belongs to {one_line(owner, 60)}: it can be read, not changed. "
            f"Continue in a copy: `co-tui sessions --fork {session_id}`.",
            owner,
        )


class SessionAbandoned(SessionBusy):
    """Another machine had the session and did not close it; its right to write has run out, so it can be taken over."""

    def __init__(self, sentence: str, host: str, until: datetime) -> None:
        super().__init__(sentence)
        self.host, self.until = host, until
        """Which machine, and when it was last heard of."""
