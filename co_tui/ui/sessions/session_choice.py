"""What the session browser answers with, and what it asks of whoever changes sessions."""

from typing import NamedTuple, Protocol


class SessionEditor(Protocol):
    """Changes stored sessions. All raise `StoreError`."""

    async def rename(self, session_id: str, title: str) -> None: ...

    async def keep_first(self, session_id: str, pinned: bool) -> None: ...

    async def trash(self, session_id: str) -> None: ...

    async def restore(self, session_id: str) -> None: ...

    async def delete(self, session_id: str) -> None:
        """For good."""

    async def export(self, session_id: str, form: str) -> str:
        """Write it into the present folder; returns the file."""


class ChosenSession(NamedTuple):
    """The session to go on with, or to go on with in a copy."""

    session_id: str
    forks: bool = False
    upto: int | None = None
    """How far a copy reaches; None for all of it."""
    prompt: str = ""
    """What was said next, to be said otherwise in the copy."""
